//! What a caller from outside may be told.

use std::sync::Arc;

use bowline_engine as engine;

use crate::Ended;

/// Why something that was asked of the program was not done. Nothing has changed then, unless the
/// store could not even say that.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Something given is not acceptable; the text says what to change.
    #[error("{0}")]
    Invalid(String),
    /// There is no such run, workflow id or receipt.
    #[error("there is no {0}")]
    NotFound(String),
    /// The run of that id is one of another workflow.
    #[error("{id:?} is a run of {found:?}, and was attached to as {expected:?}")]
    OtherWorkflow {
        /// The workflow id.
        id: String,
        /// The workflow that it is.
        found: String,
        /// The workflow that was expected.
        expected: String,
    },
    /// The workflow id is taken.
    #[error(
        "{id:?} is taken by a run that is {status}: attach to it, or say `{}`",
        way_out(*status)
    )]
    AlreadyStarted {
        /// The workflow id.
        id: String,
        /// Where that run stands.
        status: engine::core::Status,
    },
    /// The run cannot go on: its code fails. It is parked, and goes on with the first process whose
    /// code can, or when somebody retries it.
    #[error(
        "the run is parked, since its code failed{}. It goes on with the first process whose code \
         can: change the code and start again, or call `retry` on the run.\n{reason}",
        times(*failures)
    )]
    Parked {
        /// How often.
        failures: u32,
        /// What it failed with.
        reason: String,
    },
    /// What came back cannot be read as the type that was asked for.
    #[error("{0}")]
    Unreadable(crate::Failure),
    /// A statement of a transaction failed.
    #[error("a statement failed: {0}")]
    Sql(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// Anything else that the engine says.
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
    /// A stable word for programs, the same at every door.
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

/// Why a run has no result: it ended otherwise, or could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E: std::fmt::Display + std::fmt::Debug = crate::Failure> {
    /// It ended otherwise.
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
    /// It was refused, or its answer does not read.
    #[error("the update was refused: {0}")]
    Refused(crate::Failure),
    /// It could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
}
