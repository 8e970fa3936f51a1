//! Where a run stands, folded from its events and from nothing else.
//!
//! In:    events, in order.
//! Out:   everything that deciding looks at.
//! Never: fails or refuses. An event that names something unknown changes nothing: what history
//!        says has happened, has happened, and `lawful` tells whether it could.

mod activity;
mod child;
mod external;
mod request;
mod timer;
mod turn;
mod unread;
mod update;
mod workflow;

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};

use crate::{
    ActivityId, Cause, EndChild, Event, EventId, EventKind, External, Fields, Name, Note,
    ParentClose, Ranges, Rules, RunId, SearchAttributes, Span, Status, Time, TimerId, UpdateId,
    WorkflowId, WorkflowStarted, limits,
};

pub use request::Requests;
pub(crate) use unread::weight as unread_weight;
pub use unread::{Unread, UnreadSize};

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct State {
    /// The run.
    #[n(0)]
    pub run: RunId,
    /// What it was started as.
    #[n(1)]
    pub started: Box<WorkflowStarted>,
    /// When it began.
    #[n(2)]
    pub started_at: Time,
    /// Where it stands.
    #[n(3)]
    pub status: Status,
    /// The id of the next event.
    #[n(4)]
    pub next_event: EventId,
    /// The time of the newest event; the next one is not earlier.
    #[n(5)]
    pub time: Time,
    /// The cancel that was requested of it, and by which event.
    #[n(6)]
    pub cancel: Option<(EventId, Cause)>,
    /// Activities without an outcome.
    #[n(7)]
    pub activities: BTreeMap<EventId, OpenActivity>,
    /// Timers that have not rung.
    #[n(8)]
    pub timers: BTreeMap<EventId, OpenTimer>,
    /// Children that have not ended.
    #[n(9)]
    pub children: BTreeMap<EventId, OpenChild>,
    /// Requests to other runs that are not answered.
    #[n(10)]
    pub externals: BTreeMap<EventId, OpenExternal>,
    /// Updates that were accepted, and whether they are answered.
    #[n(11)]
    pub updates: BTreeMap<UpdateId, OpenUpdate>,
    /// Requests that were carried out, so that their repetition counts once.
    #[n(12)]
    pub requests: Requests,
    /// The `TurnScheduled` without an end, if there is one in history.
    #[n(13)]
    pub turn_scheduled: Option<EventId>,
    /// The `TurnStarted` without an end, if there is one in history.
    #[n(14)]
    pub turn_started: Option<EventId>,
    /// The `TurnStarted` of the newest completed turn.
    #[n(15)]
    pub last_started: EventId,
    /// The newest `TurnCompleted`.
    #[n(16)]
    pub last_completed: EventId,
    /// The first turn waits for its delay to pass.
    #[n(17)]
    pub delayed: bool,
    /// Search attributes as they are now.
    #[n(18)]
    pub search: SearchAttributes,
    /// Memo as it is now.
    #[n(19)]
    pub memo: Fields,
    /// About how many bytes history takes.
    #[n(20)]
    pub bytes: u64,
    /// How many signals it has had.
    #[n(21)]
    pub signals: u64,
    /// Cancelled activities that were over without ever starting.
    #[n(22)]
    pub skipped: u64,
    /// What the newest turn cancelled; activities that it also scheduled come after that note.
    #[n(23)]
    pub cancelled: Ranges,
    /// What the newest turn let go of, likewise.
    #[n(24)]
    pub detached: Ranges,
    /// From when its run timeout counts: its start, the delay of that, or where it was forked.
    #[n(25)]
    pub since: Time,
    /// When it was asked to cancel; a fork counts from where it was cut.
    #[n(26)]
    pub cancel_at: Option<Time>,
    /// The run that it became where its history was cut; kept by what is forked from it.
    #[n(27)]
    pub fork: Option<RunId>,
    /// Native rules: signals that the code has not received.
    #[n(28)]
    #[cbor(default)]
    pub unread: Unread,
}

