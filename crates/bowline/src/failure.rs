//! What code ended with when it did not end well, for those who name no type of their own.

use std::{error::Error as StdError, fmt};

use bowline_engine::core::Failure as Raw;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    carry::{self, Carried},
    name,
};

/// An error of user code as it is stored: a message, a kind, and its sources.
///
/// `?` makes it from any `std::error::Error`, and [`Failure::new`] from a text. It is not a
/// `std::error::Error` itself; [`Failure::into_error`] turns it into one.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure(pub(crate) Raw);

impl Failure {
    /// Makes a failure with nothing but a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Raw::new(message))
    }

    /// Names its kind, which retry policies can refer to.
    pub fn of_kind(self, kind: impl Into<String>) -> Self {
        Self(self.0.kind(kind))
    }

    /// What happened, for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The name of the error's type, for programs; empty if there is none.
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// Where it happened, as `file:line:column`, if known.
    pub fn location(&self) -> Option<&str> {
        Some(self.0.trace.as_str()).filter(|place| !place.is_empty())
    }

    /// The error that caused it.
    pub fn source(&self) -> Option<Self> {
        self.0.source.as_deref().cloned().map(Self)
    }

    /// Returns the error that it was made of, if that was an `E` that could be stored.
    pub fn downcast<E: DeserializeOwned>(&self) -> Option<E> {
        (self.0.kind == name::kind::<E>()).then(|| carry::details(&self.0)).flatten()
    }

    /// Turns it into a `std::error::Error`.
    pub fn into_error(self) -> FailureError {
        FailureError(self)
    }
}

/// Any error that can be stored; [`downcast`](Failure::downcast) gives it back.
impl<E: StdError + Serialize + DeserializeOwned + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into_raw())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        match self.location() {
            Some(place) => write!(f, " at {place}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure[{self}]")
    }
}

/// A [`Failure`] where a `std::error::Error` is wanted.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct FailureError(Failure);

impl FailureError {
    /// Returns the failure.
    pub fn failure(&self) -> &Failure {
        &self.0
    }
}
