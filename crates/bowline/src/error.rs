//! What a workflow ends with, if not with a value.

use std::{error::Error as StdError, fmt};

use crate::{Ended, Failure, Stopped, carry};

/// What workflows return, and what activities may return.
pub type Result<T, E = Failure> = std::result::Result<T, Error<E>>;

/// How a workflow ends, if not with a value. `?` or `.into()` makes it from the [`Ended`] of a
/// call, from a [`Stopped`] scope, or from a `std::error::Error`; what was cancelled stays
/// cancelled.
///
/// It is not a `std::error::Error`, so that no `?` turns a cancel into a failure elsewhere.
pub struct Error<E = Failure>(pub(crate) Ended<E>);

impl<E> Error<E> {
    /// Says how it ended.
    pub fn ended(&self) -> &Ended<E> {
        &self.0
    }

    /// Says how it ended.
    pub fn into_ended(self) -> Ended<E> {
        self.0
    }
}

/// `Ok` of [`Result<T>`], for places where the compiler cannot infer the error's type.
#[expect(non_snake_case, reason = "it stands for the variant")]
pub fn Ok<T>(value: T) -> Result<T> {
    Result::Ok(value)
}

impl<E, W: From<E>> From<Ended<E>> for Error<W> {
    fn from(ended: Ended<E>) -> Self {
        Self(ended.map(W::from))
    }
}

impl<W: StdError> From<W> for Error<W> {
    fn from(error: W) -> Self {
        Self(Ended::Failed(error))
    }
}

impl<E: StdError> From<E> for Error<Failure> {
    fn from(error: E) -> Self {
        Self(Ended::Failed(Failure(carry::raw(&error))))
    }
}

impl From<Failure> for Error<Failure> {
    fn from(failure: Failure) -> Self {
        Self(Ended::Failed(failure))
    }
}

impl<W> From<Stopped<W>> for Error<W> {
    fn from(stopped: Stopped<W>) -> Self {
        Self(stopped.into_why())
    }
}

impl<E: fmt::Debug> fmt::Debug for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
