//! Each rule, broken once. A checker that never says no would be worth nothing.

mod note;
mod thing;

use super::{Lawful, check};
use crate::*;

/// A history told event by event; ids and times come by themselves.
#[derive(Clone)]
struct Tale(Vec<Event>);

impl Tale {
    fn new(rules: Rules) -> Self {
        let started = WorkflowStarted { rules, attempt: 1, ..WorkflowStarted::default() };
        Self(Vec::new()).then(started)
    }

    fn native() -> Self {
        Self::new(Rules::NATIVE)
    }

    fn remote() -> Self {
        Self::new(Rules::REMOTE)
    }

    fn next(&self) -> EventId {
        EventId(self.0.len() as u64 + 1)
    }

    fn then(self, kind: impl Into<EventKind>) -> Self {
        self.noted(kind, Vec::new())
    }

    fn noted(mut self, kind: impl Into<EventKind>, notes: Vec<Note>) -> Self {
        let id = self.next();
        let time = Time(id.0.cast_signed());
        self.0.push(Event { id, time, kind: kind.into(), notes, wire: None });
        self
    }

    fn scheduled(self) -> Self {
        self.then(TurnScheduled { attempt: 1, ..TurnScheduled::default() })
    }

    fn out(self) -> Self {
        let scheduled = self.next();
        self.scheduled().then(TurnStarted { scheduled, ..TurnStarted::default() })
    }

    /// A whole turn; commands may follow.
    fn turn(self) -> Self {
        self.turn_noted(Vec::new())
    }

    fn turn_noted(self, notes: Vec<Note>) -> Self {
        let (scheduled, started) = (self.next(), self.next().plus(1));
        self.out().noted(TurnCompleted { scheduled, started, ..Default::default() }, notes)
    }

    /// The turn that was told last.
    fn last_turn(&self) -> EventId {
        let mut turns = self.0.iter().filter(|e| matches!(e.kind, EventKind::TurnCompleted(_)));
        turns.next_back().map_or(EventId(0), |event| event.id)
    }

    fn activity(self, id: &str) -> Self {
        let spec = ActivitySpec { id: id.into(), ..ActivitySpec::default() };
        let turn = self.last_turn();
        self.then(ActivityScheduled { spec, turn })
    }

    fn timer(self, id: &str) -> Self {
        let turn = self.last_turn();
        self.then(TimerStarted { id: id.into(), after: Span::default(), turn })
    }

    fn child(self, close: ParentClose) -> Self {
        let turn = self.last_turn();
        let spec = ChildSpec { workflow_id: "c".into(), close, ..ChildSpec::default() };
        self.then(ChildInitiated { spec, run: run(2), turn })
    }

    fn child_began(self, child: u64) -> Self {
        let workflow_id = "c".into();
        let child = EventId(child);
        self.then(ChildStarted { child, run: run(2), workflow_id, ..ChildStarted::default() })
    }

    fn signal(self, request: &str) -> Self {
        self.then(WorkflowSignalled { request_id: request.into(), ..Default::default() })
    }

    fn began(self, activity: u64) -> Self {
        let activity = EventId(activity);
        self.then(ActivityStarted { activity, attempt: 1, ..ActivityStarted::default() })
    }

    fn completed(self, activity: u64, started: u64) -> Self {
        let (activity, started) = (EventId(activity), EventId(started));
        self.then(ActivityCompleted { activity, started, ..ActivityCompleted::default() })
    }

    fn closed(self, notes: Vec<Note>) -> Self {
        let turn = self.last_turn();
        self.noted(WorkflowCompleted { turn, ..WorkflowCompleted::default() }, notes)
    }

    #[track_caller]
    fn is_lawful(&self) {
        check(run(1), &self.0).unwrap();
    }

    /// Broken by its last event, or by its end.
    #[track_caller]
    fn breaks(&self, rule: &str) {
        let unlawful = check(run(1), &self.0).expect_err(rule);
        assert_eq!(unlawful.rule, rule, "{unlawful}");
        assert_eq!(unlawful.event.plus(1), self.next(), "{unlawful}");
    }
}

fn run(uuid: u128) -> RunId {
    RunId { namespace: Namespace(1), uuid }
}

#[test]
fn the_frame_of_a_history() {
    let mut gap = Tale::remote().scheduled();
    gap.0[1].id = EventId(3);
    assert_eq!(check(run(1), &gap.0).unwrap_err().rule, "ids rise by one");
    let mut back = Tale::remote().scheduled();
    back.0[1].time = Time(0);
    back.breaks("times never go backwards");
    Tale(Vec::new()).signal("").breaks("a history begins once");
    Tale::remote().then(WorkflowStarted::default()).breaks("a history begins once");
    Tale::remote().turn().closed(vec![]).is_lawful();
    Tale::remote().turn().closed(vec![]).signal("").breaks("nothing follows the closing event");
    let next_run = run(1);
    let turn = EventId(4);
    Tale::remote()
        .turn()
        .then(WorkflowContinuedAsNew { next_run, turn, ..Default::default() })
        .breaks("a run goes on as another one");
}

#[test]
fn attempts_count_from_one() {
    Tale(Vec::new()).then(WorkflowStarted::default()).breaks("attempts count from one");
    Tale::remote().then(TurnScheduled::default()).breaks("attempts count from one");
}

