//! One process at a time: an OS lock on a file beside the store.
//!
//! The file says who holds the lock, for people. The lock itself is the operating system's: it is
//! gone with the process, however that ends, so the text of a dead holder does no harm.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use bowline_store::{Error, Result};

use crate::connection::taken::Taken;

/// The lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    /// Unset while it is dropped.
    taken: Option<Taken>,
}

/// The file that carries the lock of a store.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

impl Lock {
    /// Takes the lock, or says who has it.
    pub(crate) fn take(path: &Path, taken: Taken) -> Result<Self> {
        let beside = beside(path);
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&beside);
        let mut file = opened.map_err(|error| {
            let (path, beside) = (path.display(), beside.display());
            Error::Open(format!("cannot open {path}: its lock file {beside} says: {error}"))
        })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(path, &mut file)),
            Err(TryLockError::Error(error)) => {
                let beside = beside.display();
                return Err(Error::Open(format!("cannot lock {beside}: {error}")));
            }
        }
        // Who holds it is only said for people: a full disk must not keep a store from opening.
        let _ = sign(&mut file);
        Ok(Self { file, taken: Some(taken) })
    }

    /// The file exists now, and not only its name is known.
    pub(crate) fn is_there(&self) {
        self.taken.iter().for_each(Taken::is_there);
    }
}

impl Drop for Lock {
    /// Whoever waits for the lock may open the store when they have it: nothing else is left then.
    fn drop(&mut self) {
        drop(self.taken.take());
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

fn held(path: &Path, file: &mut File) -> Error {
    in_use(path, holder(file).as_deref().unwrap_or("another process"))
}

/// This process has it, perhaps under another name.
pub(crate) fn held_here(path: &Path, known: &Path) -> Error {
    let holder = File::open(beside(known)).ok().and_then(|mut file| holder(&mut file));
    let holder = holder.unwrap_or_else(|| format!("pid {}", process::id()));
    in_use(path, &format!("{holder}, this very process"))
}

fn holder(file: &mut File) -> Option<String> {
    let mut holder = String::new();
    file.read_to_string(&mut holder).ok()?;
    Some(holder.trim().to_owned()).filter(|holder| !holder.is_empty())
}

fn in_use(path: &Path, holder: &str) -> Error {
    Error::Open(format!(
        "{} is in use by {holder}: a store belongs to one process at a time; stop that one first, \
         or reach the store through it",
        path.display()
    ))
}

fn sign(file: &mut File) -> std::io::Result<()> {
    file.rewind()?;
    file.set_len(0)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    writeln!(file, "pid {} on host {} since {}", process::id(), host(), date(since))
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "unknown".into())
}

/// Seconds since 1970 as a date and time of day, in UTC.
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin with March here, so that the leap day is the last one.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_know_leap_years() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }
}
