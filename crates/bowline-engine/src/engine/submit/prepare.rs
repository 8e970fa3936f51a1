//! Requests that are built and not yet sent.
//!
//! In:    what a door asks for.
//! Out:   a posting, and what the store's answer to it means. Doors send it at once; who has a
//!        transaction of the application's own puts it in there, and it is sent with the commit.
//! Never: changes anything by itself. One that is dropped was never asked for.

use std::{fmt, time::Duration};

use bowline_core::{
    Address, Cancel, Cause, Conflict, Identity, Ladder, Ladders, Message, Namespace, Payload,
    ReceiptId, RequestId, RunId, RunLadder, Signal, Span, Terminate, limits::SPAN_MAX,
};
use bowline_store::{NewReceipt, Posted, Posting};

use super::StartOptions;
use crate::{Error, Result, engine::EngineInner};

/// A request that is built and not sent. It belongs into one transaction of the store that its
/// engine runs on: [`posting`](Self::posting) goes in, and [`answer`](Self::answer) says what came
/// of it. Once that transaction is committed, [`Engine::posted`](crate::Engine::posted) is told.
#[must_use = "it is not sent yet: put it into a transaction"]
pub struct Prepared<T> {
    posting: Posting,
    read: Box<dyn FnOnce(Posted) -> Result<T> + Send>,
}

impl<T> Prepared<T> {
    fn new(posting: Posting, read: impl FnOnce(Posted) -> Result<T> + Send + 'static) -> Self {
        Self { posting, read: Box::new(read) }
    }

    /// What the store must be given.
    pub fn posting(&self) -> &Posting {
        &self.posting
    }

    /// What the store's answer means. It counts once the transaction is committed.
    ///
    /// # Errors
    /// The store's, as the engine says them.
    pub fn answer(self, posted: bowline_store::Result<Posted>) -> Result<T> {
        (self.read)(posted?)
    }
}

impl<T> fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prepared").field(&self.posting).finish()
    }
}

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

    pub(super) fn cause(&self) -> Result<Cause> {
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

impl EngineInner {
    /// Sends a request.
    pub(crate) async fn send<T>(&self, prepared: Prepared<T>) -> Result<T> {
        let Prepared { posting, read } = prepared;
        read(self.post(posting).await?)
    }

    /// A start inside a transaction.
    pub(crate) fn prepare_start(
        &self,
        namespace: Namespace,
        options: StartOptions,
    ) -> Result<Prepared<RunId>> {
        if options.conflict == Conflict::TerminateExisting {
            let why = "a start inside a transaction cannot take an open run's place: terminate \
                       that run first, or choose another policy";
            return Err(Error::Invalid(why.into()));
        }
        let start = self.starting(namespace, options)?;
        Ok(Prepared::new(Posting::Start(Box::new(start)), super::start::run_of))
    }

    pub(crate) fn prepare_signal(&self, to: Address, signal: Signal) -> Result<Prepared<RunId>> {
        let signal = Signal { request_id: self.named(signal.request_id), ..signal };
        let text = signal.name.as_str();
        if text.is_empty() || text.len() > bowline_core::limits::TEXT_MAX {
            return Err(Error::Invalid("a signal needs a name of at most 1,000 bytes".into()));
        }
        if signal.input.as_ref().is_some_and(|p| p.len() > bowline_core::limits::PAYLOAD_MAX) {
            return Err(Error::Invalid("the signal's input is larger than 2 MiB".into()));
        }
        let message = Message::Signal(Box::new(signal));
        let posting = Posting::Message { to, message, now: self.now(), receipt: None };
        Ok(Prepared::new(posting, |posted| match posted {
            Posted::Delivered(run, _) | Posted::Repeated(run) => Ok(run),
            other => Err(Error::Invalid(format!("unexpected answer to a signal: {other:?}"))),
        }))
    }

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

    pub(super) fn prepare_terminate(
        &self,
        to: Address,
        cause: Cause,
        details: Option<Payload>,
    ) -> Prepared<(ReceiptId, RunId)> {
        let terminate = Terminate { cause: cause.clone(), details, wire: None };
        let message = Message::Terminate(Box::new(terminate));
        let Prepared { posting, read } = self.with_receipt(to, message, cause);
        Prepared::new(posting, move |posted| match posted {
            Posted::Delivered(run, _) | Posted::Finished(run) | Posted::Repeated(run) => {
                Ok((read(posted)?, run))
            }
            other => Err(Error::Invalid(format!("unexpected answer to an end: {other:?}"))),
        })
    }

    pub(super) fn with_receipt(
        &self,
        to: Address,
        message: Message,
        cause: Cause,
    ) -> Prepared<ReceiptId> {
        let now = self.now();
        let id = ReceiptId(self.draw());
        let keep_until = now.after(self.settings.receipts_kept);
        // If it comes to nothing, one look is in vain.
        self.bells.sweep_at(keep_until);
        let receipt = Some(NewReceipt { id, cause, keep_until });
        let posting = Posting::Message { to, message, now, receipt };
        // A run that is closed already is a success: the receipt says so.
        Prepared::new(posting, move |_| Ok(id))
    }

    /// A request without a name gets one: a post whose outcome was unknown is sent again, and
    /// must count once.
    pub(super) fn named(&self, request_id: RequestId) -> RequestId {
        match request_id.is_empty() {
            true => format!("{:032x}", self.draw()).into(),
            false => request_id,
        }
    }

    /// Something was posted, here or in a transaction that is committed now.
    pub(crate) fn posted(&self, posted: &Posted) {
        match posted {
            Posted::Delivered(run, number) => self.owe(*run, *number),
            _ => self.net.touch(),
        }
    }
}
