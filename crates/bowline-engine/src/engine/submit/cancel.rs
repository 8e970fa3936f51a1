//! Requests to cancel: a run with everything below it, or one thing of a run.

use std::time::Duration;

use bowline_core::{
    Address, Cancel, Cause, Event, EventId, EventKind, Identity, Ladder, Ladders, Message,
    ReceiptId, RequestId, RunId, RunLadder, Span, Status, limits::SPAN_MAX,
};

use super::Prepared;
use crate::{Error, Result, engine::EngineInner};

/// Who asks for a cancel, why, under which request, and how hard they push.
#[derive(Clone, Debug, Default)]
pub struct CancelRequest {
    /// Why, in words.
    pub reason: String,
    /// Who asks.
    pub by: Identity,
    /// The request, so that its repetition counts once.
    pub request_id: RequestId,
    /// Runs that stay open for so long after they were asked are terminated, whatever they were
    /// started with.
    pub terminate_after: Option<Duration>,
    /// How running activities are stopped, whatever they say themselves.
    pub ladder: Option<Ladder>,
}

impl CancelRequest {
    /// A request with a reason.
    pub fn new(reason: impl Into<String>, by: impl Into<Identity>) -> Self {
        Self { reason: reason.into(), by: by.into(), ..Self::default() }
    }

    /// The same request, with the time after which runs that stay open are terminated. It holds
    /// for every run that the cancel reaches. Where a cancel stands already it may only hasten.
    pub fn terminate_after(self, span: Duration) -> Self {
        Self { terminate_after: Some(span), ..self }
    }

    /// The same request, with the ladder of the activities that the cancel reaches. Where a cancel
    /// stands already it may only hasten.
    pub fn ladder(self, ladder: Ladder) -> Self {
        Self { ladder: Some(ladder), ..self }
    }

    fn cause(&self) -> Result<Cause> {
        let spans = [self.terminate_after, self.ladder.map(|ladder| ladder.grace.0)];
        let spans = spans.into_iter().chain([self.ladder.map(|ladder| ladder.step.0)]);
        if spans.flatten().any(|span| span > SPAN_MAX) {
            let why = "a wait of the cancel's ladder is longer than a hundred years";
            return Err(Error::Invalid(why.into()));
        }
        let run = self.terminate_after.map(|span| RunLadder { terminate_after: Span(span) });
        let ladders = Ladders { run, activities: self.ladder, hastens: false };
        let ladders = Some(Box::new(ladders)).filter(|own| **own != Ladders::default());
        let request_id = Some(self.request_id.clone()).filter(|id| !id.is_empty());
        let cause = Cause::requested(self.reason.clone(), self.by.clone());
        Ok(Cause { request_id, ladders, ..cause })
    }
}

/// What a request to cancel one thing met. All of them are a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelledOne {
    /// It is open, and is asked to stop.
    Asked,
    /// It is being cancelled already: the first cause stays, and it may be pushed harder.
    Again,
    /// It has its outcome already.
    Over,
    /// Its run is closed, and it went with that.
    Closed(Status),
}

impl EngineInner {
    /// A request that asks a run to cancel.
    pub(crate) fn prepare_cancel(
        &self,
        to: Address,
        request: CancelRequest,
    ) -> Result<Prepared<ReceiptId>> {
        let cause = request.cause()?;
        let cancel = Cancel {
            cause: cause.clone(),
            request_id: request.request_id,
            external: None,
            wire: None,
        };
        Ok(self.with_receipt(to, Message::Cancel(Box::new(cancel)), cause))
    }

    /// Cancels one activity, timer or child of a run.
    pub(crate) async fn cancel_one(
        &self,
        run: RunId,
        target: EventId,
        request: CancelRequest,
    ) -> Result<CancelledOne> {
        let cause = request.cause()?;
        let met = self.meet(run, target).await?;
        if matches!(met, CancelledOne::Over | CancelledOne::Closed(_)) {
            return Ok(met);
        }
        let message = Message::CancelOne(target, cause);
        match self.post_message(Address::Run(run), message).await {
            Ok(_) => Ok(met),
            // It closed just now.
            Err(Error::Closed { status, .. }) => Ok(CancelledOne::Closed(status)),
            Err(error) => Err(error),
        }
    }

    /// What the request will meet, if the run has or had such a target.
    async fn meet(&self, run: RunId, target: EventId) -> Result<CancelledOne> {
        let (head, draft, _) = self.draft(run).await?;
        if let Some(open) = draft.cancel_target(target)? {
            return Ok(if open.again { CancelledOne::Again } else { CancelledOne::Asked });
        }
        match self.history(run).await?.iter().any(|event| is_target(event, target)) {
            true if head.status.is_open() => Ok(CancelledOne::Over),
            true => Ok(CancelledOne::Closed(head.status)),
            false => Err(Error::NoSuchTarget { run, target }),
        }
    }
}

fn is_target(event: &Event, target: EventId) -> bool {
    use EventKind as K;
    event.id == target
        && matches!(event.kind, K::ActivityScheduled(_) | K::TimerStarted(_) | K::ChildInitiated(_))
}
