//! Where the file is, and whether what lies there may be opened. Looks, and changes nothing.
//!
//! Never: opens the file by itself. A process that closes a file loses all its locks on it, those
//!        of SQLite's connections included; SQLite knows that, and puts closing off.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use bowline_store::{Error, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::settings::APPLICATION;

/// What the journal of a transaction begins with that may have to be taken back.
const JOURNAL: [u8; 8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7];
/// How many links may stand between a name and its file.
const LINKS_MAX: usize = 40;

/// The one name of a file, however it was written: locks and logs stand beside that.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let failed = |error| Error::Open(format!("cannot open {shown}: {error}"));
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Some(name) = path.file_name().filter(|_| path != Path::new(":memory:")) else {
            return Err(Error::Open(format!("{shown} is not the name of a file")));
        };
        if path.is_dir() {
            return Err(Error::Open(format!("{shown} is a folder: name a file in it")));
        }
        match path.canonicalize() {
            Ok(path) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(|error| {
            Error::Open(format!("cannot open {shown}: its folder {}: {error}", folder.display()))
        })?;
        // A link to a file that is not there yet: SQLite makes that one, and not the link.
        match fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Ok(folder.join(name)),
        }
    }
    Err(failed(ErrorKind::InvalidFilename.into()))
}

/// Refuses a file that is not ours, by its header alone.
pub(crate) fn inspect(path: &Path) -> Result<()> {
    let shown = path.display();
    let cannot = |why: &dyn std::fmt::Display| Error::Open(format!("cannot read {shown}: {why}"));
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot(&error)),
    };
    if names(&found) > 1 {
        return Err(Error::Open(format!(
            "{shown} has more than one name (hard links): its log and its lock would stand beside \
             one of them only; remove the others, or name a copy"
        )));
    }
    if found.len() == 0 {
        return Ok(());
    }
    match application(path) {
        Ok(APPLICATION) => Ok(()),
        Ok(other) => Err(Error::Open(format!(
            "{shown} is an SQLite database, but not one of Bowline's (its application id is \
             {other:#010x}): it is left as it is; choose another file"
        ))),
        // The log was being copied when somebody died: without the log the file makes no sense.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => Ok(()),
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::NotADatabase) => {
            Err(cannot(&error))
        }
        // Whoever died while making the file left a page of zeros and the journal that takes it
        // back.
        Err(_) if has_journal(path) => Ok(()),
        Err(_) => Err(Error::Open(format!(
            "{shown} is not a database: it is left as it is; choose another file"
        ))),
    }
}

/// Makes the names of the file and its log durable: SQLite says nothing of an error there.
#[cfg(unix)]
pub(crate) fn settle(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| {
        Error::Open(format!("cannot sync the folder {}: {error}", folder.display()))
    })
}

#[cfg(not(unix))]
pub(crate) fn settle(_: &Path) -> Result<()> {
    Ok(())
}

/// The number of the program that a database belongs to. Nothing is locked, written or recovered.
fn application(path: &Path) -> rusqlite::Result<i32> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(format!("{}?immutable=1", uri(path)), flags)?;
    db.query_row("PRAGMA application_id", [], |row| row.get(0))
}

/// A whole name as SQLite reads one from a URI.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    let bytes = bytes(path);
    if !bytes.starts_with(b"/") {
        uri.push('/');
    }
    for byte in bytes {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(char::from(byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(unix)]
fn bytes(path: &Path) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
}

#[cfg(not(unix))]
fn bytes(path: &Path) -> Vec<u8> {
    let text = path.to_string_lossy();
    text.trim_start_matches(r"\\?\").replace('\\', "/").into_bytes()
}

/// How many names a file has.
#[cfg(unix)]
fn names(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
fn names(_: &fs::Metadata) -> u64 {
    1
}

/// Whether a transaction on the file has to be taken back. Nobody locks a journal.
fn has_journal(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-journal");
    let mut begin = [0; JOURNAL.len()];
    let read = File::open(PathBuf::from(name)).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == JOURNAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_can_be_a_uri() {
        assert_eq!(uri(Path::new("/a b/ü?#%.db")), "file:///a%20b/%C3%BC%3F%23%25.db");
    }
}
