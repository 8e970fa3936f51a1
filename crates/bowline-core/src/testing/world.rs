//! One run and what surrounds it.

use std::collections::BTreeSet;

use super::{print, say};
use crate::{
    Alarm, AlarmKind, Batch, Begin, Birth, Command, Decided, Draft, Effect, Event, FailTurn, Link,
    Message, Number, Received, Refusal, Reuse, RunId, Span, StartTurn, State, Sticky, Time, Token,
    TurnAnswer, TurnFault, TurnRecord, TurnVerdict, WorkflowStarted, begin_run, codec,
    lawful::Lawful,
};

/// One run and what surrounds it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) state: State,
    pub(crate) record: TurnRecord,
    pub(crate) history: Vec<Event>,
    pub(crate) inbox: Vec<Received>,
    pub(crate) consumed: Number,
    pub(crate) alarms: BTreeSet<Alarm>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) now: Time,
    pub(crate) token: Option<Token>,
    pub(crate) successor: Option<RunId>,
    /// What the last decision said about it.
    pub(crate) wants_turn: bool,
    pub(crate) told: String,
    /// The next answer makes its worker's queue the run's own.
    pub(crate) sticky: bool,
    /// Looks at every commit: the world before it, and after.
    pub(crate) watch: Option<fn(&Self, &Self)>,
    number: u64,
    lawful: Lawful,
}

impl World {
    /// A native run that had no turn yet.
    pub(crate) fn native() -> Self {
        Self::of(say::native())
    }

    /// A remote run whose first turn waits.
    pub(crate) fn remote() -> Self {
        Self::of(say::remote())
    }

    /// A run that was just started so.
    pub(crate) fn of(started: WorkflowStarted) -> Self {
        Self::begun(Begin {
            run: say::run(1),
            started,
            reuse: Reuse::Allow,
            link: Link::None,
            signals: Vec::new(),
            wire: None,
            now: Time(0),
        })
    }

    /// A run that was just begun.
    pub(crate) fn begun(first: Begin) -> Self {
        let now = first.now;
        Self::born(begin_run(first), now)
    }

    /// A run that was born somehow.
    pub(crate) fn born(birth: Birth, now: Time) -> Self {
        let mut world = Self {
            state: State::new(birth.run),
            record: TurnRecord::default(),
            history: Vec::new(),
            inbox: Vec::new(),
            consumed: Number(0),
            alarms: BTreeSet::new(),
            effects: Vec::new(),
            now,
            token: None,
            successor: None,
            wants_turn: false,
            told: String::new(),
            sticky: false,
            watch: None,
            number: 0,
            lawful: Lawful::new(birth.run),
        };
        let mut effects: Vec<_> = birth.alarms.iter().copied().map(Effect::Arm).collect();
        let activities = birth.activities.iter();
        effects.extend(activities.map(|(id, spec)| Effect::QueueActivity(*id, spec.clone())));
        world.commit(Decided {
            state: State::of(birth.run, &birth.events),
            record: birth.record,
            events: birth.events,
            effects,
            consumed: Number(0),
            forgotten: Vec::new(),
            successor: None,
            delete: false,
            wants_turn: false,
        });
        if birth.wake {
            world.post(Message::Wake);
        }
        world
    }

    /// Time passes, in seconds.
    pub(crate) fn pass(&mut self, seconds: u64) -> &mut Self {
        self.now = self.now.after(std::time::Duration::from_secs(seconds));
        self
    }

    /// A message arrives.
    pub(crate) fn post(&mut self, message: Message) -> &mut Self {
        self.number += 1;
        self.inbox.push(Received { number: Number(self.number), at: self.now, message });
        self
    }

    /// Time passes until the next alarm, which rings.
    pub(crate) fn ring(&mut self) -> &mut Self {
        let alarm = self.alarms.pop_first().expect("an alarm is set");
        self.now = self.now.max(alarm.due);
        let what = alarm.what;
        self.say(format_args!("- {} rings {what:?}", print::moment(alarm.due)));
        match what.message() {
            Some(message) => self.post(message),
            None => self,
        }
    }

    /// An alarm rings that was taken back too late.
    pub(crate) fn ring_late(&mut self, what: AlarmKind) -> &mut Self {
        self.post(what.message().expect("a run's own alarm"))
    }

    pub(crate) fn draft(&self) -> Draft {
        let spare = say::run(100);
        Draft::new(self.state.clone(), self.record.clone(), self.consumed, self.now, spare)
    }

    /// Intake, and nothing else.
    pub(crate) fn take(&mut self) -> &mut Self {
        let mut draft = self.draft();
        draft.intake(&self.inbox);
        self.commit(draft.finish());
        self
    }

    /// A whole turn, under either rules.
    pub(crate) fn turn(&mut self, commands: impl IntoIterator<Item = Command>) -> &mut Self {
        match self.state.rules().is_native() {
            true => self.native_turn(commands),
            false => self.start().answer(commands),
        }
    }

    fn native_turn(&mut self, commands: impl IntoIterator<Item = Command>) -> &mut Self {
        let mut draft = self.draft();
        draft.intake(&self.inbox);
        draft.open_turn();
        match draft.complete_turn(commands.into_iter().collect()) {
            Ok(()) => self.commit(draft.finish()),
            Err(refusal) => self.refused(&refusal),
        }
        self
    }

