//! A child is started.

use std::{
    marker::PhantomData,
    pin::Pin,
    task::{self, Poll},
    time::Duration,
};

use bowline_engine::core::{ChildSpec, Failure as Raw, Name, ParentClose, Span};
use bowline_replay::Call;
use serde::de::DeserializeOwned;

use super::{
    Handle, Stage, What,
    handle::{Inner, of_child},
    named,
};
use crate::{Ctx, Outcome, Retry, carry::Carried, ended::broken};

/// A child that has not been started yet. Await it, or [`start`](Self::start) it.
#[must_use = "a child does nothing until it is awaited: add `.await`, or `.start()`"]
pub struct ChildCall<T, E> {
    ctx: Ctx,
    what: What,
    stage: Stage<ChildSpec>,
    /// Its input was changed on purpose.
    mended: bool,
    types: PhantomData<fn() -> (T, E)>,
}

impl<T, E> ChildCall<T, E> {
    pub(crate) fn new(ctx: &Ctx, spec: ChildSpec) -> Self {
        let what = What::Child(spec.name.clone());
        let stage = Stage::Described(Box::new(spec));
        Self { ctx: ctx.clone(), what, stage, mended: false, types: PhantomData }
    }

    pub(crate) fn refused(ctx: &Ctx, raw: Raw) -> Self {
        let stage = Stage::Refused(Box::new(raw));
        let what = What::Child(Name::default());
        Self { ctx: ctx.clone(), what, stage, mended: false, types: PhantomData }
    }

    fn call(ctx: &Ctx, spec: Box<ChildSpec>, mended: bool) -> Call<ChildSpec> {
        let call = ctx.inner().child(spec);
        if mended { call.mended() } else { call }
    }

    fn with(mut self, change: impl FnOnce(&mut ChildSpec)) -> Self {
        self.stage.change(change);
        self
    }

    /// Sets its workflow id. Without one, the id is made of its parent's id and its number. If you
    /// start a workflow again under the id of an earlier run whose detached children may still be
    /// open, give the children ids of their own: two open runs never share one.
    pub fn id(self, workflow_id: impl Into<String>) -> Self {
        self.with(|spec| spec.workflow_id = workflow_id.into().into())
    }

    /// Limits how long its run may take; after that it is closed as timed out, without clean-up.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|spec| spec.run_timeout = Some(Span(limit)))
    }

    /// Retries its failures by this policy.
    pub fn retry(self, retry: Retry) -> Self {
        self.with(|spec| spec.retry = Some(retry.0))
    }

    /// Says what becomes of it if the parent closes first; by default it is cancelled.
    pub fn parent_close(self, close: ParentClose) -> Self {
        self.with(|spec| spec.close = close)
    }

    /// Says that you changed the input on purpose. A run that made the call before the change keeps
    /// the outcome it had; without this it is parked, because inputs are compared with the history.
    /// Runs that get here from now on are not affected.
    pub fn mended(mut self) -> Self {
        self.mended = true;
        self
    }

    /// Starts it now. Runs concurrently; await the handle for the outcome.
    pub fn start(self) -> Handle<T, E> {
        let inner = match self.stage {
            Stage::Described(spec) => {
                Inner::Child(Self::call(&self.ctx, spec, self.mended).start())
            }
            Stage::Made(call) => Inner::Child(call.start()),
            Stage::Refused(raw) => Inner::Refused(raw),
            Stage::Over => panic!("a child is not started after its end"),
        };
        Handle::new(self.ctx, self.what, inner)
    }

    /// Starts it now and lets go of it: you do not learn how it ends, nothing cancels it, and it
    /// outlives the run.
    ///
    /// # Panics
    /// If its input cannot be written as JSON.
    pub fn detach(self) {
        match self.stage {
            Stage::Described(spec) => {
                Self::call(&self.ctx, spec, self.mended).detach();
            }
            Stage::Made(call) => {
                call.detach();
            }
            // A second panic would be the end of the process.
            Stage::Refused(raw) => assert!(std::thread::panicking(), "{raw}"),
            Stage::Over => {}
        }
    }
}

impl<T: DeserializeOwned, E: Carried> Future for ChildCall<T, E> {
    type Output = Outcome<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Outcome<T, E>> {
        let this = &mut *self;
        let call = |spec| Self::call(&this.ctx, spec, this.mended);
        this.stage.poll(call, cx).map(|end| match end {
            Ok(end) => of_child(end).map_err(|ended| named(ended, &this.ctx, &this.what)),
            Err(raw) => Err(broken(raw)),
        })
    }
}
