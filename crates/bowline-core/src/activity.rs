//! An activity beside its run's history: what it is, which attempt is out, and who stops it.
//!
//! The row of an activity has two halves. [`ActivitySpec`] never changes. [`ActivityLive`] does,
//! in the fenced steps of `activity/step.rs`; stores load it, call a step, and write it back, so
//! that no store has rules of its own.

mod live;
mod step;
mod unseen;

use std::time::Duration;

use minicbor::{Decode, Encode};

use crate::{
    ActivityId, Blob, Cause, Failure, Fields, Name, Payload, Queue, RetryPolicy, Span, Time, limits,
};

pub use live::{ActivityLive, CancelRecord, End, Holder, Place, Start};
pub use step::{
    Ending, Hit, Step, cancel, deadline, hold_back, lose, presume, process_gone, settle, start,
    time_out,
};
pub use unseen::{Gone, Sight, Unseen, UnseenAttempt};

/// The four limits of an activity; unset means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Timeouts {
    /// How long an attempt may wait in its queue.
    #[n(0)]
    pub schedule_to_start: Option<Span>,
    /// How long one attempt may run.
    #[n(1)]
    pub start_to_close: Option<Span>,
    /// How long all attempts together may take.
    #[n(2)]
    pub schedule_to_close: Option<Span>,
    /// How long a running attempt may be silent.
    #[n(3)]
    pub heartbeat: Option<Span>,
}

/// Which limit was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum Timeout {
    /// It waited in its queue for too long.
    #[n(0)]
    ScheduleToStart,
    /// One attempt, or a turn, ran for too long.
    #[n(1)]
    StartToClose,
    /// All attempts together took too long.
    #[n(2)]
    ScheduleToClose,
    /// The running attempt was silent for too long.
    #[n(3)]
    Heartbeat,
}

/// How far a running attempt had to be pushed until it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum Rung {
    /// It never ran.
    #[n(0)]
    NeverStarted,
    /// A worker had had it, and it waited for another one.
    #[n(5)]
    Waiting,
    /// It stopped by itself.
    #[n(1)]
    Signal,
    /// It stopped by itself, and processes that it had left were ended.
    #[n(6)]
    Reap,
    /// Its future was dropped.
    #[n(2)]
    Abort,
    /// Its process group was killed.
    #[n(3)]
    Kill,
    /// Its own process stopped it, because it had been out of contact with the store for a lease.
    #[n(9)]
    Cut,
    /// It ended with the process, or the runtime, that it ran in.
    #[n(7)]
    Died,
    /// Nobody knows: its worker fell silent.
    #[n(8)]
    Unknown,
    /// It was given up: fenced, its slot freed, and reported as leaked.
    #[n(4)]
    Abandon,
}

/// What is done to a running attempt that was told to stop and does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Ladder {
    /// How long it has after it was told, before its future is dropped.
    #[n(0)]
    pub grace: Span,
    /// How long after that, before its process group is killed and, once more as long, it is
    /// abandoned.
    #[n(1)]
    pub step: Span,
    /// Skip abort and kill: after the grace period it is abandoned.
    #[n(2)]
    pub detach: bool,
}

impl Default for Ladder {
    fn default() -> Self {
        Self { grace: Span(limits::GRACE), step: Span(Duration::from_secs(5)), detach: false }
    }
}

/// What an activity is; fixed when it is scheduled.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ActivitySpec {
    /// The caller's own name for it.
    #[n(0)]
    pub id: ActivityId,
    /// The function to call.
    #[n(1)]
    pub name: Name,
    /// Where it waits.
    #[n(2)]
    pub queue: Queue,
    /// What the function is called with.
    #[n(3)]
    pub input: Option<Payload>,
    /// Travels beside the input.
    #[n(4)]
    pub header: Fields,
    /// Its limits.
    #[n(5)]
    pub timeouts: Timeouts,
    /// How it is tried again; unset means that only a lost worker is.
    #[n(6)]
    pub retry: Option<RetryPolicy>,
    /// How it is stopped.
    #[n(7)]
    pub ladder: Ladder,
    /// Whether its run waits for a remote worker: one that is told by its own protocol.
    #[n(8)]
    pub remote: bool,
    /// When its run will cancel it, if it is not over by then. For the code to know: it is the run
    /// that cancels it, with clean-up, and not this that ends it.
    #[n(9)]
    pub deadline: Option<Time>,
    /// How urgent it is, for a remote worker to know, as it was sent.
    #[n(10)]
    pub priority: Option<Blob>,
}

/// How an activity ended; it does so once.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
pub enum Outcome {
    /// With a result.
    #[n(0)]
    Completed(#[n(0)] Option<Payload>),
    /// With a failure that is not tried again.
    #[n(1)]
    Failed(#[n(0)] Failure),
    /// One of its limits was passed.
    #[n(2)]
    TimedOut(#[n(0)] Timeout),
    /// It was cancelled: why, how far it had to be pushed, and what it left behind.
    #[n(3)]
    Cancelled(#[n(0)] Cause, #[n(1)] Rung, #[n(2)] Option<Payload>),
}
