//! Everything that a caller of the engine may be told.

use bowline_core::{EventId, Refusal, RunId, Status};
use bowline_store as store;

/// What the engine answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the engine did not do what it was asked. Nothing has changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rules say no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store says no, or not now.
    #[error(transparent)]
    Store(store::Error),
    /// There is no such run, workflow id or receipt.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The run is closed.
    #[error("the run {run} is closed: {status}")]
    Closed {
        /// The run.
        run: RunId,
        /// How it closed.
        status: Status,
        /// The run that goes on in its place.
        successor: Option<RunId>,
    },
    /// The workflow id is taken.
    #[error("the workflow id is taken by run {run}, which is {status}")]
    AlreadyStarted {
        /// That run.
        run: RunId,
        /// Where it stands.
        status: Status,
    },
    /// A namespace of that name is there already.
    #[error("there is a namespace {0:?} already")]
    NamespaceTaken(String),
    /// Nothing of that number is open in the run.
    #[error("run {run} has no open activity, timer or child with number {target}")]
    NoSuchTarget {
        /// The run.
        run: RunId,
        /// The number.
        target: EventId,
    },
    /// No code of that name is registered.
    #[error("no {kind} named {name:?} is registered: register it before `start`")]
    Unregistered {
        /// A workflow, activity or query.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The worker's token is not one of ours, or its attempt is over.
    #[error("the token is not valid: {0}")]
    BadToken(String),
    /// A query could not be answered.
    #[error("the query failed: {0}")]
    Query(String),
    /// The run's code cannot be asked, now or ever: waiting would not help.
    #[error("the run's code cannot be asked: {0}")]
    NotReady(&'static str),
    /// Nothing happened in time.
    #[error("{0} did not happen in time")]
    TimedOut(&'static str),
    /// A bound of the engine is reached; nothing was done.
    #[error("there are too many {what}: at most {limit}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The bound, which stands in [`limits`](crate::limits).
        limit: usize,
    },
    /// Something given is not acceptable.
    #[error("{0}")]
    Invalid(String),
    /// The run is parked: its code cannot go on. The first process whose code can goes on with it,
    /// or whoever is about when somebody retries it.
    #[error(
        "the run is parked until a process comes whose code can continue it, or you call `retry`; \
         its code failed {failures} times: {reason}"
    )]
    Parked {
        /// How often it was tried.
        failures: u32,
        /// What it failed with.
        reason: String,
    },
    /// The engine is shutting down.
    #[error("the engine is shutting down")]
    ShuttingDown,
}

impl Error {
    /// A stable word for programs, the same at every door.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Store(error) => error.code(),
            Self::NotFound(_) => "missing",
            Self::Closed { .. } => "closed",
            Self::AlreadyStarted { .. } => "id_taken",
            Self::NamespaceTaken(_) => "namespace_taken",
            Self::NoSuchTarget { .. } => "no_such_target",
            Self::Unregistered { .. } => "unregistered",
            Self::BadToken(_) => "bad_token",
            Self::Query(_) => "query_failed",
            Self::NotReady(_) => "not_ready",
            Self::TimedOut(_) => "timed_out",
            Self::TooMany { .. } => "too_many",
            Self::Invalid(_) => "invalid",
            Self::Parked { .. } => "parked",
            Self::ShuttingDown => "shutting_down",
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Missing(what) => Self::NotFound(what),
            store::Error::Closed { run, status, successor } => {
                Self::Closed { run, status, successor }
            }
            store::Error::IdTaken { run, status } => Self::AlreadyStarted { run, status },
            store::Error::Refused(refusal) => Self::Refused(refusal),
            store::Error::Shut => Self::ShuttingDown,
            other => Self::Store(other),
        }
    }
}

impl Error {
    /// True if stored bytes do not read.
    pub(crate) fn is_corrupt(&self) -> bool {
        matches!(self, Self::Store(store::Error::Corrupt { .. }))
    }

    /// True if this opening of the store is over: somebody else has it, or it was closed. Neither
    /// passes.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Store(store::Error::Fenced) | Self::ShuttingDown)
    }

    /// True if somebody else was faster: reading and deciding again will do.
    pub(crate) fn is_race(&self) -> bool {
        matches!(
            self,
            Self::Store(store::Error::Conflict | store::Error::Fenced) | Self::Closed { .. }
        )
    }
}
