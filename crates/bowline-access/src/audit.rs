//! The audit log: one line of JSON for every request that was refused or changes something.
//!
//! A change is written down before it is made: what cannot be written down is not done.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use parking_lot::Mutex;
use serde::Serialize;

use crate::Unusable;

/// One line.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a> {
    pub(crate) at: String,
    pub(crate) door: &'a str,
    pub(crate) peer: &'a str,
    /// Who asks, as they have shown; nothing if they have not.
    pub(crate) who: Option<&'a str>,
    /// Who asks, as the request says of itself.
    pub(crate) said: &'a str,
    pub(crate) verb: &'a str,
    pub(crate) ns: &'a str,
    pub(crate) target: &'a str,
    pub(crate) outcome: &'a str,
    /// Why, where it was refused.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) why: String,
    pub(crate) request_id: &'a str,
}

/// Where the lines go.
pub struct Audit(Out);

enum Out {
    Errors,
    File(PathBuf, Mutex<Option<File>>),
}

impl Audit {
    /// To standard error.
    pub fn to_errors() -> Self {
        Self(Out::Errors)
    }

    /// To the end of a file, which is made if it is missing. If somebody moves it away, a new one
    /// takes its place.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn to_file(path: &Path) -> Result<Self, Unusable> {
        let unwritable = |why| Unusable::File { path: path.display().to_string(), why };
        let file = append(path).map_err(unwritable)?;
        Ok(Self(Out::File(path.to_owned(), Mutex::new(Some(file)))))
    }

    pub(crate) fn write(&self, line: &Line<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
        text.push(b'\n');
        match &self.0 {
            Out::Errors => io::stderr().lock().write_all(&text),
            Out::File(path, file) => {
                let mut file = file.lock();
                if file.as_ref().is_none_or(|file| is_moved(path, file)) {
                    *file = None;
                    *file = Some(append(path)?);
                }
                match &mut *file {
                    Some(file) => file.write_all(&text),
                    None => Err(io::ErrorKind::NotFound.into()),
                }
            }
        }
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Out::Errors => f.write_str("Audit(stderr)"),
            Out::File(path, _) => write!(f, "Audit({})", path.display()),
        }
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether another file, or none, has its name now.
#[cfg(unix)]
fn is_moved(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(there), Ok(held)) = (std::fs::metadata(path), file.metadata()) else { return true };
    (there.dev(), there.ino()) != (held.dev(), held.ino())
}

#[cfg(not(unix))]
fn is_moved(path: &Path, _: &File) -> bool {
    !path.exists()
}

pub(crate) fn now() -> String {
    let now = jiff::Timestamp::now();
    format!("{now:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(target: &str) -> Line<'_> {
        Line {
            at: now(),
            door: "grpc",
            peer: "127.0.0.1:1",
            who: Some("key:deploy"),
            said: "7@host\nfake",
            verb: "Cancel",
            ns: "orders",
            target,
            outcome: "allowed",
            why: String::new(),
            request_id: "r-1",
        }
    }

    #[test]
    fn lines_are_appended_and_cannot_be_faked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        std::fs::write(&path, "before\n").expect("it is written");
        let audit = Audit::to_file(&path).expect("it opens");
        audit.write(&line("order-1\n{\"who\":\"root\"}")).expect("it is written");
        let text = std::fs::read_to_string(&path).expect("it reads");
        assert_eq!(text.lines().count(), 2, "{text}");
        let read: serde_json::Value =
            serde_json::from_str(text.lines().nth(1).expect("a line")).expect("JSON");
        assert_eq!((&read["who"], &read["ns"]), (&"key:deploy".into(), &"orders".into()));
        assert!(read["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{read}");
    }

    #[test]
    fn a_log_that_was_moved_away_is_begun_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        let audit = Audit::to_file(&path).expect("it opens");
        audit.write(&line("a")).expect("it is written");
        std::fs::rename(&path, folder.path().join("old")).expect("it is moved");
        audit.write(&line("b")).expect("it is written");
        assert!(std::fs::read_to_string(&path).expect("it reads").contains("\"b\""));
        std::fs::remove_file(&path).expect("it is removed");
        std::fs::create_dir(&path).expect("something else has its name");
        audit.write(&line("c")).expect_err("it cannot be written");
        std::fs::remove_dir(&path).expect("it is removed");
        audit.write(&line("d")).expect("it can be again");
    }
}
