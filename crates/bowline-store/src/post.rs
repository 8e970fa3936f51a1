//! What comes in from outside: messages, starts, deletions.

use bowline_core::{
    Address, Birth, Cause, Conflict, Fence, Message, Number, ReceiptId, RequestId, Reuse, RunId,
    Status, Time,
};

/// One thing that somebody wants.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "made once for each request, and not kept")]
pub enum Posting {
    /// A message for a run. A closed run is [`Closed`](crate::Error::Closed).
    Message {
        /// Which run.
        to: Address,
        /// What.
        message: Message,
        /// Now.
        now: Time,
        /// The receipt that the sender gets, where the message is a cancel or a termination.
        receipt: Option<NewReceipt>,
    },
    /// A new run, or a message for the run that is there already.
    Start(Box<StartRun>),
    /// Forget a closed run as soon as nothing of its subtree is left. An open run is refused:
    /// terminate it first, with [`Code::Deleted`](bowline_core::Code::Deleted).
    Delete {
        /// Which run.
        run: RunId,
        /// Now.
        now: Time,
    },
}

impl Posting {
    /// The time at which it was sent.
    pub fn now(&self) -> Time {
        match self {
            Self::Message { now, .. } | Self::Delete { now, .. } => *now,
            Self::Start(start) => start.now,
        }
    }
}

/// A new run.
#[derive(Clone, Debug)]
pub struct StartRun {
    /// What it begins with.
    pub birth: Birth,
    /// The request; a run of this workflow id that was begun by it is the answer.
    pub request_id: RequestId,
    /// What happens if a run of that workflow id is open.
    pub conflict: Conflict,
    /// A message that goes to the open run instead, where there is one (signal-with-start).
    pub otherwise: Option<Message>,
    /// Whoever starts it has its first turn too, and holds it by this lease from the beginning. If
    /// that member is not alive any more, the run waits for anybody.
    pub hold: Option<Fence>,
    /// Now.
    pub now: Time,
}

/// The receipt of a cancel.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReceipt {
    /// Its id.
    pub id: ReceiptId,
    /// Why, and by whom.
    pub cause: Cause,
    /// Until when it is kept.
    pub keep_until: Time,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Posted {
    /// The message stands in the inbox of this run.
    Delivered(RunId, Number),
    /// The run was closed already, so that there was nothing to do; the receipt, if one was asked
    /// for, is stored. Only cancels and terminations with a receipt are answered so.
    Finished(RunId),
    /// This request was carried out before, on this run.
    Repeated(RunId),
    /// The run began.
    Started(RunId),
    /// A run of that workflow id is open and serves instead.
    Existing(RunId),
    /// It will be forgotten.
    Deleted,
}

/// Whether a workflow id may be taken again after a run of it closed so.
pub fn may_reuse(reuse: Reuse, closed: Status) -> bool {
    match reuse {
        Reuse::AllowUnlessCompleted => closed != Status::Completed,
        Reuse::Refuse => false,
        _ => true,
    }
}
