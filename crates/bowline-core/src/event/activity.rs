//! The life of an activity, as its run is told.

use minicbor::{Decode, Encode};

use crate::{
    ActivitySpec, EventId, Failure, Identity, Payload, RequestId, RetryState, Time, Timeout,
};

/// An activity was scheduled.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ActivityScheduled {
    /// What it is.
    #[n(0)]
    pub spec: ActivitySpec,
    /// The turn that asked for it.
    #[n(1)]
    pub turn: EventId,
}

/// A worker had begun with it. Written together with its end, so that retries leave no trace but
/// the number of the attempt.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ActivityStarted {
    /// Its `ActivityScheduled`.
    #[n(0)]
    pub activity: EventId,
    /// Who had it.
    #[n(1)]
    pub worker: Identity,
    /// The poll that took it.
    #[n(2)]
    pub request_id: RequestId,
    /// Which attempt it was.
    #[n(3)]
    pub attempt: u32,
    /// How the attempt before failed.
    #[n(4)]
    pub last_failure: Option<Failure>,
    /// When it really began; the event itself has the time of the end.
    #[n(5)]
    pub at: Time,
}

/// It ended with a result.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ActivityCompleted {
    /// Its `ActivityScheduled`.
    #[n(0)]
    pub activity: EventId,
    /// Its `ActivityStarted`.
    #[n(1)]
    pub started: EventId,
    /// The result.
    #[n(2)]
    pub result: Option<Payload>,
    /// Who answered.
    #[n(3)]
    pub worker: Identity,
}

/// It ended with a failure.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ActivityFailed {
    /// Its `ActivityScheduled`.
    #[n(0)]
    pub activity: EventId,
    /// Its `ActivityStarted`.
    #[n(1)]
    pub started: EventId,
    /// The failure.
    #[n(2)]
    pub failure: Failure,
    /// Why there is no further attempt.
    #[n(3)]
    pub retry: RetryState,
    /// Who answered.
    #[n(4)]
    pub worker: Identity,
}

/// It ended because a limit was passed.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct ActivityTimedOut {
    /// Its `ActivityScheduled`.
    #[n(0)]
    pub activity: EventId,
    /// Its `ActivityStarted`; 0 if it never began.
    #[n(1)]
    pub started: EventId,
    /// Which limit.
    #[n(2)]
    pub timeout: Timeout,
    /// Why there is no further attempt.
    #[n(3)]
    pub retry: RetryState,
    /// How the attempt before failed.
    #[n(4)]
    pub last_failure: Option<Failure>,
    /// What the code had last said about its progress.
    #[n(5)]
    pub heartbeat: Option<Payload>,
}

/// The run's code asked for its cancel. Remote rules only; native ones write a note.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ActivityCancelRequested {
    /// Its `ActivityScheduled`.
    #[n(0)]
    pub activity: EventId,
    /// The turn that asked for it.
    #[n(1)]
    pub turn: EventId,
}

/// It ended cancelled.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ActivityCancelled {
    /// Its `ActivityScheduled`.
    #[n(0)]
    pub activity: EventId,
    /// Its `ActivityStarted`; 0 if it never began.
    #[n(1)]
    pub started: EventId,
    /// The `ActivityCancelRequested`; 0 under native rules.
    #[n(2)]
    pub requested: EventId,
    /// What its code left behind.
    #[n(3)]
    pub details: Option<Payload>,
    /// Who answered.
    #[n(4)]
    pub worker: Identity,
}
