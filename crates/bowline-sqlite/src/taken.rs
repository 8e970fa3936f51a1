//! The files that this process has open as stores.
//!
//! A second opening in one process is refused here, before anybody touches the file: whoever opens
//! and closes it takes the locks of the first one away.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use bowline_store::Result;
use parking_lot::Mutex;

use crate::lock;

/// What a file is, whatever its names are.
type Identity = (u64, u64);

/// By the one name under which each was opened; what is not there yet has no identity.
static TAKEN: Mutex<BTreeMap<PathBuf, Option<Identity>>> = Mutex::new(BTreeMap::new());

/// A file that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Taken(PathBuf);

impl Taken {
    /// Takes a file, or says that this process has it.
    pub(crate) fn take(path: &Path) -> Result<Self> {
        let identity = identity(path);
        let mut taken = TAKEN.lock();
        let is_same = |(known, its): &(&PathBuf, &Option<Identity>)| {
            known.as_path() == path || (its.is_some() && **its == identity)
        };
        if let Some((known, _)) = taken.iter().find(is_same) {
            return Err(lock::held_here(path, known));
        }
        taken.insert(path.to_owned(), identity);
        Ok(Self(path.to_owned()))
    }

    /// The file exists now.
    pub(crate) fn is_there(&self) {
        TAKEN.lock().insert(self.0.clone(), identity(&self.0));
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.lock().remove(&self.0);
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().and(None)
}
