//! The only way to write: messages enter inboxes, and decisions leave as commits.
//!
//! In:    what a door asks for, or what a turn decided.
//! Out:   durable rows; then slots, waiters and workers are told.
//! Never: knows what a cancel is. The same corridor serves signals, outcomes and alarms.

mod fold;
mod start;

use std::sync::Arc;

use bowline_core::{
    Address, Cancel, Cause, Decided, EventId, Fence, Identity, Message, ReceiptId, RequestId,
    RunId, Signal, Terminate, Version,
};
use bowline_store::{
    Commit, Committed, Error as StoreError, NewReceipt, Posted, Posting, Quarantine, RunKey,
};
pub use start::StartOptions;

use super::Core;
use crate::{Error, Result, limits};

/// A decision about a run, on its way to the store.
#[derive(Clone, Debug)]
pub(crate) struct TurnCommit {
    pub(crate) run: RunId,
    pub(crate) fence: Option<Fence>,
    pub(crate) expected: Version,
    pub(crate) decided: Decided,
    pub(crate) release: bool,
}

/// Who asks for a cancel, why, and under which request.
#[derive(Clone, Debug, Default)]
pub struct CancelRequest {
    /// Why, in words.
    pub reason: String,
    /// Who asks.
    pub by: Identity,
    /// The request, so that its repetition counts once.
    pub request_id: RequestId,
}

impl CancelRequest {
    /// A request with a reason.
    pub fn new(reason: impl Into<String>, by: impl Into<Identity>) -> Self {
        Self { reason: reason.into(), by: by.into(), request_id: RequestId::default() }
    }

    fn cause(&self) -> Cause {
        let request_id = Some(self.request_id.clone()).filter(|id| !id.is_empty());
        Cause { request_id, ..Cause::requested(self.reason.clone(), self.by.clone()) }
    }
}

impl Core {
    /// Tries a store call again while that may help. An outcome that stays unknown is reported:
    /// a message may then have been taken, which its request id makes harmless to repeat.
    pub(crate) async fn retrying<T, F>(&self, call: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = bowline_store::Result<T>>,
    {
        let mut pause = limits::STORE_PAUSE;
        for _ in 1..limits::STORE_TRIES {
            match call().await {
                Err(error) if error.passes() => {
                    tracing::warn!(%error, "the store did not answer well; trying again");
                }
                done => return Ok(done?),
            }
            self.clock.sleep_until(self.now().after(pause)).await;
            pause *= 2;
        }
        Ok(call().await?)
    }

    /// Puts a message into an inbox.
    pub(crate) async fn post_message(
        &self,
        to: Address,
        message: Message,
        receipt: Option<NewReceipt>,
    ) -> Result<Posted> {
        let posting = Posting::Message { to, message, now: self.now(), receipt };
        self.post(posting).await
    }

    pub(crate) async fn post(&self, posting: Posting) -> Result<Posted> {
        self.retrying(|| {
            let posted = self.store.post(vec![posting.clone()]);
            async move { posted.await.pop().unwrap_or(Err(StoreError::Shut)) }
        })
        .await
    }

    /// Sends a signal.
    pub(crate) async fn signal(&self, to: Address, signal: Signal) -> Result<RunId> {
        let text = signal.name.as_str();
        if text.is_empty() || text.len() > bowline_core::limits::TEXT_MAX {
            return Err(Error::Invalid("a signal needs a name of at most 1,000 bytes".into()));
        }
        if signal.input.as_ref().is_some_and(|p| p.len() > bowline_core::limits::PAYLOAD_MAX) {
            return Err(Error::Invalid("the signal's input is larger than 2 MiB".into()));
        }
        match self.post_message(to, Message::Signal(Box::new(signal)), None).await? {
            Posted::Delivered(run, _) | Posted::Repeated(run) => Ok(run),
            other => Err(Error::Invalid(format!("unexpected answer to a signal: {other:?}"))),
        }
    }

    /// Asks a run to cancel. A run that is closed already is a success: the receipt says so.
    pub(crate) async fn cancel(&self, to: Address, request: CancelRequest) -> Result<ReceiptId> {
        let cause = request.cause();
        let cancel = Cancel {
            cause: cause.clone(),
            request_id: request.request_id,
            external: None,
            wire: None,
        };
        self.with_receipt(to, Message::Cancel(Box::new(cancel)), cause).await
    }

    /// Closes a run without asking its code.
    pub(crate) async fn terminate(&self, to: Address, cause: Cause) -> Result<ReceiptId> {
        let terminate = Terminate { cause: cause.clone(), details: None, wire: None };
        self.with_receipt(to, Message::Terminate(Box::new(terminate)), cause).await
    }

    async fn with_receipt(&self, to: Address, message: Message, cause: Cause) -> Result<ReceiptId> {
        let id = ReceiptId(self.draw());
        let keep_until = self.now().after(self.settings.receipts_kept);
        let receipt = NewReceipt { id, cause, keep_until };
        self.post_message(to, message, Some(receipt)).await?;
        Ok(id)
    }

    /// Cancels one activity, timer or child of a run.
    pub(crate) async fn cancel_one(
        &self,
        run: RunId,
        target: EventId,
        request: CancelRequest,
    ) -> Result<()> {
        let message = Message::CancelOne(target, request.cause());
        self.post_message(Address::Run(run), message, None).await?;
        Ok(())
    }

    /// Writes a decision. Slots for what may start at once are reserved before, so that an attempt
    /// whose start is durable always has one.
    pub(crate) async fn commit(self: &Arc<Self>, turn: TurnCommit) -> Result<Committed> {
        let updates = fold::updates(&turn.decided);
        let run = turn.run;
        let mut folded = fold::fold(self, turn);
        let committed = self.write(folded.commit).await?;
        for (activity, attempt) in &committed.started {
            folded.starts.begin(self, run, *activity, *attempt);
        }
        self.push(committed.hits.clone());
        for (id, stage) in updates {
            self.updates.tell(run, &id, &stage);
        }
        self.followers.tell(run);
        Ok(committed)
    }

    /// Lets go of a run that this member holds, whatever has happened to it meanwhile.
    pub(crate) async fn release(self: &Arc<Self>, run: RunId, fence: Fence) -> Result<()> {
        self.bare(run, Some(fence), None).await
    }

    /// Puts a run into quarantine or takes it out, and lets go of it.
    pub(crate) async fn quarantine(
        self: &Arc<Self>,
        run: RunId,
        fence: Option<Fence>,
        quarantine: Option<Quarantine>,
    ) -> Result<()> {
        self.bare(run, fence, Some(quarantine)).await
    }

    async fn bare(
        self: &Arc<Self>,
        run: RunId,
        fence: Option<Fence>,
        quarantine: Option<Option<Quarantine>>,
    ) -> Result<()> {
        loop {
            let head = self.head(RunKey::Run(run)).await?;
            let lost = fence.is_some() && head.holder != fence;
            if lost || !head.status.is_open() {
                return Ok(());
            }
            let commit =
                Commit { quarantine: quarantine.clone(), ..fold::bare(self, &head, fence) };
            match self.write(commit).await {
                Err(error) if error.is_race() => {}
                done => {
                    self.followers.tell(run);
                    return done.map(drop);
                }
            }
        }
    }

    async fn write(&self, commit: Commit) -> Result<Committed> {
        self.retrying(|| {
            let done = self.store.commit(vec![commit.clone()]);
            async move { done.await.pop().unwrap_or(Err(StoreError::Shut)) }
        })
        .await
    }
}
