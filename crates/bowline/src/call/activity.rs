//! An activity is called.

use std::{
    marker::PhantomData,
    pin::Pin,
    task::{self, Poll},
    time::Duration,
};

use bowline_engine::core::{ActivitySpec, Failure as Raw, Name, Queue, Span};
use bowline_replay::Call;
use serde::de::DeserializeOwned;

use super::{Handle, Stage, What, handle::Inner, named};
use crate::{
    Ctx, Outcome, Retry,
    carry::Carried,
    ended::{self, broken},
};

/// A call of an activity that has not been made yet. Await it, or [`start`](Self::start) it.
#[must_use = "an activity does nothing until it is awaited: add `.await`, or `.start()`"]
pub struct ActivityCall<T, E> {
    ctx: Ctx,
    what: What,
    stage: Stage<ActivitySpec>,
    /// Its input was changed on purpose.
    mended: bool,
    types: PhantomData<fn() -> (T, E)>,
}

impl<T, E> ActivityCall<T, E> {
    pub(crate) fn new(ctx: &Ctx, spec: ActivitySpec) -> Self {
        let what = What::Activity(spec.name.clone());
        let stage = Stage::Described(Box::new(spec));
        Self { ctx: ctx.clone(), what, stage, mended: false, types: PhantomData }
    }

    pub(crate) fn refused(ctx: &Ctx, raw: Raw) -> Self {
        let stage = Stage::Refused(Box::new(raw));
        let what = What::Activity(Name::default());
        Self { ctx: ctx.clone(), what, stage, mended: false, types: PhantomData }
    }

    fn call(ctx: &Ctx, spec: Box<ActivitySpec>, mended: bool) -> Call<ActivitySpec> {
        let call = ctx.inner().activity(spec);
        if mended { call.mended() } else { call }
    }

    fn with(mut self, change: impl FnOnce(&mut ActivitySpec)) -> Self {
        self.stage.change(change);
        self
    }

    /// Limits how long one attempt may run.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|spec| spec.timeouts.start_to_close = Some(Span(limit)))
    }

    /// Limits how long all attempts together may take, waiting included.
    pub fn total_timeout(self, limit: Duration) -> Self {
        self.with(|spec| spec.timeouts.schedule_to_close = Some(Span(limit)))
    }

    /// Limits how long an attempt may wait in its queue.
    pub fn queue_timeout(self, limit: Duration) -> Self {
        self.with(|spec| spec.timeouts.schedule_to_start = Some(Span(limit)))
    }

    /// Limits how long a running attempt may go without a heartbeat.
    pub fn heartbeat_timeout(self, limit: Duration) -> Self {
        self.with(|spec| spec.timeouts.heartbeat = Some(Span(limit)))
    }

    /// Retries failures by this policy. Without one, an error that the code returns is final.
    pub fn retry(self, retry: Retry) -> Self {
        self.with(|spec| spec.retry = Some(retry.0))
    }

    /// Sends the call to this queue.
    pub fn queue(self, queue: impl Into<String>) -> Self {
        self.with(|spec| spec.queue = Queue::from(queue.into()))
    }

    /// Sets how long the code has to stop by itself after a cancel, before its future is dropped;
    /// ten seconds by default.
    pub fn grace(self, grace: Duration) -> Self {
        self.with(|spec| spec.ladder.grace = Span(grace))
    }

    /// Sets how long after its future was dropped its process group is killed and, after the same
    /// time again, it is given up as leaked.
    pub fn grace_step(self, step: Duration) -> Self {
        self.with(|spec| spec.ladder.step = Span(step))
    }

    /// Gives the code up at once after the grace period, without dropping or killing it.
    pub fn detach_when_ignored(self) -> Self {
        self.with(|spec| spec.ladder.detach = true)
    }

    /// Says that you changed the input on purpose. A run that made the call before the change keeps
    /// the outcome it had; without this it is parked, because inputs are compared with the history.
    /// Runs that get here from now on are not affected.
    pub fn mended(mut self) -> Self {
        self.mended = true;
        self
    }

    /// Makes the call now. Runs concurrently; await the handle for the outcome.
    pub fn start(self) -> Handle<T, E> {
        let inner = match self.stage {
            Stage::Described(spec) => {
                Inner::Activity(Self::call(&self.ctx, spec, self.mended).start())
            }
            Stage::Made(call) => Inner::Activity(call.start()),
            Stage::Refused(raw) => Inner::Refused(raw),
            Stage::Over => panic!("a call is not started after its end"),
        };
        Handle::new(self.ctx, self.what, inner)
    }

    /// Makes the call now and lets go of it: you do not learn how it ends, nothing cancels it, and
    /// it outlives the run.
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

impl<T: DeserializeOwned, E: Carried> Future for ActivityCall<T, E> {
    type Output = Outcome<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Outcome<T, E>> {
        let this = &mut *self;
        let call = |spec| Self::call(&this.ctx, spec, this.mended);
        this.stage.poll(call, cx).map(|end| match end {
            Ok(outcome) => {
                ended::of_activity(outcome).map_err(|ended| named(ended, &this.ctx, &this.what))
            }
            Err(raw) => Err(broken(raw)),
        })
    }
}
