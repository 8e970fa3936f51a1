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
        atomic::Ordering,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use bowline_store::Result;
use rusqlite::{Connection, Row};

use crate::{begin_thread, rows::blob, settings, shared::Shared};

/// The first SQLite in which one connection may copy the log while another one writes. Before that
/// it could take a log that had just begun anew for one that was copied already, and lose commits.
const SAFE: i32 = 3_051_003;

/// The thread that copies, and what it is woken by.
pub(crate) struct Copier {
    shared: Arc<Shared>,
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
        let (wake, woken) = sync_channel(1);
        let known = shared.clone();
        let thread = begin_thread("bowline-copier", move || {
            copy(&connection, &known, &woken);
            drop(connection);
            drop(held);
        })?;
        let (shared, wake, thread) = (shared.clone(), Some(wake), Some(thread));
        Ok(Some(Self { shared, wake, thread }))
    }

    /// Looks whether there is a piece to be copied. To be called after a commit.
    pub(crate) fn look(&self, rows: u64) {
        if let Some(wake) = self.wake.as_ref().filter(|_| self.shared.gauge.is_due(rows)) {
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

fn copy(connection: &Connection, shared: &Shared, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        let rows = shared.counters.rows_written.load(Ordering::Relaxed);
        if shared.is_torn() || !shared.gauge.is_due(rows) {
            continue;
        }
        // It waits for nobody: what it does not get to is left for the next time.
        match checkpoint(connection) {
            Ok(Some(frames)) => shared.gauge.copied(rows, frames),
            Ok(None) => shared.gauge.put_off(rows),
            Err(_) => shared.tear(),
        }
    }
}

/// Copies what it can. Answers how many frames the log has, and how many of them are copied; none
/// if somebody else is at it.
pub(crate) fn checkpoint(connection: &Connection) -> rusqlite::Result<Option<(u64, u64)>> {
    let read = |row: &Row<'_>| Ok((blob::number(row, 1)?, blob::number(row, 2)?));
    match connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], read) {
        Err(error) if is_busy(&error) => Ok(None),
        done => done.map(Some),
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}
