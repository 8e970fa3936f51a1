//! How a call or a run ended, if not with a value.

use std::fmt;

use bowline_engine::core::{Cause, Failure as Raw, Outcome as RawOutcome, RunEnding, Timeout};
use bowline_replay::Ended as Untyped;
use serde::de::DeserializeOwned;

use crate::{
    Failure,
    carry::{self, Carried},
    value,
};

/// How a call or a run ended: with a value, or as an [`Ended`].
pub type Outcome<T, E = Failure> = Result<T, Ended<E>>;

/// How a call or a run ended, if not with a value.
///
/// It is not a `std::error::Error`, so that no `?` turns a cancel into a failure by accident. In a
/// workflow, `?` turns it into an [`Error`](crate::Error), which keeps the same distinctions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Ended<E = Failure> {
    /// Its code returned an error.
    Failed(E),
    /// It was cancelled, with clean-up; a passed deadline is a cancel too.
    Cancelled(Cause),
    /// It passed a time limit.
    TimedOut(Timeout),
    /// Its code panicked.
    Panicked(Failure),
    /// It was terminated, without clean-up.
    Terminated(Cause),
    /// It ended with something that does not read as an `E`, or was given something that does not
    /// read.
    Broken(Failure),
}

impl<E> Ended<E> {
    /// Returns why it was cancelled or terminated, if it was.
    pub fn cause(&self) -> Option<&Cause> {
        match self {
            Self::Cancelled(cause) | Self::Terminated(cause) => Some(cause),
            _ => None,
        }
    }

    /// True if it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }

    /// Converts the error and keeps everything else.
    pub fn map<W>(self, change: impl FnOnce(E) -> W) -> Ended<W> {
        match self {
            Self::Failed(error) => Ended::Failed(change(error)),
            Self::Cancelled(cause) => Ended::Cancelled(cause),
            Self::TimedOut(limit) => Ended::TimedOut(limit),
            Self::Panicked(failure) => Ended::Panicked(failure),
            Self::Terminated(cause) => Ended::Terminated(cause),
            Self::Broken(failure) => Ended::Broken(failure),
        }
    }
}

impl<E: Carried> Ended<E> {
    /// Without its type, for the run.
    pub(crate) fn into_untyped(self) -> Untyped {
        match self {
            Self::Failed(error) => Untyped::Failed(error.into_raw()),
            Self::Cancelled(cause) => Untyped::Cancelled(cause),
            Self::TimedOut(limit) => {
                let message = Untyped::TimedOut(limit).into_failure().message;
                Untyped::Failed(carry::timed_out(limit, message))
            }
            Self::Panicked(failure) => Untyped::Panicked(failure.0),
            Self::Terminated(cause) => Untyped::Terminated(cause),
            Self::Broken(failure) => Untyped::Broken(failure.0),
        }
    }

    /// With its type.
    pub(crate) fn typed(ended: Untyped) -> Self {
        match ended {
            Untyped::Failed(raw) => carry::failed(raw),
            Untyped::Cancelled(cause) => Self::Cancelled(cause),
            Untyped::TimedOut(limit) => Self::TimedOut(limit),
            Untyped::Panicked(raw) => Self::Panicked(Failure(raw)),
            Untyped::Terminated(cause) => Self::Terminated(cause),
            Untyped::Broken(raw) => Self::Broken(Failure(raw)),
            other => Self::Broken(Failure(other.into_failure())),
        }
    }
}

/// What cannot be read ends like this.
pub(crate) fn broken<E>(raw: Raw) -> Ended<E> {
    Ended::Broken(Failure(raw))
}

/// The outcome of an activity, with its types.
pub(crate) fn of_activity<T: DeserializeOwned, E: Carried>(outcome: RawOutcome) -> Outcome<T, E> {
    match outcome {
        RawOutcome::Completed(result) => value::decode(result.as_ref()).map_err(broken),
        RawOutcome::Failed(raw) => Err(carry::failed(raw)),
        RawOutcome::TimedOut(limit) => Err(Ended::TimedOut(limit)),
        RawOutcome::Cancelled(cause, ..) => Err(Ended::Cancelled(cause)),
        other => Err(broken(Raw::new(format!("an outcome of a newer version: {other:?}")))),
    }
}

/// The end of a run, with its types.
pub(crate) fn of_run<T: DeserializeOwned, E: Carried>(ending: RunEnding) -> Outcome<T, E> {
    match ending {
        RunEnding::Completed(result) => value::decode(result.as_ref()).map_err(broken),
        RunEnding::Failed(raw, _) => Err(carry::failed(raw)),
        RunEnding::Cancelled(_, cause) => Err(Ended::Cancelled(cause.unwrap_or_else(unexplained))),
        RunEnding::TimedOut(_) => Err(Ended::TimedOut(Timeout::StartToClose)),
        RunEnding::Terminated(cause) => Err(Ended::Terminated(cause)),
        RunEnding::Continued(run) => {
            Err(broken(Raw::new(format!("it goes on as run {run}, which is not there"))))
        }
        other => Err(broken(Raw::new(format!("an end of a newer version: {other:?}")))),
    }
}

/// A run that cancelled itself without anybody asking.
fn unexplained() -> Cause {
    Cause::new(bowline_engine::core::Code::RunCancelled)
}

impl<E: fmt::Display> fmt::Display for Ended<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Cancelled(cause) => write!(f, "cancelled: {cause}"),
            Self::TimedOut(limit) => Untyped::TimedOut(*limit).fmt(f),
            Self::Panicked(failure) => write!(f, "panicked: {failure}"),
            Self::Terminated(cause) => write!(f, "terminated: {cause}"),
            Self::Broken(failure) => write!(f, "broken: {failure}"),
        }
    }
}
