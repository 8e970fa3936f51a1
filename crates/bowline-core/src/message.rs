//! Everything that can come into a run's inbox.

use minicbor::{Decode, Encode};

use crate::{
    Blob, Cause, ChildRefusal, EventId, ExternalRefusal, Failure, Fields, Identity, Name, Number,
    Outcome, Payload, Ranges, RequestId, RetryState, RunId, Time, UpdateRequest, WorkflowId,
};

/// A message as it stands in an inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Its place; number order is commit order.
    pub number: Number,
    /// When it arrived.
    pub at: Time,
    /// What it says.
    pub message: Message,
}

/// What somebody wants from a run.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
#[cbor(flat)]
pub enum Message {
    /// Take a signal.
    #[n(0)]
    Signal(#[n(0)] Box<Signal>),
    /// Stop, and clean up.
    #[n(1)]
    Cancel(#[n(0)] Box<Cancel>),
    /// Close now, without asking the code.
    #[n(2)]
    Terminate(#[n(0)] Box<Terminate>),
    /// An activity has its outcome.
    #[n(3)]
    EndActivity(#[n(0)] Box<EndActivity>),
    /// These cancelled activities had never started: they are over.
    #[n(4)]
    SkipActivities(#[n(0)] Ranges),
    /// A timer rang.
    #[n(5)]
    FireTimer(#[n(0)] EventId),
    /// A limit of the run itself passed.
    #[n(6)]
    TimeOut(#[n(0)] RunAlarm),
    /// A child began.
    #[n(7)]
    ChildBegan(#[n(0)] EventId),
    /// A child could not be started.
    #[n(8)]
    RefuseChild(#[n(0)] EventId, #[n(1)] ChildRefusal),
    /// A child closed.
    #[n(9)]
    EndChild(#[n(0)] Box<EndChild>),
    /// Another run has what was sent to it.
    #[n(10)]
    ExternalDone(#[n(0)] EventId),
    /// Another run could not be reached.
    #[n(11)]
    RefuseExternal(#[n(0)] EventId, #[n(1)] ExternalRefusal),
    /// Take an update.
    #[n(12)]
    Update(#[n(0)] Box<UpdateRequest>),
    /// An operator cancels one activity, timer or child.
    #[n(13)]
    CancelOne(#[n(0)] EventId, #[n(1)] Cause),
    /// Have a turn, whatever else there is.
    #[n(14)]
    Wake,
}

impl Message {
    /// The request that this message carries out, so that its repetition counts once. A signal
    /// and a cancel are two requests, even if somebody gives them one id.
    pub fn request(&self) -> Option<String> {
        let (kind, id) = match self {
            Self::Signal(signal) => ("signal", &signal.request_id),
            Self::Cancel(cancel) => ("cancel", &cancel.request_id),
            _ => return None,
        };
        (!id.is_empty()).then(|| format!("{kind} {id}"))
    }

    /// True if it only tells what became of something that the run had asked for.
    pub(crate) fn is_outcome(&self) -> bool {
        matches!(
            self,
            Self::EndActivity(_)
                | Self::SkipActivities(_)
                | Self::FireTimer(_)
                | Self::ChildBegan(_)
                | Self::RefuseChild(..)
                | Self::EndChild(_)
                | Self::ExternalDone(_)
                | Self::RefuseExternal(..)
        )
    }

    /// True if it is taken even while a worker has the turn: it closes the run, or ends the turn.
    pub fn cuts_in(&self) -> bool {
        matches!(
            self,
            Self::Terminate(_)
                | Self::TimeOut(RunAlarm::Run | RunAlarm::Ladder | RunAlarm::Turn(..))
        )
    }
}

/// Take a signal.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Signal {
    /// Which.
    #[n(0)]
    pub name: Name,
    /// What it carries.
    #[n(1)]
    pub input: Option<Payload>,
    /// Travels beside the input.
    #[n(2)]
    pub header: Fields,
    /// Who sends it.
    #[n(3)]
    pub identity: Identity,
    /// The request.
    #[n(4)]
    pub request_id: RequestId,
    /// The run whose code sends it, and its `ExternalSignalInitiated`.
    #[n(5)]
    pub external: Option<(RunId, WorkflowId, EventId)>,
    /// What the door wants to have stored with the event.
    #[n(6)]
    pub wire: Option<Blob>,
}

/// Stop, and clean up.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Cancel {
    /// Why, and by whom.
    #[n(0)]
    pub cause: Cause,
    /// The request.
    #[n(1)]
    pub request_id: RequestId,
    /// The run whose code asks, and its `ExternalCancelInitiated`.
    #[n(2)]
    pub external: Option<(RunId, WorkflowId, EventId)>,
    /// What the door wants to have stored with the event.
    #[n(3)]
    pub wire: Option<Blob>,
}

/// Close now.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Terminate {
    /// Why, and by whom.
    #[n(0)]
    pub cause: Cause,
    /// What else they have to say.
    #[n(1)]
    pub details: Option<Payload>,
    /// What the door wants to have stored with the event.
    #[n(2)]
    pub wire: Option<Blob>,
}

/// An activity has its outcome.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct EndActivity {
    /// Which.
    #[n(0)]
    pub activity: EventId,
    /// The attempt that ended it; 0 if there was none.
    #[n(1)]
    pub attempt: u32,
    /// When that attempt began.
    #[n(2)]
    pub started_at: Option<Time>,
    /// Who had it.
    #[n(3)]
    pub worker: Identity,
    /// How the attempt before failed.
    #[n(4)]
    pub last_failure: Option<Failure>,
    /// How it ended.
    #[n(5)]
    pub outcome: Outcome,
    /// Why there is no further attempt.
    #[n(6)]
    pub retry: RetryState,
    /// What the code had last said about its progress.
    #[n(7)]
    pub heartbeat: Option<Payload>,
}

/// A limit of the run itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[non_exhaustive]
pub enum RunAlarm {
    /// The first turn has waited long enough.
    #[n(0)]
    Delay,
    /// The run's time is up.
    #[n(1)]
    Run,
    /// The run's deadline has passed: cancel, with clean-up.
    #[n(2)]
    Deadline,
    /// The cancel was not obeyed: terminate.
    #[n(3)]
    Ladder,
    /// The turn scheduled by this event has, in this attempt, waited or run too long.
    #[n(4)]
    Turn(#[n(0)] EventId, #[n(1)] u32),
}

/// How a child closed.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct EndChild {
    /// The parent's `ChildInitiated`.
    #[n(0)]
    pub child: EventId,
    /// The run that closed: the last of the child's chain.
    #[n(1)]
    pub run: RunId,
    /// How.
    #[n(2)]
    pub ending: RunEnding,
    /// The run that the child's chain began with. Numbers are used again by other runs of the
    /// parent's workflow id; this one never is. Earlier versions did not tell it.
    #[n(3)]
    pub first: Option<RunId>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[non_exhaustive]
#[cbor(flat)]
pub enum RunEnding {
    /// With a result.
    #[n(0)]
    Completed(#[n(0)] Option<Payload>),
    /// With a failure.
    #[n(1)]
    Failed(#[n(0)] Failure, #[n(1)] RetryState),
    /// Cancelled, after its clean-up.
    #[n(2)]
    Cancelled(#[n(0)] Option<Payload>, #[n(1)] Option<Cause>),
    /// Its time was up.
    #[n(3)]
    TimedOut(#[n(0)] RetryState),
    /// Terminated.
    #[n(4)]
    Terminated(#[n(0)] Cause),
    /// It goes on as another run.
    #[n(5)]
    Continued(#[n(0)] RunId),
}
