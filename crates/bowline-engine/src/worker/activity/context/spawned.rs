//! The other end of what an activity started beside itself.

use std::{
    error, fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bowline_core::Failure;
use tokio::sync::oneshot;

/// Something that runs concurrently with the activity's code: await it for its result. If you drop
/// it, it runs on until the activity ends.
#[derive(Debug)]
pub struct Spawned<T>(oneshot::Receiver<Result<T, Gone>>);

impl<T> Spawned<T> {
    pub(super) fn new(receiver: oneshot::Receiver<Result<T, Gone>>) -> Self {
        Self(receiver)
    }
}

impl<T> Future for Spawned<T> {
    type Output = Result<T, Gone>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|end| end.unwrap_or(Err(Gone::Stopped)))
    }
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gone {
    /// It was stopped, or never began, because the activity had ended.
    Stopped,
    /// It panicked.
    Panicked(Box<Failure>),
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped with its activity"),
            Self::Panicked(failure) => write!(f, "panicked: {}", failure.message),
        }
    }
}

impl error::Error for Gone {}
