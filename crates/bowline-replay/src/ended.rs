//! How a call, a scope or a run ended, if not with a value.

use std::fmt;

use bowline_core::{Cause, Command, Failure, Payload, Timeout};

/// How something ended, if not with a value. Not a `std::error::Error`, so that no `?` turns a
/// cancel into a failure by accident.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Ended {
    /// Its code said so.
    Failed(Failure),
    /// It was cancelled.
    Cancelled(Cause),
    /// A limit was passed.
    TimedOut(Timeout),
    /// Its code panicked.
    Panicked(Failure),
    /// It was terminated.
    Terminated(Cause),
    /// It cannot go on: something of it cannot be read.
    Broken(Failure),
}

impl Ended {
    /// Why it was cancelled or terminated, if it was.
    pub fn cause(&self) -> Option<&Cause> {
        match self {
            Self::Cancelled(cause) | Self::Terminated(cause) => Some(cause),
            _ => None,
        }
    }

    /// The same as a failure, for those who know nothing else.
    pub fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) | Self::Panicked(failure) | Self::Broken(failure) => failure,
            Self::Cancelled(cause) => Failure::new(cause.to_string()).kind("Cancelled"),
            Self::Terminated(cause) => Failure::new(cause.to_string()).kind("Terminated"),
            Self::TimedOut(timeout) => Failure::new(limit(timeout)).kind("TimedOut"),
        }
    }

    /// The command that closes a run which ends like this.
    pub(crate) fn into_close(self) -> Command {
        match self {
            Self::Cancelled(cause) => Command::Cancel(None, Some(cause)),
            other => Command::Fail(other.into_failure()),
        }
    }
}

/// The command that closes a run whose body returned this.
pub(crate) fn close(result: Result<Option<Payload>, Ended>) -> Command {
    match result {
        Ok(result) => Command::Complete(result),
        Err(ended) => ended.into_close(),
    }
}

fn limit(timeout: Timeout) -> &'static str {
    match timeout {
        Timeout::ScheduleToStart => "it waited in its queue for too long",
        Timeout::StartToClose => "it ran for too long",
        Timeout::ScheduleToClose => "all attempts together took too long",
        Timeout::Heartbeat => "it was silent for too long",
        _ => "a limit was passed",
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => write!(f, "failed: {failure}"),
            Self::Cancelled(cause) => write!(f, "cancelled: {cause}"),
            Self::TimedOut(timeout) => write!(f, "timed out: {}", limit(*timeout)),
            Self::Panicked(failure) => write!(f, "panicked: {failure}"),
            Self::Terminated(cause) => write!(f, "terminated: {cause}"),
            Self::Broken(failure) => write!(f, "broken: {failure}"),
        }
    }
}
