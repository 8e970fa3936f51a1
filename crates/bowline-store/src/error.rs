//! Everything that can go wrong between the engine and a store.

use std::fmt;

use bowline_core::{Corrupt, Refusal, RunId, Status};

/// What a store answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a store did not do what it was asked. Nothing has changed, except after [`Error::Unknown`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else was faster: read and decide again.
    #[error("another commit was faster")]
    Conflict,
    /// The lease, epoch or attempt that was named is over.
    #[error("the lease is over: it belongs to an earlier epoch, or to somebody else")]
    Fenced,
    /// There is no such run, workflow id, receipt or question.
    #[error("there is no such {0}")]
    Missing(&'static str),
    /// The run is closed; messages may go to the run that goes on in its place.
    #[error("the run {run} is closed: {status}")]
    Closed {
        /// The run.
        run: RunId,
        /// How it closed.
        status: Status,
        /// The run that goes on.
        successor: Option<RunId>,
    },
    /// The workflow id belongs to another run.
    #[error("the workflow id is taken by run {run}, which is {status}")]
    IdTaken {
        /// That run.
        run: RunId,
        /// Where it stands.
        status: Status,
    },
    /// The store cannot take it now; trying again may help.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// It may or may not have been done; of a commit, the run's last commit id tells. That is
    /// settled by now: what is read after this answer stays as it is read.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
    /// Stored bytes do not read.
    #[error("run {run}: {corrupt}")]
    Corrupt {
        /// Whose bytes.
        run: RunId,
        /// What is wrong with them.
        corrupt: Corrupt,
    },
    /// The store has no room left, or must not be written to.
    #[error("the store cannot be written to: {0}")]
    ReadOnly(String),
    /// The store cannot be opened: what is wrong, and what to do.
    #[error("{0}")]
    Open(String),
    /// Something asked for is not acceptable.
    #[error("{0}")]
    Invalid(String),
    /// The rules say no: the run takes no more of this.
    #[error("{0}")]
    Refused(Refusal),
    /// The store failed in a way of its own.
    #[error("the store failed: {0}")]
    Backend(String),
    /// The store is closed.
    #[error("the store is closed")]
    Shut,
}

impl Error {
    /// A stable word for programs, the same at every door.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Fenced => "fenced",
            Self::Missing(_) => "missing",
            Self::Closed { .. } => "closed",
            Self::IdTaken { .. } => "id_taken",
            Self::Busy(_) => "busy",
            Self::Unknown(_) => "unknown",
            Self::Corrupt { .. } => "corrupt",
            Self::ReadOnly(_) => "read_only",
            Self::Open(_) => "open",
            Self::Invalid(_) => "invalid",
            Self::Refused(refusal) => refusal.code(),
            Self::Backend(_) => "backend",
            Self::Shut => "shut",
        }
    }

    /// True if the same call may succeed later.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Unknown(_))
    }

    /// Wraps an error of a back end.
    pub fn backend(error: impl fmt::Display) -> Self {
        Self::Backend(error.to_string())
    }
}
