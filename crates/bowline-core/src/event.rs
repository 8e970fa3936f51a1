//! Everything that can have happened to a run: the durable format of its history.
//!
//! Only kinds that remote SDKs know have a number of their own; whatever else must be remembered
//! is a [`Note`](crate::Note) on one of them. Tags (`#[n(..)]`) are for ever: a field is added
//! with a new tag and is optional, a tag is never used again.

mod activity;
mod child;
mod external;
mod record;
mod timer;
mod told;
mod turn;
mod update;
mod weight;
mod workflow;

use minicbor::{Decode, Encode};

use crate::{Blob, EventId, Note, Time};

pub use activity::*;
pub use child::*;
pub use external::*;
pub use record::*;
pub use timer::*;
pub use turn::*;
pub use update::*;
pub use workflow::*;

/// Something that happened, and when.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Event {
    /// Its position in history.
    #[n(0)]
    pub id: EventId,
    /// When; for a message, when it arrived. Never earlier than the event before.
    #[n(1)]
    pub time: Time,
    /// What.
    #[n(2)]
    pub kind: EventKind,
    /// What else must be remembered, without a number of its own.
    #[n(3)]
    pub notes: Vec<Note>,
    /// Fields of a door that no rule reads, handed back untouched.
    #[n(4)]
    pub wire: Option<Blob>,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $tag:literal $name:ident;)*) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq, Encode, Decode)]
        #[non_exhaustive]
        #[cbor(flat)]
        pub enum EventKind {
            $($(#[$doc])* #[n($tag)] $name(#[n(0)] Box<$name>),)*
        }

        impl EventKind {
            /// The names of all kinds, in the order of their tags.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];

            /// The kind's name, for people and tests.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)*
                }
            }
        }

        $(
            impl From<$name> for EventKind {
                fn from(event: $name) -> Self {
                    Self::$name(Box::new(event))
                }
            }
        )*
    };
}

kinds! {
    /// The run began.
    1 WorkflowStarted;
    /// The run closed with a result.
    2 WorkflowCompleted;
    /// The run closed with a failure.
    3 WorkflowFailed;
    /// The run closed because its time was up.
    4 WorkflowTimedOut;
    /// The run closed because it was cancelled, and had cleaned up.
    5 WorkflowCancelled;
    /// The run was closed from outside; its code was not asked.
    6 WorkflowTerminated;
    /// The run closed and goes on as a new one.
    7 WorkflowContinuedAsNew;
    /// Somebody asked the run to cancel.
    8 WorkflowCancelRequested;
    /// A signal arrived.
    9 WorkflowSignalled;
    /// A turn was wanted.
    10 TurnScheduled;
    /// A worker took the turn.
    11 TurnStarted;
    /// The worker's answer was taken; what it asked for follows.
    12 TurnCompleted;
    /// The worker's answer was refused, or it said that it cannot.
    13 TurnFailed;
    /// No answer came in time.
    14 TurnTimedOut;
    /// An activity was scheduled.
    15 ActivityScheduled;
    /// A worker had begun with it; written only when it ends.
    16 ActivityStarted;
    /// It ended with a result.
    17 ActivityCompleted;
    /// It ended with a failure.
    18 ActivityFailed;
    /// It ended because a limit was passed.
    19 ActivityTimedOut;
    /// The run's code asked for its cancel.
    20 ActivityCancelRequested;
    /// It ended cancelled.
    21 ActivityCancelled;
    /// A timer was set.
    22 TimerStarted;
    /// It rang.
    23 TimerFired;
    /// It was unset before it rang.
    24 TimerCancelled;
    /// Something only the run's own code understands.
    25 MarkerRecorded;
    /// The run asked for a child.
    26 ChildInitiated;
    /// The child could not be started.
    27 ChildStartFailed;
    /// The child began.
    28 ChildStarted;
    /// The child ended with a result.
    29 ChildCompleted;
    /// The child ended with a failure.
    30 ChildFailed;
    /// The child ended cancelled.
    31 ChildCancelled;
    /// The child's time was up.
    32 ChildTimedOut;
    /// The child was terminated.
    33 ChildTerminated;
    /// The run asked for the cancel of another, or of a child.
    34 ExternalCancelInitiated;
    /// That run has the request.
    35 ExternalCancelRequested;
    /// There is no such run.
    36 ExternalCancelFailed;
    /// The run sent a signal to another.
    37 ExternalSignalInitiated;
    /// That run has the signal.
    38 ExternalSignalled;
    /// There is no such run, or it is closed.
    39 ExternalSignalFailed;
    /// The run changed its search attributes.
    40 SearchUpserted;
    /// The run changed its memo.
    41 MemoModified;
    /// An update was taken over from the history that this run forked from.
    42 UpdateAdmitted;
    /// The run's code took an update.
    43 UpdateAccepted;
    /// The run's code answered an update.
    44 UpdateCompleted;
}

impl EventKind {
    /// True if the run is closed with this event.
    pub fn closes(&self) -> bool {
        matches!(
            self,
            Self::WorkflowCompleted(_)
                | Self::WorkflowFailed(_)
                | Self::WorkflowTimedOut(_)
                | Self::WorkflowCancelled(_)
                | Self::WorkflowTerminated(_)
                | Self::WorkflowContinuedAsNew(_)
        )
    }

    /// True if workflow code asked for it: such events follow `TurnCompleted`, in the order of
    /// the asking.
    pub fn commanded(&self) -> bool {
        matches!(
            self,
            Self::ActivityScheduled(_)
                | Self::ActivityCancelRequested(_)
                | Self::TimerStarted(_)
                | Self::TimerCancelled(_)
                | Self::MarkerRecorded(_)
                | Self::ChildInitiated(_)
                | Self::ExternalCancelInitiated(_)
                | Self::ExternalSignalInitiated(_)
                | Self::SearchUpserted(_)
                | Self::MemoModified(_)
                | Self::UpdateAccepted(_)
                | Self::UpdateCompleted(_)
                | Self::WorkflowCompleted(_)
                | Self::WorkflowFailed(_)
                | Self::WorkflowCancelled(_)
                | Self::WorkflowContinuedAsNew(_)
        )
    }

    /// True for the five events of a turn's own life.
    pub fn of_turn(&self) -> bool {
        matches!(
            self,
            Self::TurnScheduled(_)
                | Self::TurnStarted(_)
                | Self::TurnCompleted(_)
                | Self::TurnFailed(_)
                | Self::TurnTimedOut(_)
        )
    }
}
