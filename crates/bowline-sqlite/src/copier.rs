//! SQLite's log, copied into the file beside the writer.
//!
//! SQLite copies the log when it has become long, within the commit that finds it so: whoever waits
//! for that commit waits for all of it. So a thread of its own copies piece by piece before that,
//! and leaves the last piece to the commit. Then the log is used again from its beginning.
//!
//! What is copied is synced by the last piece only, unless nobody writes meanwhile: the log is
//! durable, and must stay until then. Most of it has reached the disk by itself when that comes.
//!
//! In:    how many rows were written.
//! Out:   pages that are in the file already when the log is full.
//! Never: is needed, or keeps anybody waiting.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use bowline_store::Result;
use rusqlite::{Connection, Row};

use crate::{begin, limits, settings, shared::Shared};

/// The first SQLite in which one connection may copy the log while another one writes. Before that
/// it could take a log that had just begun anew for one that was copied already, and lose commits.
const SAFE: i32 = 3_051_003;

/// The thread that copies, and what it is woken by.
pub(crate) struct Copier {
    /// How many rows will have been written when there is a piece to be copied.
    due: Arc<AtomicU64>,
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Copier {
    /// Begins, for a file that a writer has open. What is held is held for as long as it copies.
    /// None where only the writer may copy.
    pub(crate) fn start(
        path: &Path,
        shared: &Arc<Shared>,
        held: impl Send + 'static,
    ) -> Result<Option<Self>> {
        if rusqlite::version_number() < SAFE {
            return Ok(None);
        }
        let connection = settings::copier(path, &shared.settings)?;
        let due = Arc::new(AtomicU64::new(limits::PIECE_FIRST));
        let (wake, woken) = sync_channel(1);
        let (shared, next) = (shared.clone(), due.clone());
        let thread = begin("bowline-copier", move || {
            copy(&connection, &shared, &next, &woken);
            drop(connection);
            drop(held);
        })?;
        Ok(Some(Self { due, wake: Some(wake), thread: Some(thread) }))
    }

    /// Looks whether there is a piece to be copied. To be called after a commit.
    pub(crate) fn look(&self, rows: u64) {
        if let Some(wake) = self.wake.as_ref().filter(|_| rows >= self.due.load(Ordering::Relaxed))
        {
            // It is awake then, or about to be.
            let _ = wake.try_send(());
        }
    }
}

impl Drop for Copier {
    /// Waits for its end.
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so, and holds nothing any more.
            let _ = thread.join();
        }
    }
}

fn copy(connection: &Connection, shared: &Shared, due: &AtomicU64, woken: &Receiver<()>) {
    let rows = || shared.counters.rows_written.load(Ordering::Relaxed);
    let (mut rows_before, mut frames_before) = (0, 0);
    let mut wanted = limits::PIECE_FIRST;
    let most = shared.settings.log_pages() / limits::PIECES;
    while woken.recv().is_ok() {
        let rows_now = rows();
        if rows_now < due.load(Ordering::Relaxed) {
            continue;
        }
        // It waits for nobody: what it does not get to is left for the next time.
        if let Some((logged, copied)) = checkpoint(connection) {
            // A log that is shorter than it was has begun anew: nobody knows when.
            if logged > frames_before {
                wanted = piece(rows_now - rows_before, logged - frames_before, most);
            }
            // One that is copied as a whole begins anew with the next commit.
            frames_before = if copied == logged { 0 } else { logged };
            rows_before = rows_now;
        }
        due.store(rows_now + wanted, Ordering::Relaxed);
    }
}

/// Copies what it can. Answers how many frames the log has, and how many of them are copied.
fn checkpoint(connection: &Connection) -> Option<(u64, u64)> {
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    let (logged, copied) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], read).ok()?;
    Some((u64::try_from(logged).ok()?, u64::try_from(copied).ok()?))
}

/// How many rows make a piece of so many frames, if some have made some frames of the log.
fn piece(rows: u64, frames: u64, most: u64) -> u64 {
    (rows * most / frames.max(1)).clamp(limits::PIECE_ROWS.0, limits::PIECE_ROWS.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_about_as_long_whatever_the_rows_are() {
        assert_eq!(piece(3_000, 3_000, 2_000), 2_000);
        assert_eq!(piece(1_000, 100, 2_000), 20_000, "ten rows in each page");
        assert_eq!(piece(1_000, 2_000, 2_000), 1_000, "two pages for each row");
        assert_eq!(piece(10, 9_999_999, 2_000), limits::PIECE_ROWS.0, "rows as large as files");
        assert_eq!(piece(1_000, 0, 2_000), limits::PIECE_ROWS.1, "nothing came of them");
    }
}
