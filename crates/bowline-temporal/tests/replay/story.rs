//! A history as core writes it, told line by line.
//!
//! Every story goes through core's own encoding before it is translated, as a stored one does.
//! The first completed turn says that its SDK checks ids and types: without that remark core
//! compares little.

use std::time::Duration;

use bowline_core::{
    ActivityCancelRequested, ActivityCancelled, ActivityCompleted, ActivityFailed, ActivityId,
    ActivityScheduled, ActivitySpec, ActivityStarted, ActivityTimedOut, Batch, Blob, Event,
    EventId, EventKind, Failure, Identity, Name, Namespace, Payload, Queue, RetryState, Rules,
    RunId, Span, Time, Timeout, Timeouts, TimerCancelled, TimerFired, TimerId, TimerStarted,
    TurnCompleted, TurnFailed, TurnFault, TurnScheduled, TurnStarted, TurnTimedOut, WorkflowId,
    WorkflowSignalled, WorkflowStarted,
};
use bowline_temporal::translate::{self, Run};
use prost::Message;
use temporalio_protos::temporal::api::{
    common::v1 as wire, history::v1::History, sdk::v1::WorkflowTaskCompletedMetadata,
};

/// The workflow id of every story.
pub(crate) const WORKFLOW_ID: &str = "w";

/// What the newest SDKs say of themselves with the first turn that they complete.
const FLAGS: &[u32] = &[1, 2, 3];

/// A run's id.
pub(crate) fn run(number: u128) -> RunId {
    RunId { namespace: Namespace(1), uuid: number }
}

/// A value as an SDK sends it.
pub(crate) fn sent(text: &str) -> Option<Payload> {
    let metadata = [("encoding".to_owned(), b"json/plain".to_vec())].into();
    let data = text.as_bytes().to_vec();
    let payload = wire::Payload { metadata, data, ..Default::default() };
    Some(translate::keep(&wire::Payloads { payloads: vec![payload] }))
}

/// A history in the making.
pub(crate) struct Story {
    events: Vec<Event>,
    /// The last `TurnCompleted`.
    pub(crate) turn: EventId,
    flags: &'static [u32],
}

impl Story {
    /// A run that began, with an input.
    pub(crate) fn new() -> Self {
        let mut story = Self { events: Vec::new(), turn: EventId(0), flags: FLAGS };
        story.push(WorkflowStarted {
            name: Name::from("Workflow"),
            workflow_id: WorkflowId::from(WORKFLOW_ID),
            queue: Queue::from("own"),
            rules: Rules::REMOTE,
            input: sent("[1]"),
            first_run: run(1),
            original_run: run(1),
            attempt: 1,
            ..Default::default()
        });
        story
    }

    /// The same, but the SDK's remarks about itself are lost.
    pub(crate) fn without_remarks() -> Self {
        Self { flags: &[], ..Self::new() }
    }

    /// The next event.
    pub(crate) fn push(&mut self, kind: impl Into<EventKind>) -> EventId {
        let id = EventId(self.events.len() as u64 + 1);
        let time = Time(1_800_000_000_000_000 + id.0.cast_signed() * 1_000);
        self.events.push(Event { id, time, kind: kind.into(), notes: vec![], wire: None });
        id
    }

    fn last(&self) -> EventId {
        EventId(self.events.len() as u64)
    }

    /// What an SDK is shown, after a trip through core's encoding.
    pub(crate) fn history(&self) -> History {
        let stored = Batch::of(&self.events).expect("a story has events").events().expect("intact");
        assert_eq!(stored, self.events);
        let run = Run { namespace: "space", namespace_id: "space-id", queue: "own" };
        translate::history(&stored, run).expect("a story has a translation")
    }

    /// The names of the events, for messages.
    pub(crate) fn names(&self) -> Vec<String> {
        self.events.iter().map(|event| format!("{} {}", event.id, event.kind.name())).collect()
    }

    /// A turn that is wanted.
    pub(crate) fn turn_scheduled(&mut self) -> EventId {
        self.push(TurnScheduled { attempt: 1, ..Default::default() })
    }

    /// A worker takes the turn that was just scheduled.
    pub(crate) fn turn_started(&mut self) -> EventId {
        let scheduled = self.last();
        self.push(TurnStarted { scheduled, worker: Identity::from("me"), ..Default::default() })
    }

