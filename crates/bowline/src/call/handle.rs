//! A call that was made and runs beside.

use std::{
    marker::PhantomData,
    pin::Pin,
    task::{self, Poll},
};

use bowline_engine::core::{ActivitySpec, Cause, ChildSpec, Code, Failure as Raw, Payload};
use bowline_replay::{Delay, Ended as Untyped, Handle as Untold};
use serde::de::DeserializeOwned;

use super::{What, named};
use crate::{
    Ctx, Ended, Outcome,
    carry::Carried,
    ended::{self, broken},
    value,
};

/// A call that was made and runs concurrently. Await it for the outcome. Dropping it before that
/// cancels the call.
#[must_use = "dropping the handle cancels the call: keep it, await it, or `.detach()` it"]
pub struct Handle<T, E> {
    ctx: Ctx,
    what: What,
    inner: Inner,
    types: PhantomData<fn() -> (T, E)>,
}

pub(crate) enum Inner {
    Activity(Untold<ActivitySpec>),
    Child(Untold<ChildSpec>),
    Timer(Untold<Delay>),
    Refused(Box<Raw>),
}

impl<T, E> Handle<T, E> {
    pub(crate) fn new(ctx: Ctx, what: What, inner: Inner) -> Self {
        Self { ctx, what, inner, types: PhantomData }
    }

    /// Cancels the call. Await the handle to see how it really ends, once nothing of it is running:
    /// that may be a success, if the cancel came too late.
    pub fn cancel(self) -> Self {
        self.cancel_because(Cause::new(Code::Requested))
    }

    /// Like [`cancel`](Self::cancel), with a reason in words.
    pub fn cancel_with(self, reason: impl Into<String>) -> Self {
        self.cancel_because(Cause::new(Code::Requested).detail(reason))
    }

    fn cancel_because(self, cause: Cause) -> Self {
        let inner = match self.inner {
            Inner::Activity(handle) => Inner::Activity(handle.cancel_because(cause)),
            Inner::Child(handle) => Inner::Child(handle.cancel_because(cause)),
            Inner::Timer(handle) => Inner::Timer(handle.cancel_because(cause)),
            refused @ Inner::Refused(_) => refused,
        };
        Self { inner, ..self }
    }

    /// Lets go of the call: you do not learn how it ends, nothing cancels it, and it outlives the
    /// run.
    ///
    /// # Panics
    /// If its input cannot be written as JSON: you would not hear of that otherwise.
    pub fn detach(self) {
        match self.inner {
            Inner::Activity(handle) => drop(handle.detach()),
            Inner::Child(handle) => drop(handle.detach()),
            Inner::Timer(handle) => drop(handle.detach()),
            // A second panic would be the end of the process.
            Inner::Refused(raw) => assert!(std::thread::panicking(), "{raw}"),
        }
    }

    /// Returns the number by which histories, and [`cancel_one`](crate::AnyRun::cancel_one), know
    /// the call.
    pub fn number(&self) -> Option<u64> {
        match &self.inner {
            Inner::Activity(handle) => Some(handle.number().0),
            Inner::Child(handle) => Some(handle.number().0),
            Inner::Timer(handle) => Some(handle.number().0),
            Inner::Refused(_) => None,
        }
    }
}

impl<T: DeserializeOwned, E: Carried> Future for Handle<T, E> {
    type Output = Outcome<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Outcome<T, E>> {
        let this = &mut *self;
        let polled = match &mut this.inner {
            Inner::Activity(handle) => Pin::new(handle).poll(cx).map(ended::of_activity),
            Inner::Child(handle) => Pin::new(handle).poll(cx).map(of_child),
            Inner::Timer(handle) => Pin::new(handle).poll(cx).map(of_timer),
            Inner::Refused(raw) => Poll::Ready(Err(broken((**raw).clone()))),
        };
        polled.map_err(|ended| named(ended, &this.ctx, &this.what))
    }
}

/// The end of a child, with its types.
pub(crate) fn of_child<T: DeserializeOwned, E: Carried>(
    end: Result<Option<Payload>, Untyped>,
) -> Outcome<T, E> {
    match end {
        Ok(result) => value::decode(result.as_ref()).map_err(broken),
        Err(ended) => Err(Ended::typed(ended)),
    }
}

fn of_timer<T: DeserializeOwned, E>(end: Result<(), Cause>) -> Outcome<T, E> {
    match end {
        Ok(()) => value::decode(None).map_err(broken),
        Err(cause) => Err(Ended::Cancelled(cause)),
    }
}
