//! What a caller from outside may be told.

use std::sync::Arc;

use bowline_engine as engine;

use crate::Ended;

/// Why a request was not carried out. Nothing has changed then, unless the code is `unknown`: in
/// that case the store could not tell.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Something you gave is not acceptable; the text says what to change.
    #[error("{0}")]
    Invalid(String),
    /// There is no such run, workflow id or receipt.
    #[error("there is no {0}")]
    NotFound(String),
    /// The run of that id belongs to another workflow.
    #[error("{id:?} is a run of {found:?}, but you attached to it as {expected:?}")]
    OtherWorkflow {
        /// The workflow id.
        id: String,
        /// The workflow it belongs to.
        found: String,
        /// The workflow you attached to.
        expected: String,
    },
    /// The workflow id is taken.
    #[error(
        "{id:?} is taken by a run that is {status}: attach to it, or use `{}`",
        way_out(*status)
    )]
    AlreadyStarted {
        /// The workflow id.
        id: String,
        /// What state that run is in.
        status: engine::core::Status,
    },
    /// No process can continue the run, because its code fails. It is parked, and continues with
    /// the first process whose code can, or when you retry it.
    #[error(
        "the run is parked, because its code failed{}. It continues with the first process whose \
         code can: fix the code and start again, or call `retry` on the run.\n{reason}",
        times(*failures)
    )]
    Parked {
        /// How often it failed.
        failures: u32,
        /// What it failed with.
        reason: String,
    },
    /// What came back does not read as the type you asked for.
    #[error("{0}")]
    Unreadable(crate::Failure),
    /// A statement of a transaction failed.
    #[error("a statement failed: {0}")]
    Sql(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// Anything else that the engine reports.
    #[error(transparent)]
    Engine(engine::Error),
}

/// How often, if that is more than once.
fn times(failures: u32) -> String {
    match failures {
        0 | 1 => String::new(),
        many => format!(" {many} times in a row"),
    }
}

/// What a caller whose id is taken may say instead.
fn way_out(status: engine::core::Status) -> &'static str {
    match status.is_open() {
        true => ".if_exists(…)",
        false => ".if_closed(…)",
    }
}

impl ClientError {
    /// Returns a stable word for programs; `docs/errors.md` lists them all.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::NotFound(_) => "missing",
            Self::OtherWorkflow { .. } => "other_workflow",
            Self::AlreadyStarted { .. } => "id_taken",
            Self::Parked { .. } => "parked",
            Self::Unreadable(_) => "unreadable",
            Self::Sql(_) => "sql",
            Self::Engine(error) => error.code(),
        }
    }
}

impl From<engine::Error> for ClientError {
    fn from(error: engine::Error) -> Self {
        match error {
            engine::Error::NotFound(what) => Self::NotFound(format!("such {what}")),
            engine::Error::Invalid(text) => Self::Invalid(text),
            engine::Error::Parked { failures, reason } => Self::Parked { failures, reason },
            other => Self::Engine(other),
        }
    }
}

/// So that `?` serves both the statements and the requests of a transaction.
#[cfg(feature = "_rusqlite")]
impl From<rusqlite::Error> for ClientError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}

/// Why a run has no result: it ended without one, or could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E: std::fmt::Display + std::fmt::Debug = crate::Failure> {
    /// It ended without a value.
    #[error("the run {0}")]
    Ended(Ended<E>),
    /// It could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Why an update has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError<E: std::fmt::Display + std::fmt::Debug = crate::Failure> {
    /// The workflow's code answered with this error, or refused the update with it.
    #[error("the update failed: {0}")]
    Failed(E),
    /// It was refused, or its answer does not read as the type you asked for.
    #[error("the update was refused: {0}")]
    Refused(crate::Failure),
    /// It could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
}
