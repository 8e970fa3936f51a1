//! A decision in the making: messages and commands go in, events and effects pile up.
//!
//! In:    the state that was read, and what came in since.
//! Out:   [`Decided`]: all that one commit writes, or nothing at all.
//! Never: looks at anything but the state, the turn record and the given time.

use std::collections::BTreeMap;

use crate::{
    Alarm, AlarmKind, Birth, Blob, Cause, Code, Effect, Event, EventId, EventKind, Message, Note,
    Number, Ranges, Received, Refusal, RunAlarm, RunId, Signal, State, Time, TurnRecord, limits,
    state::unread_weight,
};

/// A decision in the making.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(crate) state: State,
    pub(crate) record: TurnRecord,
    pub(crate) now: Time,
    pub(crate) spare: RunId,
    /// When the run's own schedule would start the next one.
    pub(crate) next_start: Option<Time>,
    /// When other schedules that it may speak of would start theirs.
    pub(crate) starts: BTreeMap<String, Time>,
    pub(crate) events: Vec<Event>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) consumed: Number,
    pub(crate) forgotten: Vec<Number>,
    /// Something happened that the run's code should see.
    pub(crate) insists: bool,
    /// Native rules: an outcome came in, and perhaps the run's code waits for it.
    pub(crate) told: bool,
    /// Native rules: notes for the next `TurnScheduled`, or for the event that closes the run.
    pub(crate) notes: Vec<Note>,
    pub(crate) skipped: Ranges,
    /// The same of earlier decisions, which came to no turn.
    pub(crate) unnoted: Ranges,
    pub(crate) successor: Option<RunId>,
    pub(crate) delete: bool,
    /// Children that go on as children of a fork, should the run close.
    pub(crate) inherited: Ranges,
    /// Since when turns only keep a local activity alive, between one turn and the next.
    pub(crate) heartbeat_since: Option<Time>,
}

/// All that one commit writes.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The state afterwards.
    pub state: State,
    /// The turn record afterwards.
    pub record: TurnRecord,
    /// What happened.
    pub events: Vec<Event>,
    /// What must follow.
    pub effects: Vec<Effect>,
    /// Messages are consumed up to this number.
    pub consumed: Number,
    /// Later messages that are dropped.
    pub forgotten: Vec<Number>,
    /// The run that goes on in this one's place.
    pub successor: Option<RunId>,
    /// The run was terminated in order to be deleted.
    pub delete: bool,
    /// Something waits that the run's code should see.
    pub wants_turn: bool,
}

impl Draft {
    /// Begins with what was read. `spare` is an id for the run that may follow this one.
    pub fn new(
        state: State,
        record: TurnRecord,
        consumed: Number,
        now: Time,
        spare: RunId,
    ) -> Self {
        let now = now.max(state.time);
        let mut record = record;
        let unnoted = record.skipped.take().unwrap_or_default();
        Self {
            state,
            record,
            now,
            spare,
            next_start: None,
            starts: BTreeMap::new(),
            events: Vec::new(),
            effects: Vec::new(),
            consumed,
            forgotten: Vec::new(),
            insists: false,
            told: false,
            notes: Vec::new(),
            skipped: Ranges::default(),
            unnoted,
            successor: None,
            delete: false,
            inherited: Ranges::default(),
            heartbeat_since: None,
        }
    }

    /// The run's own schedule starts the next one at this moment. Nothing here reads schedules:
    /// whoever decides about a run that has one looks it up first.
    pub fn starts_next(&mut self, at: Time) {
        self.next_start = Some(at);
    }

    /// A schedule that a command names would start a run at this moment. One that is not told of is
    /// refused.
    pub fn knows_schedule(&mut self, schedule: &str, at: Time) {
        self.starts.insert(schedule.to_owned(), at);
    }

    /// The state as it stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The turn record as it stands.
    pub fn record(&self) -> &TurnRecord {
        &self.record
    }

    /// The number up to which messages are consumed.
    pub fn consumed(&self) -> Number {
        self.consumed
    }

    /// The events so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Whether something happened that the run's code should see.
    pub fn wants_turn(&self) -> bool {
        self.insists || self.told
    }

    /// Whether there must be a turn, whatever the run's code waits for. Otherwise all that came in
    /// were outcomes: if nobody waits for any of them, they need no turn of their own.
    pub fn insists(&self) -> bool {
        self.insists
    }

    /// Activities that are over now without ever having started, and have no event of their own.
    pub fn skipped(&self) -> &Ranges {
        &self.skipped
    }

    /// A fork takes the run's place: children that are open in the fork are its children from now
    /// on, and are left alone when this run closes.
    pub fn bequeath(&mut self, fork: &Birth) {
        let heir = State::of(fork.run, &fork.events);
        self.inherited = heir.children.keys().copied().collect();
    }

