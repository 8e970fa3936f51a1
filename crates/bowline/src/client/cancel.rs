//! A run is asked to cancel.

use std::pin::Pin;

use bowline_engine::{CancelRequest, core::Address};

use super::{AnyRun, ClientError, Receipt};

/// A cancel request that was not sent yet: await it for its [`Receipt`].
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

    /// Who asks, for history and for the code that is stopped.
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.request.by = who.into().into();
        self
    }

    /// Names this request: sent twice, it counts once.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request.request_id = id.into().into();
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
