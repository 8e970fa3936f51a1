//! The steps of a schema: each once, in its own transaction, known by its checksum.

use crate::{Error, Result};

/// One step. Steps are for ever: a released one is never edited, the next one changes what it made.
#[derive(Debug)]
pub struct Migration {
    /// The version that it leads to.
    pub version: i64,
    /// What it is about.
    pub name: &'static str,
    /// What it does.
    pub sql: &'static str,
}

impl Migration {
    /// By which a step that was taken is known.
    pub fn checksum(&self) -> i64 {
        i64::from(crc32fast::hash(self.sql.as_bytes()))
    }
}

/// All steps of a store, the first one first.
#[derive(Clone, Copy, Debug)]
pub struct Migrations(pub &'static [Migration]);

impl Migrations {
    /// The version that this build knows.
    pub fn newest(self) -> i64 {
        self.0.last().map_or(0, |step| step.version)
    }

    /// Whether a step that was taken is one of these. `whose` is what it was taken by: a file, the
    /// tables.
    ///
    /// # Errors
    /// If another build has taken it, newer than this one or different.
    pub fn check(self, whose: &str, version: i64, checksum: i64) -> Result<()> {
        match self.0.iter().find(|step| step.version == version) {
            None => Err(Error::Open(format!(
                "{whose}: schema version {version}, and this build knows versions up to {}: a \
                 newer Bowline was here; use that one, or restore an older backup",
                self.newest()
            ))),
            Some(step) if step.checksum() != checksum => Err(Error::Open(format!(
                "{whose}: made by another step {version} ({}) of the schema than this build has, \
                 so not opened: the tables may differ",
                step.name
            ))),
            Some(_) => Ok(()),
        }
    }
}

/// The steps of a store, whose texts are the files `migrations/0001_name.sql` of its crate.
#[macro_export]
macro_rules! migrations {
    ($($version:literal $name:ident)*) => {
        $crate::stored::Migrations(&[$($crate::stored::Migration {
            version: $version,
            name: stringify!($name),
            sql: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/migrations/000", $version, "_", stringify!($name),
                ".sql"
            )),
        }),*])
    };
}
