//! Decisions for the cases: commits whose events and rows belong together, as the engine's do.

use std::sync::Arc;

use bowline_core::{
    ActivityScheduled, ActivitySpec, Address, Alarm, AlarmKind, Batch, Birth, Cancel, Cause,
    ChildInitiated, CommitId, Event, EventId, EventKind, Holder, Identity, Kind, Link,
    MarkerRecorded, Message, Note, Outstanding, Parent, ParentClose, Post, Ranges, RequestId,
    Reuse, Rules, RunId, Signal, Status, Terminate, Time, TimerStarted, Turn as TurnOut,
    TurnRecord, WorkflowCancelled, WorkflowCompleted, WorkflowFailed, WorkflowStarted,
    WorkflowTerminated,
};

use crate::{Close, Commit, Head, NewActivity, StartNow};

/// A commit in the making.
#[derive(Clone)]
pub(in crate::conformance) struct Turn {
    pub(in crate::conformance) commit: Commit,
    events: Vec<Event>,
    head: Head,
}

impl Turn {
    /// Decided on the run as it stands, by whoever holds it.
    pub(in crate::conformance) fn new(head: &Head, id: u128, now: Time) -> Self {
        let commit = Commit { consumed: head.inbox, ..Commit::unchanged(head, CommitId(id), now) };
        let mut turn = Self { commit, events: Vec::new(), head: head.clone() };
        turn.event(MarkerRecorded::default());
        turn
    }

    /// Without any event, not even the one that every turn begins with.
    pub(in crate::conformance) fn silent(mut self) -> Self {
        self.commit.next_event = EventId(self.commit.next_event.0 - self.events.len() as u64);
        self.events.clear();
        self
    }

    pub(in crate::conformance) fn event(&mut self, kind: impl Into<EventKind>) -> EventId {
        let id = self.commit.next_event;
        let (time, kind) = (self.commit.now, kind.into());
        self.events.push(Event { id, time, kind, notes: Vec::new(), wire: None });
        self.commit.next_event = id.plus(1);
        id
    }

    pub(in crate::conformance) fn note(&mut self, note: Note) {
        self.events.last_mut().expect("there is an event").notes.push(note);
    }

    pub(in crate::conformance) fn schedule(&mut self, spec: ActivitySpec) -> EventId {
        let activity = self.event(ActivityScheduled { spec: spec.clone(), turn: EventId(1) });
        self.commit.activities.push(NewActivity { activity, spec: Arc::new(spec), start: None });
        activity
    }

    pub(in crate::conformance) fn schedule_many(
        &mut self,
        count: usize,
        spec: &ActivitySpec,
    ) -> Ranges {
        (0..count).map(|_| self.schedule(spec.clone())).collect()
    }

    /// Starts the newest activity in the same commit.
    pub(in crate::conformance) fn start_now(&mut self, holder: Holder) {
        let start = StartNow { holder, worker: Identity::from("suite") };
        self.commit.activities.last_mut().expect("there is one").start = Some(start);
    }

    pub(in crate::conformance) fn cancel(&mut self, targets: impl Into<Ranges>, who: &str) {
        self.commit.cancels.push((targets.into(), cause(who)));
    }

    pub(in crate::conformance) fn timer(&mut self, due: Time) -> Alarm {
        let timer = self.event(TimerStarted::default());
        let alarm = Alarm { due, what: AlarmKind::Timer(timer) };
        self.commit.arm.push(alarm);
        alarm
    }

    /// Begins a child; tells its `ChildInitiated`.
    pub(in crate::conformance) fn child(
        &mut self,
        mut birth: Birth,
        close: ParentClose,
    ) -> EventId {
        let initiated = self.event(ChildInitiated { run: birth.run, ..ChildInitiated::default() });
        let root = self.commit.run;
        if let Some(started) = started(&mut birth) {
            let (run, workflow_id) = (self.commit.run, "parent".into());
            started.parent = Some(Parent { run, workflow_id, initiated, close });
            started.root = Some((root, "parent".into()));
            started.tree = Some(self.head.tree);
        }
        birth.link = Link::Child(initiated);
        self.commit.births.push(birth);
        initiated
    }

    /// Goes on as another run.
    pub(in crate::conformance) fn continue_as(&mut self, mut birth: Birth) {
        birth.link = Link::Next;
        let run = birth.run;
        let head = &self.head;
        if let Some(started) = started(&mut birth) {
            started.first_run = head.first_run;
            started.link = Some(head.link + 1);
            started.tree = Some(head.tree).filter(|tree| *tree != head.first_run);
            started.previous_run = Some(head.run);
            started.parent = started.parent.take().or(head.parent.map(|(run, initiated)| {
                let (workflow_id, close) = ("parent".into(), ParentClose::default());
                Parent { run, workflow_id, initiated, close }
            }));
        }
        self.commit.births.push(birth);
        self.close(Status::ContinuedAsNew);
        self.commit.close = Some(Close { successor: Some(run), delete: false });
    }

