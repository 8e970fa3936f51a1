//! A small file that names the run each thread is in.
//!
//! A turn that takes the whole process down leaves its run's name behind: the file is not synced,
//! but it outlives the process. Who is found there too often is parked instead of tried again.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::Read,
    os::unix::fs::FileExt,
    path::Path,
};

use bowline_core::{Namespace, RunId};
use parking_lot::Mutex;

use crate::{Error, Result, limits};

/// Bytes of one thread's place: namespace, run, and how often it was found here before.
const PLACE: usize = 4 + 16 + 4;

/// The file, if there is one.
#[derive(Default)]
pub(super) struct CrashFile {
    file: Option<File>,
    found: Mutex<BTreeMap<RunId, u32>>,
}

impl CrashFile {
    pub(super) fn open(path: Option<&Path>, threads: usize) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let fault = |error| Error::Invalid(format!("{}: {error}", path.display()));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(fault)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(fault)?;
        let found = bytes.as_chunks::<PLACE>().0.iter().filter_map(read_place).collect();
        file.set_len(0).and_then(|()| file.set_len((threads * PLACE) as u64)).map_err(fault)?;
        Ok(Self { file: Some(file), found: Mutex::new(found) })
    }

    /// Runs that were found too often.
    pub(super) fn crashed(&self) -> Vec<(RunId, u32)> {
        let found = self.found.lock();
        let often = found.iter().filter(|(_, times)| **times >= limits::TURN_FAILURES);
        often.map(|(run, times)| (*run, *times)).collect()
    }

    /// A thread begins to run a run's code.
    pub(super) fn enter(&self, place: usize, run: RunId) {
        let times = self.found.lock().get(&run).copied().unwrap_or(0);
        let mut bytes = [0; PLACE];
        bytes[..4].copy_from_slice(&run.namespace.0.to_le_bytes());
        bytes[4..20].copy_from_slice(&run.uuid.to_le_bytes());
        bytes[20..].copy_from_slice(&(times + 1).to_le_bytes());
        self.write(place, &bytes);
    }

    /// The code has returned. That its replay or a query did says nothing about its next turn, so
    /// it is not forgotten how often it was found.
    pub(super) fn leave(&self, place: usize) {
        self.write(place, &[0; PLACE]);
    }

    /// The run has had a turn.
    pub(super) fn survived(&self, run: RunId) {
        self.found.lock().remove(&run);
    }

    fn write(&self, place: usize, bytes: &[u8; PLACE]) {
        let Some(file) = &self.file else { return };
        if let Err(error) = file.write_all_at(bytes, (place * PLACE) as u64) {
            tracing::warn!(%error, "the crash file could not be written");
        }
    }
}

fn read_place(bytes: &[u8; PLACE]) -> Option<(RunId, u32)> {
    let (namespace, rest) = bytes.split_first_chunk::<4>()?;
    let (uuid, times) = rest.split_first_chunk::<16>()?;
    let run = RunId {
        namespace: Namespace(u32::from_le_bytes(*namespace)),
        uuid: u128::from_le_bytes(*uuid),
    };
    let times = u32::from_le_bytes(times.try_into().ok()?);
    (run.uuid != 0).then_some((run, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(uuid: u128) -> RunId {
        RunId { namespace: Namespace(1), uuid }
    }

    #[test]
    fn a_run_that_is_left_is_forgotten_and_one_that_is_not_is_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("crash");
        for times in 1..=limits::TURN_FAILURES {
            let file = CrashFile::open(Some(&path), 2).expect("opens");
            assert_eq!(file.crashed(), Vec::new(), "not yet after {times}");
            // Its replay is had every time; the turn after it is what takes the process down.
            file.enter(0, run(7));
            file.leave(0);
            file.enter(0, run(7));
            file.enter(1, run(8));
            file.leave(1);
        }
        let file = CrashFile::open(Some(&path), 2).expect("opens");
        assert_eq!(file.crashed(), vec![(run(7), limits::TURN_FAILURES)]);
        file.survived(run(7));
        assert_eq!(file.crashed(), Vec::new(), "it has had its turn after all");
    }

    #[test]
    fn garbage_in_the_file_does_no_harm() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("crash");
        std::fs::write(&path, [1; 31]).expect("writes");
        assert!(CrashFile::open(Some(&path), 1).is_ok());
    }
}
