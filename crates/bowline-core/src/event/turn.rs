//! The life of a turn.

use minicbor::{Decode, Encode};

use crate::{Blob, EventId, Failure, Identity, Queue, RequestId, RunId, Span, Timeout};

/// A turn was wanted.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TurnScheduled {
    /// Where it waited; the run's own queue if empty.
    #[n(0)]
    pub queue: Queue,
    /// Whether that queue was one worker's own.
    #[n(1)]
    pub sticky: bool,
    /// How long it may take once started.
    #[n(2)]
    pub start_to_close: Option<Span>,
    /// From 1.
    #[n(3)]
    pub attempt: u32,
}

/// A worker took the turn.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TurnStarted {
    /// Its `TurnScheduled`.
    #[n(0)]
    pub scheduled: EventId,
    /// Who took it.
    #[n(1)]
    pub worker: Identity,
    /// The poll that took it.
    #[n(2)]
    pub request_id: RequestId,
    /// Whether the code was advised to continue as new.
    #[n(3)]
    pub suggest_continue: bool,
    /// The size of history as the code was told it.
    #[n(4)]
    pub history_bytes: u64,
}

/// The worker's answer was taken.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TurnCompleted {
    /// Its `TurnScheduled`.
    #[n(0)]
    pub scheduled: EventId,
    /// Its `TurnStarted`.
    #[n(1)]
    pub started: EventId,
    /// Who answered.
    #[n(2)]
    pub worker: Identity,
    /// The SDK's own remarks, exactly as sent: losing them would change its replay.
    #[n(3)]
    pub sdk_metadata: Option<Blob>,
    /// Likewise.
    #[n(4)]
    pub metering: Option<Blob>,
    /// Likewise.
    #[n(5)]
    pub worker_version: Option<Blob>,
    /// Likewise.
    #[n(6)]
    pub deployment: Option<Blob>,
}

/// Why an answer was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
#[non_exhaustive]
pub enum TurnFault {
    /// The worker says that its code failed.
    #[default]
    #[n(0)]
    CodeFailed,
    /// The run closed while the turn was out.
    #[n(1)]
    ForceClosed,
    /// It wanted to close while messages waited.
    #[n(2)]
    Unhandled,
    /// The run was forked here.
    #[n(3)]
    Forked,
    /// A bad `ScheduleActivity`.
    #[n(4)]
    BadActivity,
    /// An activity id that is open already.
    #[n(5)]
    ActivityIdTaken,
    /// A bad `CancelActivity`.
    #[n(6)]
    BadActivityCancel,
    /// A bad `StartTimer`.
    #[n(7)]
    BadTimer,
    /// A timer id that is open already.
    #[n(8)]
    TimerIdTaken,
    /// A bad `CancelTimer`.
    #[n(9)]
    BadTimerCancel,
    /// A bad `RecordMarker`.
    #[n(10)]
    BadMarker,
    /// A bad `Complete`.
    #[n(11)]
    BadComplete,
    /// A bad `Fail`.
    #[n(12)]
    BadFail,
    /// A bad `Cancel`.
    #[n(13)]
    BadCancel,
    /// A bad `ContinueAsNew`.
    #[n(14)]
    BadContinue,
    /// A bad `StartChild`.
    #[n(15)]
    BadChild,
    /// A bad `SignalExternal`.
    #[n(16)]
    BadSignal,
    /// A bad `CancelExternal`.
    #[n(17)]
    BadExternalCancel,
    /// Bad search attributes.
    #[n(18)]
    BadSearch,
    /// A bad memo.
    #[n(19)]
    BadMemo,
    /// A bad message about an update.
    #[n(20)]
    BadUpdate,
    /// Too many open activities.
    #[n(21)]
    TooManyActivities,
    /// Too many open children.
    #[n(22)]
    TooManyChildren,
    /// Too many open signals to others.
    #[n(23)]
    TooManySignals,
    /// Too many open cancels of others.
    #[n(24)]
    TooManyCancels,
    /// The worker's code does not match history.
    #[n(25)]
    Nondeterminism,
    /// Its sticky queue was reset.
    #[n(26)]
    StickyReset,
    /// A payload is too large.
    #[n(27)]
    TooLarge,
    /// Too many messages waited for it.
    #[n(28)]
    TooManyWaiting,
    /// It asks for something that this engine does not have.
    #[n(29)]
    Unknown,
    /// A Nexus operation that cannot be.
    #[n(30)]
    BadNexus,
    /// The cancel of a Nexus operation that is not there.
    #[n(31)]
    BadNexusCancel,
    /// Search attributes are too large.
    #[n(32)]
    SearchTooLarge,
}

/// The worker's answer was refused, or it said that it cannot.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TurnFailed {
    /// Its `TurnScheduled`.
    #[n(0)]
    pub scheduled: EventId,
    /// Its `TurnStarted`.
    #[n(1)]
    pub started: EventId,
    /// Why.
    #[n(2)]
    pub fault: TurnFault,
    /// Why, in detail.
    #[n(3)]
    pub failure: Option<Failure>,
    /// Who answered.
    #[n(4)]
    pub worker: Identity,
    /// For a fork: the run that history was taken from, and the new one.
    #[n(5)]
    pub forked: Option<(RunId, RunId)>,
}

/// No answer came in time.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct TurnTimedOut {
    /// Its `TurnScheduled`.
    #[n(0)]
    pub scheduled: EventId,
    /// Its `TurnStarted`; 0 if nobody took it.
    #[n(1)]
    pub started: EventId,
    /// Which limit was passed.
    #[n(2)]
    pub timeout: Timeout,
}