    /// Sends a message; tells the event that wants to hear of it.
    pub(in crate::conformance) fn send(&mut self, to: Address, message: Message) -> EventId {
        let answer = self.event(MarkerRecorded::default());
        self.commit.posts.push(Post { to, message, child_of: None, answer: Some(answer) });
        answer
    }

    pub(in crate::conformance) fn close(&mut self, status: Status) {
        match status {
            Status::Completed | Status::ContinuedAsNew => self.event(WorkflowCompleted::default()),
            Status::Cancelled => self.event(WorkflowCancelled::default()),
            Status::Terminated => {
                self.event(WorkflowTerminated { cause: cause("close"), details: None })
            }
            _ => self.event(WorkflowFailed::default()),
        };
        self.commit.status = status;
        self.commit.close = Some(Close::default());
    }

    /// Closes, and names what it leaves alone.
    pub(in crate::conformance) fn close_leaving(&mut self, status: Status, left: Ranges) {
        self.close(status);
        self.note(Note::Outstanding(Outstanding { left, ..Outstanding::default() }));
    }

    pub(in crate::conformance) fn release(&mut self) {
        self.commit.release = true;
    }

    pub(in crate::conformance) fn build(self) -> Commit {
        Commit { batch: Batch::of(&self.events), ..self.commit }
    }
}

pub(in crate::conformance) fn birth(run: RunId, workflow_id: &str, now: Time) -> Birth {
    let started = WorkflowStarted {
        name: "flow".into(),
        workflow_id: workflow_id.into(),
        queue: "turns".into(),
        first_run: run,
        original_run: run,
        attempt: 1,
        ..WorkflowStarted::default()
    };
    let kind = started.into();
    Birth {
        run,
        events: vec![Event { id: EventId(1), time: now, kind, notes: Vec::new(), wire: None }],
        record: TurnRecord::default(),
        alarms: Vec::new(),
        activities: Vec::new(),
        wake: true,
        reuse: Reuse::Allow,
        link: Link::None,
    }
}

/// A run under remote rules whose first turn waits for a worker.
pub(in crate::conformance) fn remote(run: RunId, workflow_id: &str, now: Time) -> Birth {
    let mut birth = birth(run, workflow_id, now);
    if let Some(started) = started(&mut birth) {
        started.rules = Rules { kind: Kind::Remote, ..Rules::REMOTE };
    }
    birth.record.turn = Some(turn_out(EventId(2), now));
    birth.wake = false;
    birth
}

/// A turn that waits for a remote worker.
pub(in crate::conformance) fn turn_out(scheduled: EventId, now: Time) -> TurnOut {
    TurnOut {
        attempt: 1,
        scheduled,
        scheduled_at: now,
        first_scheduled_at: now,
        queue: "remote".into(),
        sticky: false,
        provisional: false,
        speculative: false,
        started: None,
        deadline: None,
        heartbeat_since: None,
    }
}

/// The first event of a birth.
pub(in crate::conformance) fn started(birth: &mut Birth) -> Option<&mut WorkflowStarted> {
    match birth.events.first_mut().map(|event| &mut event.kind) {
        Some(EventKind::WorkflowStarted(started)) => Some(started),
        _ => None,
    }
}

pub(in crate::conformance) fn spec(name: &str) -> ActivitySpec {
    ActivitySpec { name: name.into(), queue: "work".into(), ..ActivitySpec::default() }
}

pub(in crate::conformance) fn cause(who: &str) -> Cause {
    Cause::requested("the suite says so", who)
}

pub(in crate::conformance) fn signal(name: &str, request: &str) -> Message {
    let (name, request_id) = (name.into(), RequestId::from(request));
    Message::Signal(Box::new(Signal { name, request_id, ..Signal::default() }))
}

pub(in crate::conformance) fn cancel(who: &str, request: &str) -> Message {
    let (cause, request_id) = (cause(who), RequestId::from(request));
    Message::Cancel(Box::new(Cancel { cause, request_id, external: None, wire: None }))
}

pub(in crate::conformance) fn terminate(who: &str) -> Message {
    Message::Terminate(Box::new(Terminate { cause: cause(who), details: None, wire: None }))
}

/// Signals by their names, everything else by its kind: an inbox on one line.
pub(in crate::conformance) fn names(inbox: &[Message]) -> Vec<String> {
    let kind = |other: &Message| format!("{other:?}").split(['(', ' ']).next().map(String::from);
    let name = |message: &Message| match message {
        Message::Signal(signal) => signal.name.to_string(),
        other => kind(other).unwrap_or_default(),
    };
    inbox.iter().map(name).collect()
}
