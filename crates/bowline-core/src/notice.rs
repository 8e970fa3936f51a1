//! What can be pushed to a worker. A notice is a hint that saves time; the row is the truth.

use crate::{Cause, EventId, Queue, RunId, Span, Time};

/// Something for one worker, over its one control channel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// An attempt must stop.
    StopAttempt(StopAttempt),
    /// Take no more work, and finish or give back what there is.
    Drain {
        /// In this time.
        within: Span,
        /// Why.
        reason: String,
    },
    /// Work on a queue in another way from now on.
    Configure {
        /// Which queue.
        queue: Queue,
        /// How many activities may run at once.
        slots: usize,
        /// How many may be started per second; unset for no limit.
        rate: Option<u32>,
    },
}

/// An attempt must stop.
#[derive(Clone, Debug, PartialEq)]
pub struct StopAttempt {
    /// Its run.
    pub run: RunId,
    /// Its number.
    pub activity: EventId,
    /// Which attempt.
    pub attempt: u32,
    /// Why.
    pub cause: Cause,
    /// When that was decided.
    pub decided_at: Time,
    /// True for a cancel, which is final for the activity; false for a stop of this attempt.
    pub is_cancel: bool,
}

/// Names what a notice is about, made of stable parts: a repeated notice has the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoticeId {
    /// The run.
    pub run: RunId,
    /// The activity.
    pub activity: EventId,
    /// The attempt.
    pub attempt: u32,
    /// A cancel, or else a stop.
    pub is_cancel: bool,
}

impl StopAttempt {
    /// The id by which a worker knows that it has seen this one.
    pub fn id(&self) -> NoticeId {
        let Self { run, activity, attempt, is_cancel, .. } = *self;
        NoticeId { run, activity, attempt, is_cancel }
    }
}
