//! SQLite's log, kept longer than it is written.
//!
//! A sync after an append also makes the file's new length durable, which takes the file system a
//! second write; one after an overwrite does not. Once the log has been copied into the file it is
//! used again from its beginning. Until it has grown that long, zeros are put where it will go.
//!
//! Never: writes where SQLite may have written. Whoever calls has the write lock, so nobody appends
//!        meanwhile; and zeros after the last frame are to SQLite what every log of its own ends
//!        with: not a frame.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
};

use rusqlite::Connection;

use crate::{limits, settings::Settings};

/// The log of a connection.
pub(crate) struct Log {
    /// None if it is not to be had: then it grows as SQLite has it grow.
    file: Option<File>,
    /// How long it was when zeros were last put behind it, these included.
    filled: u64,
    /// How long it becomes, and by how much it is kept ahead.
    length: u64,
    fill: usize,
    /// How long it has become by now, if it is longer.
    longest: u64,
}

impl Log {
    /// The log of a connection that has one already.
    pub(crate) fn of(connection: &Connection, settings: &Settings) -> Self {
        let open = |path| OpenOptions::new().write(true).open(format!("{path}-wal")).ok();
        let file = connection.path().and_then(open);
        let (length, fill) = (settings.log_length(), limits::LOG_FILL.min(settings.log / 8));
        let long = file.as_ref().and_then(|file| file.metadata().ok());
        let longest = long.map_or(0, |found| found.len()).max(length + fill as u64);
        Self { file, filled: limits::LOG_UNFILLED, length, fill, longest }
    }

    /// Puts zeros behind the log if SQLite has come to its end. To be called in a transaction that
    /// writes: its commit makes them durable.
    pub(crate) fn keep_ahead(&mut self) {
        let Some(file) = self.file.as_mut().filter(|_| self.fill > 0) else { return };
        match fill(file, self.filled, self.length, self.fill) {
            Ok(filled) => self.filled = filled,
            // A disk that is full, say. SQLite will say so, if it needs the space.
            Err(_) => self.fill = 0,
        }
    }

    /// Whether it is longer than it should become, and longer than when this was last asked.
    pub(crate) fn has_grown(&mut self) -> bool {
        let Some(found) = self.file.as_ref().and_then(|file| file.metadata().ok()) else {
            return false;
        };
        let grown = found.len() > self.longest;
        self.longest = self.longest.max(found.len());
        grown
    }

    /// Whether somebody has removed it, who took it for one that nobody uses: this process may have
    /// lost its locks, because something in it has read the file. What is written to it then is
    /// gone with the process.
    pub(crate) fn is_gone(&self) -> bool {
        let found = self.file.as_ref().and_then(|file| file.metadata().ok());
        found.is_some_and(|found| is_nameless(&found))
    }
}

#[cfg(unix)]
fn is_nameless(found: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(found) == 0
}

#[cfg(not(unix))]
fn is_nameless(_: &std::fs::Metadata) -> bool {
    false
}

/// Answers with the length up to which nothing more needs to be done.
fn fill(file: &mut File, filled: u64, most: u64, more: usize) -> io::Result<u64> {
    let length = file.metadata()?.len();
    // Somebody else may have cut it.
    let filled = filled.min(length).max(limits::LOG_UNFILLED);
    if length <= filled || length > most {
        return Ok(filled);
    }
    file.seek(SeekFrom::Start(length))?;
    file.write_all(&vec![0; more])?;
    Ok(length + more as u64)
}
