//! A live run: messages in, turns through the real rules, and every turn checked by replaying.

use std::sync::Arc;

use bowline_core::{
    Begin, Command, Draft, Event, EventId, EventKind, Link, Message, Number, Received, Reuse,
    RunId, State, Time, TurnRecord, WorkflowStarted, begin_run, lawful::Lawful,
};
use bowline_replay::{Context, Fault, Replay, Workflow};

use super::{Body, show};

/// One run, from its start on.
pub(crate) struct World {
    workflow: Arc<dyn Workflow>,
    pub(crate) replay: Replay,
    pub(crate) state: State,
    pub(crate) history: Vec<Event>,
    /// What each turn asked for, by its `TurnStarted`.
    pub(crate) turns: Vec<(EventId, Vec<Command>)>,
    lawful: Lawful,
    inbox: Vec<Received>,
    next_message: u64,
    pub(crate) now: Time,
    /// Whoever drives it evicts it after every turn.
    pub(crate) evicts: bool,
}

/// The run's id in all tests.
pub(crate) const RUN: RunId = RunId { namespace: bowline_core::Namespace(1), uuid: 77 };

impl World {
    /// Begins a run; its first turn is still to come.
    pub(crate) fn new<F, B>(workflow: F) -> Self
    where
        F: Fn(Context) -> B + Send + Sync + 'static,
        B: Future<Output = Body> + 'static,
    {
        Self::with(workflow, WorkflowStarted::default())
    }

    pub(crate) fn with<F, B>(workflow: F, started: WorkflowStarted) -> Self
    where
        F: Fn(Context) -> B + Send + Sync + 'static,
        B: Future<Output = Body> + 'static,
    {
        let workflow: Arc<dyn Workflow> = Arc::new(move |ctx: Context, _| workflow(ctx));
        let started = WorkflowStarted {
            name: "flow".into(),
            workflow_id: "flow-1".into(),
            queue: "main".into(),
            original_run: RUN,
            first_run: RUN,
            ..started
        };
        let now = Time(1_000_000);
        let (reuse, link, signals, wire) = (Reuse::Allow, Link::None, Vec::new(), None);
        let birth = begin_run(Begin { run: RUN, started, reuse, link, signals, wire, now });
        let mut world = Self {
            replay: Replay::new(workflow.clone(), RUN),
            workflow,
            state: State::of(RUN, &birth.events),
            history: birth.events.clone(),
            turns: Vec::new(),
            lawful: Lawful::new(RUN),
            inbox: Vec::new(),
            next_message: 0,
            now,
            evicts: false,
        };
        birth.events.iter().for_each(|event| world.replay.feed(event).unwrap());
        world.check_law(0);
        if birth.wake {
            world.post(Message::Wake);
        }
        world
    }

    /// Begins a run and has its first turn.
    pub(crate) fn start<F, B>(workflow: F) -> (Self, String)
    where
        F: Fn(Context) -> B + Send + Sync + 'static,
        B: Future<Output = Body> + 'static,
    {
        let mut world = Self::new(workflow);
        let shown = world.turn();
        (world, shown)
    }

    /// Puts a message into the inbox, a second after the one before.
    pub(crate) fn post(&mut self, message: Message) {
        self.next_message += 1;
        self.now = self.now.after(std::time::Duration::from_secs(1));
        self.inbox.push(Received { number: Number(self.next_message), at: self.now, message });
    }

    /// Posts a message and has a turn for it.
    pub(crate) fn send(&mut self, message: Message) -> String {
        self.post(message);
        self.turn()
    }

    /// Posts several and has one turn for all.
    pub(crate) fn send_all(&mut self, messages: impl IntoIterator<Item = Message>) -> String {
        messages.into_iter().for_each(|message| self.post(message));
        self.turn()
    }

    /// Posts a message that is not worth a turn.
    pub(crate) fn idle(&mut self, message: Message) {
        self.post(message);
        assert_eq!(self.try_turn().unwrap(), None, "there was a turn");
    }

    /// Has a turn for what is in the inbox, and shows what it asks for.
    pub(crate) fn turn(&mut self) -> String {
        match self.try_turn() {
            Ok(shown) => shown.expect("there is something to have a turn for"),
            Err(fault) => panic!("{fault}"),
        }
    }