/// An activity without an outcome.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct OpenActivity {
    /// The caller's own name for it.
    #[n(0)]
    pub id: ActivityId,
    /// The activity.
    #[n(1)]
    pub name: Name,
    /// The event that recorded its cancel.
    #[n(2)]
    pub cancel: Option<EventId>,
    /// It outlives the run.
    #[n(3)]
    pub detached: bool,
}

/// A timer that has not rung.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct OpenTimer {
    /// The caller's own name for it.
    #[n(0)]
    pub id: TimerId,
    /// When it rings.
    #[n(1)]
    pub due: Time,
}

/// A child that has not ended.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct OpenChild {
    /// Its run: the first of its chain.
    #[n(0)]
    pub run: RunId,
    /// Its workflow id.
    #[n(1)]
    pub workflow_id: WorkflowId,
    /// The workflow.
    #[n(2)]
    pub name: Name,
    /// Its `ChildStarted`.
    #[n(3)]
    pub started: Option<EventId>,
    /// What becomes of it when this run closes.
    #[n(4)]
    pub close: ParentClose,
    /// The event that recorded its cancel.
    #[n(5)]
    pub cancel: Option<EventId>,
    /// The turn that asked for it.
    #[n(6)]
    pub turn: EventId,
    /// It outlives the run.
    #[n(7)]
    pub detached: bool,
}

/// A request to another run that is not answered.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct OpenExternal {
    /// The other run.
    #[n(0)]
    pub target: External,
    /// A cancel, or else a signal.
    #[n(1)]
    pub cancel: bool,
    /// The turn that asked for it.
    #[n(2)]
    pub turn: EventId,
}

/// An update that was accepted.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct OpenUpdate {
    /// Which update.
    #[n(0)]
    pub name: Name,
    /// Its `UpdateAccepted`; 0 while the code has not looked.
    #[n(1)]
    pub accepted: EventId,
    /// It is answered.
    #[n(2)]
    pub done: bool,
}

