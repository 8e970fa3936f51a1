//! Small values beside the runs: what a door must remember for ever, under a name of its own.

use bowline_core::{Blob, Version};

use crate::{Error, Result};

/// How long the name of a catalog or an item may be, in bytes.
pub const ITEM_NAME_MAX: usize = 1_000;
/// How large an item may be, in bytes.
pub const ITEM_MAX: usize = 2 * 1024 * 1024;

/// A value on a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its name; a catalog is read in the order of names.
    pub name: String,
    /// How often it was written, from 1.
    pub version: Version,
    /// What it says.
    pub bytes: Blob,
}

/// Put a value on a catalog, or take it away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogPut {
    /// Which catalog. One that nobody has put anything on is empty.
    pub catalog: String,
    /// The item's name.
    pub name: String,
    /// The version that the caller has seen: another one is a [`Conflict`](Error::Conflict). None
    /// if there must be no such item yet.
    pub expected: Option<Version>,
    /// What it says from now on; none takes it away.
    pub bytes: Option<Blob>,
}

impl CatalogPut {
    /// Refuses what no store keeps.
    ///
    /// # Errors
    /// Names what is too long, or missing.
    pub fn check(&self) -> Result<()> {
        let fits = |text: &str| !text.is_empty() && text.len() <= ITEM_NAME_MAX;
        if !fits(&self.catalog) || !fits(&self.name) {
            return Err(Error::Invalid("an item needs a name of at most 1,000 bytes".into()));
        }
        match &self.bytes {
            Some(bytes) if bytes.len() > ITEM_MAX => {
                Err(Error::Invalid("an item has at most 2 MiB".into()))
            }
            None if self.expected.is_none() => {
                Err(Error::Invalid("what is not there cannot be taken away".into()))
            }
            _ => Ok(()),
        }
    }
}

/// Read a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogRead {
    /// Which.
    pub catalog: String,
    /// Which of its items.
    pub which: Which,
    /// At most this many.
    pub limit: usize,
}

/// Which items of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    All,
    /// Those whose names come after this one.
    After(String),
    /// The one of this name.
    Named(String),
}
