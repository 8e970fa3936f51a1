//! The files that this process has open as stores.
//!
//! A second opening in one process is refused here, before anybody touches the file: whoever opens
//! and closes it takes the locks of the first one away.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
};

use bowline_store::Result;
use parking_lot::Mutex;

use crate::{connection::lock, limits};

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
        let mut looks = 0;
        loop {
            let Err(known) = Self::try_take(path) else { return Ok(Self(path.to_owned())) };
            // A file that was removed and closed has given its identity away before it is let go
            // of here. One that has another name, and is open, keeps it.
            let is_removed = known != path && !known.exists();
            if !is_removed || looks == limits::TAKEN_LOOKS {
                return Err(lock::held_here(path, &known));
            }
            looks += 1;
            thread::sleep(limits::TAKEN_PAUSE);
        }
    }

    /// Says under which name this process has it, if it does.
    fn try_take(path: &Path) -> std::result::Result<(), PathBuf> {
        let identity = identity(path);
        let mut taken = TAKEN.lock();
        let is_same = |(known, its): &(&PathBuf, &Option<Identity>)| {
            known.as_path() == path || (its.is_some() && **its == identity)
        };
        if let Some((known, _)) = taken.iter().find(is_same) {
            return Err(known.clone());
        }
        taken.insert(path.to_owned(), identity);
        Ok(())
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

#[cfg(all(test, unix))]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What a file was that is gone, another one may be. It is taken when the first was let go of.
    #[test]
    fn a_file_that_is_gone_keeps_no_other_one_out() {
        let folder = tempfile::TempDir::new().expect("there is room for a folder");
        let (gone, new) = (folder.path().join("gone"), folder.path().join("new"));
        fs::write(&new, "").expect("it is written");
        TAKEN.lock().insert(gone.clone(), identity(&new));
        let first = Taken(gone);
        let taken = thread::spawn(move || Taken::take(&new).map(drop));
        thread::park_timeout(Duration::from_millis(20));
        drop(first);
        taken.join().expect("it does not panic").expect("nobody has it");
    }

    /// The same file under another name is refused at once.
    #[test]
    fn a_file_with_two_names_is_taken_once() {
        let folder = tempfile::TempDir::new().expect("there is room for a folder");
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        fs::write(&one, "").expect("it is written");
        fs::hard_link(&one, &other).expect("it has two names");
        let _first = Taken::take(&one).expect("nobody has it");
        assert!(Taken::take(&other).is_err());
    }
}