    /// Whether the run may have one more signal, beside those that wait in its inbox. To be asked
    /// before it is taken: what was acknowledged is never refused.
    ///
    /// # Errors
    /// If it has had too many.
    pub fn check_signal(&self, signal: &Signal, inbox: &[Received]) -> Result<(), Refusal> {
        let Some(limit) = self.state.rules().signals_max() else {
            return self.check_unread(signal, inbox);
        };
        let waits = |received: &&Received| matches!(received.message, Message::Signal(_));
        let count = self.state.signals + inbox.iter().filter(waits).count() as u64;
        // One that was taken before is not one more.
        match count < limit || self.state.requests.contains(&signal.request_id) {
            true => Ok(()),
            false => Err(Refusal::TooManySignals(limit)),
        }
    }

    /// What is not received goes on with the chain, again and again, so there is a bound to it.
    fn check_unread(&self, signal: &Signal, inbox: &[Received]) -> Result<(), Refusal> {
        let mut size = self.state.unread.size();
        let waiting = inbox.iter().filter_map(|received| match &received.message {
            Message::Signal(signal) => Some(&**signal),
            _ => None,
        });
        for signal in waiting.chain([signal]) {
            size.count += 1;
            size.bytes += unread_weight(&signal.input);
        }
        let fits = size.count <= limits::UNREAD_MAX && size.bytes <= limits::UNREAD_BYTES_MAX;
        // One that was taken before is not one more.
        match fits || self.state.requests.contains(&signal.request_id) {
            true => Ok(()),
            false => Err(Refusal::TooManyUnread(size.count - 1, size.bytes)),
        }
    }

    /// The end of deciding. Under native rules messages that want a turn are committed with it.
    pub fn finish(self) -> Decided {
        debug_assert!(self.notes.is_empty(), "what was noted rides on the turn that it wants");
        let skipped = self.unnoted.and(&self.skipped);
        let skipped = Some(skipped).filter(|ranges| !ranges.is_empty());
        let unread = Some(self.state.unread.size()).filter(|size| size.count > 0);
        Decided {
            state: self.state,
            record: TurnRecord { skipped, unread, ..self.record },
            events: self.events,
            effects: self.effects,
            consumed: self.consumed,
            forgotten: self.forgotten,
            successor: self.successor,
            delete: self.delete,
            wants_turn: self.insists || self.told,
        }
    }

    pub(crate) fn record_at(
        &mut self,
        time: Time,
        kind: impl Into<EventKind>,
        notes: Vec<Note>,
        wire: Option<Blob>,
    ) -> EventId {
        assert!(self.state.status.is_open(), "nothing follows the closing event");
        let time = time.max(self.state.time);
        self.now = self.now.max(time);
        let event = Event { id: self.state.next_event, time, kind: kind.into(), notes, wire };
        self.state.evolve(&event);
        let id = event.id;
        self.events.push(event);
        id
    }

    pub(crate) fn event(&mut self, kind: impl Into<EventKind>) -> EventId {
        self.record_at(self.now, kind, Vec::new(), None)
    }

    /// The first turn begins, so its delay need not ring any more.
    pub(crate) fn end_delay(&mut self) {
        if let Some(delay) = self.state.started.delay.filter(|_| self.state.delayed) {
            let due = self.state.started_at.after(delay.0);
            self.disarm_run(due, RunAlarm::Delay);
        }
    }

    /// The notes that wait for an event to ride on, without those whose target is over by now.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        let skipped = std::mem::take(&mut self.unnoted).and(&self.skipped);
        self.skipped = Ranges::default();
        let mut notes = std::mem::take(&mut self.notes);
        notes.retain(|note| match note {
            Note::CancelledOne(target, _) => {
                let open = self.state.activities.contains_key(target)
                    || self.state.children.contains_key(target);
                open && !skipped.contains(*target)
            }
            _ => true,
        });
        if !skipped.is_empty() {
            notes.insert(0, Note::Skipped(skipped));
        }
        notes
    }

    /// True if a cancelled activity is over without ever having started, and no turn has noted it.
    pub(crate) fn is_skipped(&self, activity: EventId) -> bool {
        self.skipped.contains(activity) || self.unnoted.contains(activity)
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(crate) fn arm_run(&mut self, due: Time, alarm: RunAlarm) {
        self.effect(Effect::Arm(Alarm { due, what: AlarmKind::Run(alarm) }));
    }

    pub(crate) fn disarm_run(&mut self, due: Time, alarm: RunAlarm) {
        self.effect(Effect::Disarm(Alarm { due, what: AlarmKind::Run(alarm) }));
    }

    /// A cause that follows from another one, where there is one. Chains are cut at a bound.
    pub(crate) fn cause(code: Code, because: Option<&Cause>) -> Cause {
        let cause = Cause::new(code);
        match because {
            Some(parent) if parent.chain().count() < limits::CAUSES_MAX => {
                cause.because(parent.clone())
            }
            Some(parent) => cause.because(parent.root().clone()),
            None => cause,
        }
    }
}

#[cfg(test)]
mod tests;
