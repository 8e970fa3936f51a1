//! Signals.

use std::marker::PhantomData;

use bowline_replay::Signals as Inner;
use serde::de::DeserializeOwned;

use crate::value;

/// The name and type of a signal: `const APPROVE: Signal<bool> = Signal::new("approve");`
pub struct Signal<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> Signal<T> {
    /// The signal of that name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Signal<T> {}

/// The signals of one name that a run was sent; see [`Ctx::signal`](crate::Ctx::signal).
pub struct Signals<T> {
    inner: Inner,
    value: PhantomData<fn() -> T>,
}

impl<T> Signals<T> {
    pub(crate) fn new(inner: Inner) -> Self {
        Self { inner, value: PhantomData }
    }

    /// Returns how many signals have arrived and were not received yet.
    pub fn waiting(&self) -> usize {
        self.inner.waiting()
    }
}

impl<T: DeserializeOwned> Signals<T> {
    /// Waits for the next signal. Dropping the future loses none. A signal that does not read as a
    /// `T` is skipped, with an error in the log: its sender did not use this constant.
    pub async fn recv(&mut self) -> T {
        loop {
            let signal = self.inner.recv().await;
            if let Some(value) = read(&signal) {
                return value;
            }
        }
    }

    /// Returns the next signal, if one has arrived.
    pub fn try_recv(&mut self) -> Option<T> {
        loop {
            let signal = self.inner.try_recv()?;
            if let Some(value) = read(&signal) {
                return Some(value);
            }
        }
    }
}

fn read<T: DeserializeOwned>(signal: &bowline_engine::core::WorkflowSignalled) -> Option<T> {
    match value::decode(signal.input.as_ref()) {
        Ok(value) => Some(value),
        Err(failure) => {
            tracing::error!(signal = %signal.name, %failure, "an unreadable signal is skipped");
            None
        }
    }
}
