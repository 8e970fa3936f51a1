//! What can go wrong in here, and how it is said outside.

use bowline_core::{Corrupt, RunId};
use bowline_store::Error;
use rusqlite::ErrorCode;

/// Why a step did not do what it should.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite says so.
    Sql(rusqlite::Error),
    /// We say so.
    Said(Error),
}

impl Fault {
    /// True for an answer that is given before anything is written: the others of a group need not
    /// know of it. After anything else the transaction is rolled back.
    pub(crate) fn is_refusal(&self) -> bool {
        use Error::*;
        matches!(
            self,
            Self::Said(
                Conflict | Fenced | Missing(_) | Closed { .. } | IdTaken { .. } | Invalid(_)
            )
        )
    }

    /// True if waiting may help, because another connection has the file.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Said(Error::Busy(_)))
            || matches!(code(self), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// A row of this run does not read.
    pub(crate) fn corrupt(run: RunId, corrupt: Corrupt) -> Self {
        Self::Said(Error::Corrupt { run, corrupt })
    }

    /// What is said when a transaction could not be committed: if the disk failed while it was
    /// being made durable, nobody knows whether it is.
    pub(crate) fn of_commit(error: rusqlite::Error) -> Self {
        let fault = Self::Sql(error);
        match code(&fault) {
            Some(ErrorCode::SystemIoFailure) => {
                let Self::Sql(error) = fault else { unreachable!("it has a code of SQLite") };
                Self::Said(Error::Unknown(format!("the disk failed during a commit: {error}")))
            }
            _ => fault,
        }
    }
}

fn code(fault: &Fault) -> Option<ErrorCode> {
    match fault {
        Fault::Sql(error) => error.sqlite_error_code(),
        Fault::Said(_) => None,
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Said(error)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Said(error) => error,
            Fault::Sql(error) => said(&error),
        }
    }
}

fn said(error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Busy(format!("another connection holds the file: {error}"))
        }
        Some(ErrorCode::DiskFull) => {
            Error::ReadOnly(format!("there is no room left: {error}; free some, and it goes on"))
        }
        Some(ErrorCode::ReadOnly) => {
            Error::ReadOnly(format!("the file or its folder is read-only: {error}"))
        }
        Some(ErrorCode::CannotOpen) => Error::Open(format!("the file cannot be opened: {error}")),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Backend(format!(
            "the file is damaged: {error}; stop, keep a copy of it and of its -wal file, and \
             restore a backup, or recover what is left with sqlite3's `.recover`"
        )),
        _ => Error::backend(error),
    }
}
