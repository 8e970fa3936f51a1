//! One thing of a run is cancelled: what the request met is said by its answer.

use bowline_core::{Address, Event, EventId, EventKind, Message, RunId, Status};

use super::CancelRequest;
use crate::{Error, Result, engine::EngineInner};

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
