//! A file that is read again when it has changed.

use std::{
    fs::Metadata,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::RwLock;

use crate::{Unusable, limits};

/// By what a change is seen: who replaces a file makes another one of the same name.
type Stamp = (SystemTime, u64, u64);

fn stamp(path: &Path) -> io::Result<Stamp> {
    let found = std::fs::metadata(path)?;
    Ok((found.modified()?, found.len(), inode(&found)))
}

#[cfg(unix)]
fn inode(found: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// What is made of the contents of some files.
type Make<T> = dyn Fn(&[Vec<u8>]) -> Result<T, String> + Send + Sync;

/// What some files say, as of now.
pub(crate) struct Files<T> {
    paths: Vec<PathBuf>,
    make: Box<Make<T>>,
    held: RwLock<Held<T>>,
}

struct Held<T> {
    stamps: Vec<Option<Stamp>>,
    value: Arc<T>,
}

impl<T: 'static> Files<T> {
    /// Reads them for the first time.
    pub(crate) fn open(
        paths: Vec<PathBuf>,
        make: impl Fn(&[Vec<u8>]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, Unusable> {
        let stamps = paths.iter().map(|path| stamp(path).ok()).collect();
        let value = Arc::new(read(&paths, &make)?);
        Ok(Self { paths, make: Box::new(make), held: RwLock::new(Held { stamps, value }) })
    }

    /// What they say. If they have changed they are read again; if they do not read then, what
    /// they said before stays, and the log has a line.
    pub(crate) fn now(&self) -> Arc<T> {
        let stamps: Vec<_> = self.paths.iter().map(|path| stamp(path).ok()).collect();
        {
            let held = self.held.read();
            if held.stamps == stamps {
                return held.value.clone();
            }
        }
        let mut held = self.held.write();
        if held.stamps != stamps {
            match read(&self.paths, &self.make) {
                Ok(value) => {
                    held.value = Arc::new(value);
                    tracing::info!(files = ?self.paths, "changed files were read again");
                }
                Err(error) => {
                    tracing::error!(%error, "a changed file is not used; what it said before is");
                }
            }
            held.stamps = stamps;
        }
        held.value.clone()
    }
}

fn read<T>(paths: &[PathBuf], make: &Make<T>) -> Result<T, Unusable> {
    let contents = paths.iter().map(|path| contents(path));
    let contents = contents.collect::<Result<Vec<_>, _>>()?;
    make(&contents).map_err(|why| {
        let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        Unusable::Content { path: names.join(", "), why }
    })
}

/// All of a file that is not too large.
pub(crate) fn contents(path: &Path) -> Result<Vec<u8>, Unusable> {
    let unreadable = |why| Unusable::File { path: path.display().to_string(), why };
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > limits::FILE {
        let why = format!("it has more than {} bytes", limits::FILE);
        return Err(Unusable::Content { path: path.display().to_string(), why });
    }
    std::fs::read(path).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(contents: &[Vec<u8>]) -> Result<String, String> {
        let text = String::from_utf8(contents[0].clone()).map_err(|why| why.to_string())?;
        if text.is_empty() { Err("it is empty".into()) } else { Ok(text) }
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_bad_one_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "one").expect("it is written");
        let files = Files::open(vec![path.clone()], text).expect("it reads");
        assert_eq!(*files.now(), "one");
        // As careful people do: a new file takes the place of the old one.
        let new = folder.path().join("new");
        std::fs::write(&new, "two").expect("it is written");
        std::fs::rename(&new, &path).expect("it is replaced");
        assert_eq!(*files.now(), "two");
        std::fs::write(&path, "").expect("it is written");
        assert_eq!(*files.now(), "two");
        std::fs::remove_file(&path).expect("it is removed");
        assert_eq!(*files.now(), "two");
        std::fs::write(&path, "three").expect("it is written");
        assert_eq!(*files.now(), "three");
    }

    #[test]
    fn a_missing_or_bad_file_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let missing = Files::open(vec![path.clone()], text).err().expect("it is missing");
        assert!(missing.to_string().contains("file"), "{missing}");
        std::fs::write(&path, "").expect("it is written");
        let bad = Files::open(vec![path], text).err().expect("it is empty");
        assert!(bad.to_string().contains("it is empty"), "{bad}");
    }
}
