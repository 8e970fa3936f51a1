//! Errors of user code on their way into failures and back, with their type.

use std::error::Error as StdError;

use bowline_engine::core::{Blob, Failure as Raw, Format, Payload, Timeout};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Ended, Error, Failure, name};

/// An error that a history can keep and give back: any `std::error::Error` that serde can write and
/// read, and [`Failure`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as the error of an activity or workflow",
    label = "not an error that can be stored",
    note = "it must be a `std::error::Error` with `#[derive(Serialize, Deserialize)]`; for any \
            other `std::error::Error` return `bowline::Result<T>`, into which `?` converts it"
)]
pub trait Carried: Sized + 'static {
    #[doc(hidden)]
    fn into_raw(self) -> Raw;

    #[doc(hidden)]
    fn from_raw(raw: Raw) -> Result<Self, Raw>;
}

impl<E: StdError + Serialize + DeserializeOwned + 'static> Carried for E {
    fn into_raw(self) -> Raw {
        let details = serde_json::to_vec(&self).ok();
        let details =
            details.map(|bytes| Payload { format: Format::Json, bytes: Blob::from(bytes) });
        Raw { details, ..raw(&self) }
    }

    fn from_raw(raw: Raw) -> Result<Self, Raw> {
        match details(&raw) {
            Some(error) if raw.kind == name::kind::<E>() => Ok(error),
            _ => Err(raw),
        }
    }
}

impl Carried for Failure {
    fn into_raw(self) -> Raw {
        self.0
    }

    fn from_raw(raw: Raw) -> Result<Self, Raw> {
        Ok(Self(raw))
    }
}

/// What an activity may fail with: an error that can be stored, or [`Error`] around one.
#[diagnostic::on_unimplemented(
    message = "an activity cannot fail with `{Self}`",
    label = "not an error that can be stored",
    note = "return `Result<T, E>` where `E` is a `std::error::Error` with `#[derive(Serialize, \
            Deserialize)]`, or `bowline::Result<T>`, into which `?` converts any \
            `std::error::Error`"
)]
pub trait Thrown {
    /// The error that the caller receives.
    type Error: Carried;

    #[doc(hidden)]
    fn ended(self) -> Ended<Self::Error>;
}

impl<E: StdError + Serialize + DeserializeOwned + 'static> Thrown for E {
    type Error = Self;

    fn ended(self) -> Ended<Self> {
        Ended::Failed(self)
    }
}

impl<E: Carried> Thrown for Error<E> {
    type Error = E;

    fn ended(self) -> Ended<E> {
        self.0
    }
}

/// An error's message, type and what it followed from.
pub(crate) fn raw<E: StdError>(error: &E) -> Raw {
    let source = error.source().map(|source| Box::new(chain(source)));
    Raw { source, ..Raw::new(error.to_string()).kind(name::kind::<E>()) }
}

fn chain(error: &dyn StdError) -> Raw {
    let source = error.source().map(|source| Box::new(chain(source)));
    Raw { source, ..Raw::new(error.to_string()) }
}

/// The value that a failure carries, if it reads as an `E`.
pub(crate) fn details<E: DeserializeOwned>(raw: &Raw) -> Option<E> {
    serde_json::from_slice(raw.details.as_ref()?.bytes.as_slice()).ok()
}

/// The kind of a failure that stands for a panic.
const PANIC: &str = "panic";
/// The kind of a failure that stands for a limit that was passed.
const TIMED_OUT: &str = "TimedOut";

const LIMITS: [(Timeout, &str); 4] = [
    (Timeout::ScheduleToStart, "schedule_to_start"),
    (Timeout::StartToClose, "start_to_close"),
    (Timeout::ScheduleToClose, "schedule_to_close"),
    (Timeout::Heartbeat, "heartbeat"),
];

/// A stored failure as what it was.
pub(crate) fn failed<E: Carried>(raw: Raw) -> Ended<E> {
    if raw.kind == PANIC {
        return Ended::Panicked(Failure(raw));
    }
    if raw.kind == TIMED_OUT
        && let Some(word) = details::<String>(&raw)
        && let Some((limit, _)) = LIMITS.iter().find(|(_, name)| *name == word)
    {
        return Ended::TimedOut(*limit);
    }
    match E::from_raw(raw) {
        Ok(error) => Ended::Failed(error),
        Err(raw) => Ended::Broken(Failure(raw)),
    }
}

/// A passed limit as a failure that [`failed`] recognises.
pub(crate) fn timed_out(limit: Timeout, message: String) -> Raw {
    let word = LIMITS.iter().find(|(known, _)| *known == limit).map_or("", |(_, word)| word);
    let details = Some(Payload::json(format!("{word:?}")));
    Raw { details, ..Raw::new(message).kind(TIMED_OUT) }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, PartialEq, thiserror::Error, Serialize, serde::Deserialize)]
    enum PayError {
        #[error("the card was declined after {0} cents")]
        Declined(u64),
    }

    #[test]
    fn an_error_keeps_its_type_on_the_way() {
        let raw = PayError::Declined(7).into_raw();
        assert_eq!(
            (raw.kind.as_str(), raw.message.as_str()),
            ("PayError", "the card was declined after 7 cents")
        );
        assert_eq!(failed::<PayError>(raw), Ended::Failed(PayError::Declined(7)));
    }

    #[test]
    fn what_is_not_of_that_type_is_kept_as_it_is() {
        let raw = raw(&io::Error::other("no network"));
        assert_eq!(raw.kind, "Error");
        assert_eq!(failed::<PayError>(raw.clone()), Ended::Broken(Failure(raw)));
    }

    #[test]
    fn panics_and_limits_are_told_apart_from_errors() {
        let panic = Raw::new("boom").kind(PANIC);
        assert_eq!(failed::<PayError>(panic.clone()), Ended::Panicked(Failure(panic)));
        for (limit, _) in LIMITS {
            assert_eq!(
                failed::<Failure>(timed_out(limit, "late".to_owned())),
                Ended::TimedOut(limit)
            );
        }
    }
}
