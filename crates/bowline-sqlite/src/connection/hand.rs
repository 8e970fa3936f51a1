//! What the writer writes with: its connection, its log, and who copies that into the file.
//!
//! An error of a sync is final for whatever was to be synced: the operating system may have let go
//! of it, and the next sync says nothing of it. SQLite remembers which part of the log it has
//! copied, but pieces are synced with the last one only. So when copying fails in any way, nothing
//! is copied any more. Everybody lets go of the file, and one connection that is alone with it
//! copies the whole log anew; only when that is durable the store goes on.
//!
//! Never: goes on as if something were in the file that may not be.

use std::sync::{Arc, atomic::Ordering};

use bowline_store::{Error, Result};
use parking_lot::Mutex;
use rusqlite::{Connection, config::DbConfig};
use tokio::sync::mpsc;

use crate::{
    connection::{
        copier::{self, Copier},
        guard::Guard,
        lock::Lock,
        log::Log,
        migrate, place,
    },
    fault::Fault,
    settings,
    shared::Shared,
};

/// Held by every thread that has a connection.
pub(crate) type FileHold = (Arc<Lock>, mpsc::Sender<()>);

/// The connection of a thread that reads; none while nobody may have one.
pub(crate) type Slot = Arc<Mutex<Option<Connection>>>;

pub(crate) struct Hand {
    pub(crate) connection: Connection,
    pub(crate) guard: Arc<Guard>,
    pub(crate) log: Log,
    copier: Option<Copier>,
}

impl Hand {
    /// Opens the file, and lets those in who read.
    pub(crate) fn open(shared: &Arc<Shared>, held: &FileHold, readers: &[Slot]) -> Result<Self> {
        let path = &shared.path;
        let mut connection = settings::writer(path, &shared.settings)?;
        held.0.is_there();
        migrate::migrate(&mut connection, path)?;
        for reader in readers {
            *reader.lock() = Some(settings::reader(path, &shared.settings)?);
        }
        let guard = Guard::install(&mut connection).map_err(Fault::from)?;
        let log = Log::of(&connection, &shared.settings);
        let copier = Copier::start(path, shared, held.clone())?;
        place::settle(path)?;
        Ok(Self { connection, guard, log, copier })
    }

    /// To be called after a commit. Copies what is left of a log that is long enough, or has it
    /// copied.
    pub(crate) fn copy(&mut self, shared: &Shared) {
        let rows = shared.counters.rows_written.load(Ordering::Relaxed);
        if shared.is_torn() {
            return;
        }
        if self.log.has_grown() || shared.gauge.is_full(rows) {
            match copier::checkpoint(&self.connection) {
                Ok(Some(frames)) => shared.gauge.copied(rows, frames),
                Ok(None) => {}
                Err(_) => shared.tear(),
            }
        } else if let Some(copier) = &self.copier {
            copier.look(rows);
        }
    }

    /// Closes the file. Whoever copies a closed file need not know that it has a log; where
    /// somebody still reads it, or the disk fails, the log stays, and is used when it opens again.
    pub(crate) fn close(mut self, shared: &Shared) {
        self.copier = None;
        if shared.is_torn() {
            return;
        }
        let copied = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        if copied.is_ok() {
            let _ =
                self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
        }
    }
}

/// Copies the whole log into a file that nobody else has open.
///
/// # Errors
/// [`Error::Busy`] if somebody has, or if the disk fails still.
pub(crate) fn recover(shared: &Shared) -> Result<()> {
    settings::recover(&shared.path, &shared.settings).map_err(|error| {
        Error::Busy(format!(
            "the disk has failed, or the log was removed, and the file must be recovered from its \
             log before anything else: {error}"
        ))
    })
}
