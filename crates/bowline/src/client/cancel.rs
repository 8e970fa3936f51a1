//! A run is asked to cancel, or terminated.

use std::{pin::Pin, time::Duration};

use bowline_engine::{
    CancelRequest, CancelledOne,
    core::{Address, Cause, EventId, Ladder, Span},
};

use super::{AnyRun, ClientError, Receipt};

/// A cancel that has not been requested yet: await it for its [`Receipt`].
#[must_use = "a cancel is requested when this is awaited: add `.await`"]
pub struct CancelCall {
    run: AnyRun,
    to: Address,
    request: CancelRequest,
}

impl CancelCall {
    pub(crate) fn new(run: AnyRun, to: Address, reason: String) -> Self {
        Self { run, to, request: CancelRequest::new(reason, "") }
    }

    /// Says who asks, for the history and for the code that is stopped.
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.request.by = who.into().into();
        self
    }

    /// Names this request: if you send it twice, it counts once.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request.request_id = id.into().into();
        self
    }

    /// Sets how long running activities have to stop by themselves before their futures are
    /// dropped. This replaces the ladder they were called with as a whole: the usual steps follow
    /// the grace period, also for those that were to be detached. If the run is already being
    /// cancelled, a new request can only make it faster.
    pub fn grace(mut self, grace: Duration) -> Self {
        let ladder = self.request.ladder.unwrap_or_default();
        self.request.ladder = Some(Ladder { grace: Span(grace), ..ladder });
        self
    }

    /// Terminates every run that the cancel reaches and that is still open after this long. If the
    /// run is already being cancelled, a new request can only make it faster.
    pub fn terminate_after(mut self, after: Duration) -> Self {
        self.request.terminate_after = Some(after);
        self
    }

    /// Where it goes, and what it says.
    pub(crate) fn prepare(self) -> (AnyRun, Address, CancelRequest) {
        (self.run, self.to, self.request)
    }

    async fn send(self) -> Result<Receipt, ClientError> {
        let (run, to, request) = self.prepare();
        match run.bowline().engine().cancel(to, request).await {
            Ok(id) => Ok(Receipt::new(run.bowline().clone(), id)),
            Err(error) => Err(run.missing(error)),
        }
    }
}

impl IntoFuture for CancelCall {
    type Output = Result<Receipt, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// A cancel of one activity, timer or child that has not been requested yet: await it.
#[must_use = "a cancel is requested when this is awaited: add `.await`"]
pub struct CancelOneCall {
    run: AnyRun,
    target: EventId,
    request: CancelRequest,
}

impl CancelOneCall {
    pub(crate) fn new(run: AnyRun, number: u64, reason: String) -> Self {
        Self { run, target: EventId(number), request: CancelRequest::new(reason, "") }
    }

    /// Says who asks, for the history and for the code that is stopped.
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.request.by = who.into().into();
        self
    }

    async fn send(self) -> Result<CancelledOne, ClientError> {
        let run = self.run.head().await?.run;
        let engine = self.run.bowline().engine();
        let asked = engine.cancel_one(run, self.target, self.request).await;
        asked.map_err(|error| self.run.missing(error))
    }
}

impl IntoFuture for CancelOneCall {
    type Output = Result<CancelledOne, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// A termination that has not been requested yet: await it for its [`Receipt`].
#[must_use = "a run is terminated when this is awaited: add `.await`"]
pub struct TerminateCall {
    run: AnyRun,
    to: Address,
    cause: Cause,
}

impl TerminateCall {
    pub(crate) fn new(run: AnyRun, to: Address, reason: String) -> Self {
        Self { run, to, cause: Cause::requested(reason, "") }
    }

    /// Says who asks, for the history.
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.cause.requested_by = who.into().into();
        self
    }

    async fn send(self) -> Result<Receipt, ClientError> {
        let Self { run, to, cause } = self;
        match run.bowline().engine().terminate(to, cause).await {
            Ok(id) => Ok(Receipt::new(run.bowline().clone(), id)),
            Err(error) => Err(run.missing(error)),
        }
    }
}

impl IntoFuture for TerminateCall {
    type Output = Result<Receipt, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