impl State {
    /// The state before the first event.
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            started: Box::default(),
            started_at: Time::default(),
            status: Status::Running,
            next_event: EventId(1),
            time: Time::default(),
            cancel: None,
            activities: BTreeMap::new(),
            timers: BTreeMap::new(),
            children: BTreeMap::new(),
            externals: BTreeMap::new(),
            updates: BTreeMap::new(),
            requests: Requests::default(),
            turn_scheduled: None,
            turn_started: None,
            last_started: EventId(0),
            last_completed: EventId(0),
            delayed: false,
            search: SearchAttributes::new(),
            memo: Fields::new(),
            bytes: 0,
            signals: 0,
            skipped: 0,
            cancelled: Ranges::default(),
            detached: Ranges::default(),
            since: Time::default(),
            cancel_at: None,
            fork: None,
            unread: Unread::default(),
        }
    }

    /// Folds a whole history.
    pub fn of<'e>(run: RunId, events: impl IntoIterator<Item = &'e Event>) -> Self {
        let mut state = Self::new(run);
        events.into_iter().for_each(|event| state.evolve(event));
        state
    }

    /// The rules that the run was born with.
    pub fn rules(&self) -> Rules {
        self.started.rules
    }

    /// The newest fork of its chain, up to this run.
    pub fn branch(&self) -> Option<RunId> {
        self.fork.or(self.started.branch)
    }

    /// The first run of the chain at the top of its tree.
    pub fn tree(&self) -> RunId {
        self.started.tree.unwrap_or(self.started.first_run)
    }

    /// The open child that a message says has ended. Its number may be that of a child of another
    /// run with the same workflow id.
    pub(crate) fn ended(&self, end: &EndChild) -> Option<&OpenChild> {
        let open = self.children.get(&end.child);
        open.filter(|open| end.first.is_none_or(|first| first == open.run))
    }

    /// How long a remote turn may take.
    pub fn turn_timeout(&self) -> Span {
        self.started.turn_timeout.unwrap_or(Span(limits::TURN_TIMEOUT))
    }

    /// The state after one more event.
    pub fn evolve(&mut self, event: &Event) {
        self.next_event = event.id.plus(1);
        self.time = self.time.max(event.time);
        event.notes.iter().for_each(|note| self.evolve_note(event.id, note));
        use EventKind as K;
        match &event.kind {
            K::WorkflowStarted(e) => workflow::started(self, event.time, e),
            K::WorkflowSignalled(e) => workflow::signalled(self, event.id, e),
            K::WorkflowCancelRequested(e) => workflow::cancel_requested(self, event, e),
            K::WorkflowCompleted(_) => workflow::closed(self, Status::Completed),
            K::WorkflowFailed(_) => workflow::closed(self, Status::Failed),
            K::WorkflowTimedOut(_) => workflow::closed(self, Status::TimedOut),
            K::WorkflowCancelled(_) => workflow::closed(self, Status::Cancelled),
            K::WorkflowTerminated(_) => workflow::closed(self, Status::Terminated),
            K::WorkflowContinuedAsNew(_) => workflow::closed(self, Status::ContinuedAsNew),
            K::TurnScheduled(_) => turn::scheduled(self, event.id),
            K::TurnStarted(_) => self.turn_started = Some(event.id),
            K::TurnCompleted(e) => turn::completed(self, event.id, e),
            K::TurnFailed(e) => turn::failed(self, event.time, e),
            K::TurnTimedOut(_) => turn::over(self),
            K::ActivityScheduled(e) => activity::scheduled(self, event.id, e),
            K::ActivityStarted(_) | K::MarkerRecorded(_) => {}
            K::ActivityCancelRequested(e) => activity::cancel(self, e.activity, event.id),
            K::ActivityCompleted(e) => activity::over(self, e.activity),
            K::ActivityFailed(e) => activity::over(self, e.activity),
            K::ActivityTimedOut(e) => activity::over(self, e.activity),
            K::ActivityCancelled(e) => activity::over(self, e.activity),
            K::TimerStarted(e) => timer::started(self, event, e),
            K::TimerFired(e) => timer::over(self, e.timer),
            K::TimerCancelled(e) => timer::over(self, e.timer),
            K::ChildInitiated(e) => child::initiated(self, event.id, e),
            K::ChildStarted(e) => child::started(self, event.id, e),
            K::ChildStartFailed(e) => child::over(self, e.child),
            K::ChildCompleted(e) => child::over(self, e.child),
            K::ChildFailed(e) => child::over(self, e.child),
            K::ChildCancelled(e) => child::over(self, e.child),
            K::ChildTimedOut(e) => child::over(self, e.child),
            K::ChildTerminated(e) => child::over(self, e.child),
            K::ExternalCancelInitiated(e) => external::cancel(self, event.id, e),
            K::ExternalSignalInitiated(e) => external::signal(self, event.id, e),
            K::ExternalCancelRequested(e) => external::over(self, e.initiated),
            K::ExternalCancelFailed(e) => external::over(self, e.initiated),
            K::ExternalSignalled(e) => external::over(self, e.initiated),
            K::ExternalSignalFailed(e) => external::over(self, e.initiated),
            K::SearchUpserted(e) => workflow::search(self, e),
            K::MemoModified(e) => workflow::memo(self, e),
            K::UpdateAdmitted(e) => update::admitted(self, e),
            K::UpdateAccepted(e) => update::accepted(self, event.id, e),
            K::UpdateCompleted(e) => update::completed(self, e),
        }
        // The first event says whose rules they are.
        self.bytes += self.rules().weigh(event);
    }

    fn evolve_note(&mut self, event: EventId, note: &Note) {
        match note {
            Note::Cancels(decisions) => activity::cancelled(self, event, decisions),
            Note::Skipped(ranges) => activity::skipped(self, ranges),
            Note::Detached(ranges) => activity::detached(self, event, ranges),
            Note::CancelledOne(target, _) => activity::cancel(self, *target, event),
            Note::RefusedUpdates(ids) => update::refused(self, ids),
            Note::Hastened(cause) => workflow::hastened(self, cause),
            Note::Received(ranges) => self.unread.receive(ranges),
            Note::Scopes(_) | Note::Cause(_) | Note::Rung(_) | Note::Outstanding(_) => {}
        }
    }
}