    pub(crate) fn try_turn(&mut self) -> Result<Option<String>, Fault> {
        let inbox = std::mem::take(&mut self.inbox);
        let (record, spare) = (TurnRecord::default(), RunId { uuid: 78, ..RUN });
        let mut draft = Draft::new(self.state.clone(), record, Number(0), self.now, spare);
        draft.intake(&inbox);
        if !draft.wants_turn() {
            let decided = draft.finish();
            decided.events.iter().try_for_each(|event| self.replay.feed(event))?;
            let before = self.history.len();
            self.history.extend(decided.events);
            self.check_law(before);
            self.state = decided.state;
            return Ok(None);
        }
        draft.open_turn();
        let before = draft.events().len();
        draft.events().iter().try_for_each(|event| self.replay.feed(event))?;
        let commands = self.replay.commands()?;
        let started = draft.events().last().expect("a turn was opened").id;
        draft.complete_turn(commands.clone()).expect("core takes what the code asks for");
        let decided = draft.finish();
        decided.events[before..].iter().try_for_each(|event| self.replay.feed(event))?;
        let shown = show(started.plus(1), &commands);
        self.turns.push((started, commands));
        let before = self.history.len();
        self.history.extend(decided.events);
        self.check_law(before);
        self.state = decided.state;
        Ok(Some(shown))
    }

    /// Every history that replay has a part in is one.
    fn check_law(&mut self, from: usize) {
        for event in &self.history[from..] {
            self.lawful.check(event).unwrap();
        }
        self.lawful.check_commit().unwrap();
    }

    /// True if the run is closed.
    pub(crate) fn closed(&self) -> bool {
        assert_eq!(self.replay.is_closed(), !self.state.status.is_open());
        self.replay.is_closed()
    }

    /// Evicts the run and replays it: what follows goes on from there.
    pub(crate) fn evict(&mut self) {
        self.replay = replayed(&self.workflow, &self.history).unwrap();
    }

    /// Deploys other code: from now on that carries the run on.
    pub(crate) fn deploy<F, B>(&mut self, workflow: F)
    where
        F: Fn(Context) -> B + Send + Sync + 'static,
        B: Future<Output = Body> + 'static,
    {
        self.workflow = Arc::new(move |ctx: Context, _| workflow(ctx));
        self.evict();
    }

    /// Replays the history with other code.
    pub(crate) fn replay_with<F, B>(&self, workflow: F) -> Result<Replay, Fault>
    where
        F: Fn(Context) -> B + Send + Sync + 'static,
        B: Future<Output = Body> + 'static,
    {
        let workflow: Arc<dyn Workflow> = Arc::new(move |ctx: Context, _| workflow(ctx));
        replayed(&workflow, &self.history)
    }

    /// Replays every prefix that ends where a turn was begun: the code must ask for the same.
    pub(crate) fn check_prefixes(&self) {
        replayed(&self.workflow, &self.history).unwrap();
        for (started, commands) in &self.turns {
            let mut replay = Replay::new(self.workflow.clone(), RUN);
            let prefix = self.history.iter().take_while(|event| event.id <= *started);
            prefix.for_each(|event| replay.feed(event).unwrap());
            assert_eq!(replay.commands().unwrap(), *commands, "at event {started}");
        }
    }

    /// The number of the newest activity or child of that name.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let number = self.history.iter().rev().find(|event| match &event.kind {
            EventKind::ActivityScheduled(e) => e.spec.name.as_str() == name,
            EventKind::ChildInitiated(e) => e.spec.name.as_str() == name,
            _ => false,
        });
        number.unwrap_or_else(|| panic!("nothing is called {name}")).id.0
    }

    /// The number of the newest activity.
    pub(crate) fn newest(&self) -> u64 {
        let is = |event: &&Event| matches!(event.kind, EventKind::ActivityScheduled(_));
        self.history.iter().rev().find(is).expect("an activity was scheduled").id.0
    }

    /// The kinds of all events, for a look at the whole.
    pub(crate) fn kinds(&self) -> String {
        self.history.iter().map(|event| format!("{} {}\n", event.id, event.kind.name())).collect()
    }

    /// The events of one kind.
    pub(crate) fn count(&self, is: impl Fn(&EventKind) -> bool) -> usize {
        self.history.iter().filter(|event| is(&event.kind)).count()
    }
}

fn replayed(workflow: &Arc<dyn Workflow>, history: &[Event]) -> Result<Replay, Fault> {
    let mut replay = Replay::new(workflow.clone(), RUN);
    history.iter().try_for_each(|event| replay.feed(event))?;
    replay.settle()?;
    Ok(replay)
}