    /// A worker takes the turn that waits.
    pub(crate) fn start(&mut self) -> &mut Self {
        let mut draft = self.draft();
        draft.intake(&self.inbox);
        match draft.start_turn(StartTurn { worker: "worker".into(), ..StartTurn::default() }) {
            Ok(token) => {
                self.token = Some(token);
                self.commit(draft.finish());
            }
            Err(refusal) => self.refused(&refusal),
        }
        self
    }

    /// The worker answers.
    pub(crate) fn answer(&mut self, commands: impl IntoIterator<Item = Command>) -> &mut Self {
        self.answer_so(commands, |_| {})
    }

    /// The worker only wants to keep a local activity alive.
    pub(crate) fn heartbeat(&mut self) -> &mut Self {
        self.answer_so([], |answer| answer.again = true)
    }

    pub(crate) fn answer_so(
        &mut self,
        commands: impl IntoIterator<Item = Command>,
        change: impl FnOnce(&mut TurnAnswer),
    ) -> &mut Self {
        let Some(token) = self.token else { return self };
        let commands = commands.into_iter().map(Into::into).collect();
        let mut answer = TurnAnswer::new(token, commands);
        if self.sticky {
            let patience = Span(std::time::Duration::from_secs(10));
            answer.sticky = Some(Sticky { queue: "worker's own".into(), patience });
        }
        change(&mut answer);
        let mut draft = self.draft();
        match draft.answer_turn(answer, &self.inbox) {
            Ok(verdict) => {
                if verdict != TurnVerdict::Taken {
                    self.say(format_args!("! {}", print::verdict(&verdict)));
                }
                self.commit(draft.finish());
            }
            Err(refusal) => self.refused(&refusal),
        }
        self
    }

    /// The worker says that it cannot.
    pub(crate) fn fail(&mut self, fault: TurnFault) -> &mut Self {
        let token = self.token.expect("a turn was handed out");
        let fail = FailTurn {
            token,
            worker: "worker".into(),
            fault,
            failure: None,
            wire: None,
            hopeless: None,
        };
        let mut draft = self.draft();
        match draft.fail_turn(fail, &self.inbox) {
            Ok(()) => self.commit(draft.finish()),
            Err(refusal) => self.refused(&refusal),
        }
        self
    }

    /// The turn that waits or is out, in one line.
    pub(crate) fn show_turn(&mut self) -> &mut Self {
        let line = print::turn(&self.record);
        self.say(format_args!("= {line}"));
        self
    }

    fn refused(&mut self, refusal: &Refusal) {
        self.say(format_args!("! {refusal}"));
    }

    pub(crate) fn say(&mut self, line: std::fmt::Arguments<'_>) {
        self.told.push_str(&line.to_string());
        self.told.push('\n');
    }

    /// Writes a decision, and checks it.
    #[track_caller]
    pub(crate) fn commit(&mut self, decided: Decided) {
        let before = self.watch.map(|watch| (watch, self.clone()));
        for event in &decided.events {
            let line = print::event(event);
            self.say(format_args!("{line}"));
            self.lawful.check(event).unwrap_or_else(|broken| panic!("{broken}\n{}", self.told));
        }
        for effect in &decided.effects {
            let line = print::effect(effect);
            self.say(format_args!("> {line}"));
            match effect {
                Effect::Arm(alarm) => drop(self.alarms.insert(*alarm)),
                Effect::Disarm(alarm) => drop(self.alarms.remove(alarm)),
                _ => {}
            }
        }
        self.lawful.check_commit().unwrap_or_else(|broken| panic!("{broken}\n{}", self.told));
        if let Some(batch) = Batch::of(&decided.events) {
            assert_eq!(batch.events().unwrap(), decided.events, "events survive their encoding");
        }
        self.history.extend(decided.events);
        self.effects.extend(decided.effects);
        self.successor = self.successor.or(decided.successor);
        assert!(decided.consumed >= self.consumed, "what is consumed stays consumed");
        self.consumed = decided.consumed;
        self.inbox.retain(|received| {
            received.number > decided.consumed && !decided.forgotten.contains(&received.number)
        });
        self.wants_turn = decided.wants_turn;
        self.state = decided.state;
        self.record = decided.record;
        self.check_state();
        if let Some((watch, before)) = before {
            watch(&before, self);
        }
    }

    /// What must hold of the state and the turn record, whatever happened.
    #[track_caller]
    fn check_state(&self) {
        let (state, record) = (&self.state, &self.record);
        assert_eq!(*state, State::of(state.run, &self.history), "state is the fold of history");
        let kept: State = codec::decode(&codec::encode(state)).unwrap();
        assert_eq!(kept, *state, "a snapshot reads back");
        let kept: TurnRecord = codec::decode(&codec::encode(record)).unwrap();
        assert_eq!(kept, *record, "a turn record reads back");
        if !state.status.is_open() {
            let nothing = TurnRecord { begins_at: record.begins_at, ..TurnRecord::default() };
            assert_eq!(*record, nothing, "a closed run keeps nothing but when it was to begin");
            let own = self.alarms.iter().filter(|a| !matches!(a.what, AlarmKind::Activity(_)));
            assert_eq!(own.count(), 0, "a closed run has no alarms: {:?}", self.alarms);
            return;
        }
        let real = record.turn.as_ref().filter(|turn| !turn.provisional);
        assert_eq!(state.turn_scheduled, real.map(|turn| turn.scheduled));
        let started = real.and_then(|turn| turn.started.as_ref());
        assert_eq!(state.turn_started, started.map(|start| start.event));
        if let Some(turn) = record.turn.as_ref().filter(|turn| turn.provisional) {
            assert_eq!(turn.scheduled, state.next_event, "a provisional turn comes next");
        }
    }
}
