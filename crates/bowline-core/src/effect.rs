//! What must follow from a decision, in the very commit that records it.

use std::sync::Arc;

use minicbor::{Decode, Encode};

use crate::{
    ActivitySpec, Cause, Event, EventId, Message, Namespace, Number, Ranges, Reuse, RunAlarm,
    RunId, Time, TurnRecord, UpdateAnswer, UpdateId, WorkflowId,
};

/// An order to the store, or to the engine after the commit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// A new activity waits in its queue.
    QueueActivity(EventId, Arc<ActivitySpec>),
    /// These activities are cancelled; whichever never started is over.
    CancelActivities(Ranges, Cause),
    /// Ring at a moment.
    Arm(Alarm),
    /// Do not ring.
    Disarm(Alarm),
    /// Put a message into another run's inbox.
    Post(Post),
    /// A new run begins.
    Begin(Box<Birth>),
    /// Forget a message that waits in the own inbox.
    Forget(Number),
    /// An update is answered: whoever waits may know. `Err` if it was refused.
    AnswerUpdate(UpdateId, UpdateStage),
}

/// How far an update has come.
#[derive(Clone, Debug, PartialEq)]
pub enum UpdateStage {
    /// The code took it.
    Accepted,
    /// The code refused it, or the run closed before it could be taken.
    Rejected(crate::Failure),
    /// The code answered it.
    Completed(UpdateAnswer),
    /// The code took it, and the run closed before it was answered.
    Unanswered,
    /// The run closed before the code looked, and the run that goes on in its place has it.
    Moved(RunId),
}

/// Something that happens by itself, at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Alarm {
    /// When.
    #[n(0)]
    pub due: Time,
    /// What.
    #[n(1)]
    pub what: AlarmKind,
}

/// What rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[non_exhaustive]
pub enum AlarmKind {
    /// A timer of the workflow's own.
    #[n(0)]
    Timer(#[n(0)] EventId),
    /// A limit of the run.
    #[n(1)]
    Run(#[n(0)] RunAlarm),
    /// A limit of an activity; handled on its row.
    #[n(2)]
    Activity(#[n(0)] EventId),
}

impl AlarmKind {
    /// The message that the run gets when it rings; none for what is handled on a row.
    pub fn message(self) -> Option<Message> {
        match self {
            Self::Timer(timer) => Some(Message::FireTimer(timer)),
            Self::Run(alarm) => Some(Message::TimeOut(alarm)),
            Self::Activity(_) => None,
        }
    }
}

/// A message for another run.
#[derive(Clone, Debug, PartialEq)]
pub struct Post {
    /// Which run.
    pub to: Address,
    /// What.
    pub message: Message,
    /// Only if that run is a child of this one.
    pub child_of: Option<RunId>,
    /// The own event that wants to hear whether it arrived.
    pub answer: Option<EventId>,
}

/// Which run is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Exactly this one.
    Run(RunId),
    /// Whichever run of this workflow id is the newest.
    Current(Namespace, WorkflowId),
    /// Whichever run of the chain that began with this one is open.
    Chain(RunId),
}

/// A run that begins: everything that its first commit writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Birth {
    /// Its id.
    pub run: RunId,
    /// Its first events.
    pub events: Vec<Event>,
    /// Its first turn, if one waits for a remote worker.
    pub record: TurnRecord,
    /// What rings for it.
    pub alarms: Vec<Alarm>,
    /// Activities that wait from the beginning: those that were open where a fork was cut.
    pub activities: Vec<(EventId, Arc<ActivitySpec>)>,
    /// Its inbox begins with a `Wake`: a native run has its first turn at once.
    pub wake: bool,
    /// Whether it may take a workflow id that was used before.
    pub reuse: Reuse,
    /// What it is to the run that begins it.
    pub link: Link,
}

/// What a new run is to the run that begins it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Nothing: somebody started it from outside.
    None,
    /// Its child, initiated by this event: the parent is answered by message.
    Child(EventId),
    /// Its successor in the chain.
    Next,
}

impl From<RunId> for Address {
    fn from(run: RunId) -> Self {
        Self::Run(run)
    }
}