#[test]
fn requests_and_cancels_count_once() {
    Tale::native().signal("a").signal("b").signal("").signal("").is_lawful();
    Tale::native().signal("a").signal("a").breaks("a request is carried out once");
    let cancel = |id: &str| WorkflowCancelRequested {
        cause: Cause::new(Code::Requested),
        request_id: id.into(),
        external: None,
    };
    // A signal and a cancel are two requests, even under one id.
    Tale::native().signal("a").then(cancel("a")).is_lawful();
    Tale::native().then(cancel("a")).then(cancel("b")).breaks("a run is asked to cancel once");
}

#[test]
fn there_is_one_turn_at_a_time_and_its_events_name_each_other() {
    Tale::remote().scheduled().scheduled().breaks("there is one turn at a time");
    let wrong = "a turn's events name each other";
    Tale::remote().then(TurnStarted { scheduled: EventId(1), ..Default::default() }).breaks(wrong);
    let scheduled = EventId(2);
    let tale = Tale::remote().out();
    let ended = |started| TurnCompleted { scheduled, started, ..Default::default() };
    tale.clone().then(ended(EventId(2))).breaks(wrong);
    tale.clone().then(ended(EventId(3))).is_lawful();
    let started = EventId(0);
    tale.clone().then(TurnFailed { scheduled, started, ..Default::default() }).breaks(wrong);
    let timeout = Timeout::StartToClose;
    tale.then(TurnTimedOut { scheduled, started, timeout }).breaks(wrong);
    Tale::remote()
        .scheduled()
        .then(TurnTimedOut { scheduled, started, timeout })
        .breaks("a turn passes the limit of its place");
}

#[test]
fn history_is_frozen_while_a_turn_is_out() {
    Tale::remote().scheduled().signal("").is_lawful();
    Tale::remote().out().signal("").breaks("history is frozen while a turn is out");
    let cause = Cause::new(Code::Requested);
    Tale::remote()
        .out()
        .then(WorkflowTerminated { cause, details: None })
        .breaks("history is frozen while a turn is out");
}

#[test]
fn native_turns_and_later_attempts_are_written_whole() {
    let whole = "a turn that only a success writes is written whole";
    Tale::native().scheduled().signal("").breaks(whole);
    Tale::native().scheduled().breaks(whole);
    let later = Tale::remote()
        .scheduled()
        .then(TurnTimedOut {
            scheduled: EventId(2),
            started: EventId(0),
            timeout: Timeout::ScheduleToStart,
        })
        .then(TurnScheduled { attempt: 2, ..TurnScheduled::default() });
    later.clone().signal("").breaks(whole);
    let (scheduled, started) = (EventId(4), EventId(5));
    let out = later.then(TurnStarted { scheduled, ..TurnStarted::default() });
    out.clone().then(TurnFailed { scheduled, started, ..Default::default() }).breaks(whole);
    out.then(TurnCompleted { scheduled, started, ..Default::default() }).is_lawful();
}

#[test]
fn commands_follow_their_turn() {
    Tale::remote().turn().timer("a").timer("b").activity("c").is_lawful();
    Tale::remote().turn().timer("a").signal("").scheduled().is_lawful();
    let behind = Tale::remote().turn().signal("").timer("a");
    behind.breaks("commands follow their turn");
    let other = Tale::remote().turn().signal("").turn();
    other
        .then(TimerStarted { id: "a".into(), after: Span::default(), turn: EventId(4) })
        .breaks("commands follow their turn");
    Tale::remote().closed(vec![]).breaks("commands follow their turn");
}

#[test]
fn what_a_remote_worker_has_not_seen_has_its_turn() {
    let rule = "what the code has not seen has its turn";
    Tale::remote().breaks(rule);
    Tale::remote().turn().is_lawful();
    Tale::remote().turn().signal("").breaks(rule);
    Tale::remote().turn().signal("").scheduled().is_lawful();
    let late = Tale::remote().turn().signal("").scheduled().signal("");
    late.is_lawful();
    let (scheduled, started) = (EventId(6), EventId(8));
    late.clone()
        .then(TurnStarted { scheduled, ..TurnStarted::default() })
        .then(TurnCompleted { scheduled, started, ..TurnCompleted::default() })
        .is_lawful();
    let (started, timeout) = (EventId(0), Timeout::ScheduleToStart);
    late.then(TurnTimedOut { scheduled, started, timeout }).breaks(rule);
    let delay = Some(Span(std::time::Duration::from_secs(1)));
    let (rules, attempt) = (Rules::REMOTE, 1);
    let started = WorkflowStarted { rules, attempt, delay, ..WorkflowStarted::default() };
    let delayed = Tale(Vec::new()).then(started).signal("");
    delayed.is_lawful();
    let cause = Cause::new(Code::Requested);
    let request_id = RequestId::default();
    delayed.then(WorkflowCancelRequested { cause, request_id, external: None }).breaks(rule);
}

#[test]
fn checking_goes_on_event_by_event() {
    let tale = Tale::native().turn().activity("").began(5).completed(5, 6);
    let mut lawful = Lawful::new(run(1));
    for event in &tale.0 {
        lawful.check(event).unwrap();
    }
    let late = tale.began(5);
    let broken = lawful.check(late.0.last().unwrap()).unwrap_err();
    assert_eq!(
        broken.to_string(),
        "event 8 breaks the rule that an activity ends once: 5 is not open"
    );
}
