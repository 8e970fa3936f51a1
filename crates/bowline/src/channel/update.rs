//! Updates: requests that want an answer.

use std::marker::PhantomData;

use bowline_replay::{Offer, Request, Updates as Inner};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Failure, carry::Carried, value};

/// The name and types of an update:
/// `const RAISE: Update<u64, u64, Failure> = Update::new("raise");`
pub struct Update<I, T, E = Failure> {
    name: &'static str,
    types: PhantomData<fn(I) -> (T, E)>,
}

impl<I, T, E> Update<I, T, E> {
    /// The update of that name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, types: PhantomData }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl<I, T, E> Clone for Update<I, T, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, T, E> Copy for Update<I, T, E> {}

/// The updates of one name that a run was sent; see [`Ctx::update`](crate::Ctx::update).
pub struct Updates<I, T, E> {
    inner: Inner,
    types: PhantomData<fn(I) -> (T, E)>,
}

impl<I, T, E> Updates<I, T, E> {
    pub(crate) fn new(inner: Inner) -> Self {
        Self { inner, types: PhantomData }
    }
}

impl<I: DeserializeOwned, T, E> Updates<I, T, E> {
    /// Waits for the next update and accepts it. An update whose input does not read as an `I` is
    /// refused by itself.
    pub async fn recv(&mut self) -> Asked<I, T, E> {
        self.offered().await.accept()
    }

    /// Waits for the next update, for you to accept or refuse.
    pub async fn offered(&mut self) -> Offered<I, T, E> {
        loop {
            let offer = self.inner.offered().await;
            match value::decode(offer.request().input.as_ref()) {
                Ok(input) => return Offered { input, offer, types: PhantomData },
                Err(failure) => offer.reject(failure),
            }
        }
    }
}

/// An update that waits for your decision. If you drop it, it is refused, without a trace in the
/// history.
#[must_use = "an update that is dropped is refused"]
pub struct Offered<I, T, E> {
    /// The input of the update.
    pub input: I,
    offer: Offer,
    types: PhantomData<fn() -> (T, E)>,
}

impl<I, T, E> Offered<I, T, E> {
    /// Accepts it: you owe it an answer now.
    pub fn accept(self) -> Asked<I, T, E> {
        Asked { input: self.input, request: self.offer.accept(), types: PhantomData }
    }
}

impl<I, T, E: Carried> Offered<I, T, E> {
    /// Refuses it with this error.
    pub fn refuse(self, error: E) {
        self.offer.reject(error.into_raw());
    }
}

/// An accepted update that waits for your answer. If you drop it, it is answered with a failure.
#[must_use = "an update that is dropped is answered with a failure"]
pub struct Asked<I, T, E> {
    /// The input of the update.
    pub input: I,
    request: Request,
    types: PhantomData<fn() -> (T, E)>,
}

impl<I, T: Serialize, E: Carried> Asked<I, T, E> {
    /// Answers it.
    pub fn reply(self, answer: Result<T, E>) {
        let answer = match answer {
            Ok(value) => value::encode(&value),
            Err(error) => Err(error.into_raw()),
        };
        self.request.reply(answer);
    }
}