    /// The worker answers.
    pub(crate) fn turn_completed(&mut self) -> EventId {
        let started = self.last();
        let remarks = WorkflowTaskCompletedMetadata {
            core_used_flags: std::mem::take(&mut self.flags).to_vec(),
            ..Default::default()
        };
        self.turn = self.push(TurnCompleted {
            scheduled: EventId(started.0 - 1),
            started,
            worker: Identity::from("me"),
            sdk_metadata: Some(Blob::from(remarks.encode_to_vec())),
            ..Default::default()
        });
        self.turn
    }

    /// A whole turn.
    pub(crate) fn turn(&mut self) -> EventId {
        self.turn_scheduled();
        self.turn_started();
        self.turn_completed()
    }

    /// The turn in a worker's hands is void.
    pub(crate) fn turn_failed(&mut self, fault: TurnFault, forked: Option<(RunId, RunId)>) {
        let started = self.last();
        let scheduled = EventId(started.0 - 1);
        self.push(TurnFailed { scheduled, started, fault, forked, ..Default::default() });
    }

    /// The last scheduled turn took too long.
    pub(crate) fn turn_timed_out(&mut self, scheduled: EventId, timeout: Timeout) {
        let started = match timeout {
            Timeout::ScheduleToStart => EventId(0),
            _ => self.last(),
        };
        self.push(TurnTimedOut { scheduled, started, timeout });
    }

    /// A signal arrives.
    pub(crate) fn signalled(&mut self, name: &str) -> EventId {
        self.push(WorkflowSignalled { name: Name::from(name), ..Default::default() })
    }

    /// An activity is scheduled, under the id that the script gives it.
    pub(crate) fn activity(&mut self, id: &str) -> EventId {
        let start_to_close = Some(Span(Duration::from_secs(5)));
        let spec = ActivitySpec {
            id: ActivityId::from(id),
            name: Name::from("Activity"),
            queue: Queue::from("own"),
            timeouts: Timeouts { start_to_close, ..Default::default() },
            ..Default::default()
        };
        self.push(ActivityScheduled { spec, turn: self.turn })
    }

    /// It had begun.
    pub(crate) fn activity_started(&mut self, activity: EventId, attempt: u32) -> EventId {
        let last_failure = (attempt > 1).then(|| Failure::new("not yet"));
        self.push(ActivityStarted { activity, attempt, last_failure, ..Default::default() })
    }

    /// It ended with the result 42.
    pub(crate) fn activity_completed(&mut self, activity: EventId, started: EventId) -> EventId {
        self.push(ActivityCompleted { activity, started, result: sent("42"), ..<_>::default() })
    }

    /// It ended with a failure.
    pub(crate) fn activity_failed(&mut self, activity: EventId, started: EventId) -> EventId {
        let failure = Failure::new("no").kind("Bad").final_();
        let retry = RetryState::NonRetryable;
        self.push(ActivityFailed { activity, started, failure, retry, ..Default::default() })
    }

    /// It took too long.
    pub(crate) fn activity_timed_out(&mut self, activity: EventId, started: EventId) -> EventId {
        self.push(ActivityTimedOut {
            activity,
            started,
            timeout: Timeout::StartToClose,
            retry: RetryState::AttemptsUsed,
            last_failure: None,
            heartbeat: sent("half"),
        })
    }

    /// The code asks for its cancel.
    pub(crate) fn activity_cancel_requested(&mut self, activity: EventId) -> EventId {
        self.push(ActivityCancelRequested { activity, turn: self.turn })
    }

    /// It ended cancelled.
    pub(crate) fn activity_cancelled(
        &mut self,
        activity: EventId,
        started: EventId,
        requested: EventId,
    ) -> EventId {
        self.push(ActivityCancelled { activity, started, requested, ..Default::default() })
    }

    /// A timer is set.
    pub(crate) fn timer(&mut self, id: &str) -> EventId {
        let after = Span(Duration::from_secs(1));
        self.push(TimerStarted { id: TimerId::from(id), after, turn: self.turn })
    }

    /// It rings.
    pub(crate) fn timer_fired(&mut self, timer: EventId, id: &str) -> EventId {
        self.push(TimerFired { timer, id: TimerId::from(id) })
    }

    /// It is unset.
    pub(crate) fn timer_cancelled(&mut self, timer: EventId, id: &str) -> EventId {
        let id = TimerId::from(id);
        self.push(TimerCancelled { timer, id, turn: self.turn, ..Default::default() })
    }
}
