//! Everything that workflow code can ask for.

use std::collections::BTreeMap;

use crate::{
    ActivitySpec, Blob, Cause, ChildSpec, Decision, EventId, External, Failure, Fields, Name,
    Payload, Queue, Ranges, RetryPolicy, RunId, ScopeStep, SearchAttributes, SearchField, Span,
    TimerId, TurnFault, UpdateAnswer, UpdateRequest,
};

/// One thing that workflow code asks for, beside what the door wants to have stored with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// What is asked.
    pub command: Command,
    /// Stored with the event, handed back untouched.
    pub wire: Option<Blob>,
}

impl From<Command> for Asked {
    fn from(command: Command) -> Self {
        Self { command, wire: None }
    }
}

/// Something that workflow code asks for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Run an activity.
    ScheduleActivity(Box<ActivitySpec>),
    /// Cancel one activity. Remote rules.
    CancelActivity(EventId),
    /// Ring after a while.
    StartTimer(TimerId, Span),
    /// Do not ring.
    CancelTimer(EventId, Option<Cause>),
    /// Do not ring: the timer that goes by this name now. Remote rules.
    CancelTimerNamed(TimerId),
    /// Remember something that only the code understands.
    RecordMarker(Box<RecordMarker>),
    /// Start a child, under a run id that the engine made.
    StartChild(Box<ChildSpec>, RunId),
    /// Ask for the cancel of another run.
    CancelExternal(Box<CancelExternal>),
    /// Send a signal to another run.
    SignalExternal(Box<SignalExternal>),
    /// Change search attributes.
    UpsertSearch(BTreeMap<String, Option<SearchField>>),
    /// Change the memo.
    ModifyMemo(BTreeMap<String, Option<Payload>>),
    /// Take an update.
    AcceptUpdate(Box<AcceptUpdate>),
    /// Refuse an update; leaves no event.
    RejectUpdate(Box<RejectUpdate>),
    /// Answer an update.
    CompleteUpdate(Box<CompleteUpdate>),
    /// Cancel what the turn dropped, all at once. Native rules.
    Drop(Vec<Decision>),
    /// Let go of activities and children: they outlive the run. Native rules.
    Detach(Ranges),
    /// Remember which signals the code has received, by their events. Native rules.
    Receive(Ranges),
    /// Remember which scopes were opened and left. Native rules.
    Scopes(Vec<ScopeStep>),
    /// Close with a result.
    Complete(Option<Payload>),
    /// Close with a failure.
    Fail(Failure),
    /// Close as cancelled.
    Cancel(Option<Payload>, Option<Cause>),
    /// Close and go on as a new run, under a run id that the engine made.
    ContinueAsNew(Box<ContinueAsNew>, RunId),
    /// Something that a door cannot read as any of these: the turn fails with it, for this reason.
    Unreadable(TurnFault, String),
}

impl Command {
    /// True if the run is closed with it.
    pub fn closes(&self) -> bool {
        matches!(
            self,
            Self::Complete(_) | Self::Fail(_) | Self::Cancel(..) | Self::ContinueAsNew(..)
        )
    }
}

/// Remember something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordMarker {
    /// What kind of marker.
    pub name: Name,
    /// What it holds.
    pub details: Fields,
    /// Travels beside it.
    pub header: Fields,
    /// The failure that it stands for.
    pub failure: Option<Failure>,
}

/// Ask for the cancel of another run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CancelExternal {
    /// The other run.
    pub target: External,
    /// Why, in words.
    pub reason: String,
    /// Why, where the code's own cancel is passed on.
    pub cause: Option<Cause>,
    /// The `ChildInitiated` of the child that is meant; 0 if it is not a child.
    pub child: EventId,
}

/// Send a signal to another run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalExternal {
    /// The other run.
    pub target: External,
    /// Which signal.
    pub name: Name,
    /// What it carries.
    pub input: Option<Payload>,
    /// Travels beside the input.
    pub header: Fields,
}

/// Take an update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AcceptUpdate {
    /// What was asked.
    pub request: UpdateRequest,
    /// The message that carried it, as the worker names it.
    pub message_id: String,
    /// The event that it was ordered after.
    pub sequencing: EventId,
}

/// Refuse an update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RejectUpdate {
    /// What was asked.
    pub request: UpdateRequest,
    /// Why it is refused.
    pub failure: Failure,
}

/// Answer an update.
#[derive(Clone, Debug, PartialEq)]
pub struct CompleteUpdate {
    /// What was asked.
    pub request: UpdateRequest,
    /// The answer.
    pub answer: UpdateAnswer,
}

/// Go on as a new run; whatever is unset is as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContinueAsNew {
    /// The workflow.
    pub name: Option<Name>,
    /// Where its turns wait.
    pub queue: Option<Queue>,
    /// What it is called with.
    pub input: Option<Payload>,
    /// Travels beside the input.
    pub header: Fields,
    /// How long the new run may take.
    pub run_timeout: Option<Span>,
    /// How long its remote turns may take.
    pub turn_timeout: Option<Span>,
    /// How long its first turn waits.
    pub delay: Option<Span>,
    /// How it is tried again.
    pub retry: Option<RetryPolicy>,
    /// When it is started again, if by another schedule.
    pub cron: Option<String>,
    /// Its memo, if it is to be another one.
    pub memo: Option<Fields>,
    /// Its search attributes, if they are to be others.
    pub search: Option<SearchAttributes>,
}
