//! Remote runs at hand: as the last decision of this process left them, so that the next one need
//! not read them.
//!
//! In:    what a commit has left of a run, if nothing waits for it; attempts that were handed out.
//! Out:   the same, to whoever decides next, and only once.
//! Never: the truth. A commit names the version that it was decided on, and the ends of attempts
//!        what they were expected to be: what somebody else has written since makes it a conflict,
//!        and the run is read.

use std::sync::Arc;

use bowline_core::{
    ActivityLive, ActivitySpec, Birth, Draft, Event, EventId, Fields, Number, Received, RunId,
    State, TurnRecord, Version,
};
use bowline_store::{Head, OfferedEnd, Read, Recent, RunRead, Settle};
use parking_lot::Mutex;

use super::{Eager, QuestionCount, RemoteActivity};
use crate::{
    Result,
    engine::{
        EngineInner,
        run::{events, state_after},
        submit::{Patience, TurnCommit},
    },
    limits,
};

/// A remote run as it stands.
#[derive(Debug)]
pub(crate) struct KnownRun {
    pub(crate) version: Version,
    pub(crate) consumed: Number,
    pub(crate) record: TurnRecord,
    pub(crate) state: State,
    /// The newest part of its history. It may not reach back to the beginning.
    pub(crate) events: Vec<Event>,
    /// What waits.
    pub(crate) inbox: Vec<Received>,
    /// How many questions there had been when it was known to stand so.
    pub(crate) asked: QuestionCount,
}

impl KnownRun {
    /// A run that has only just begun.
    pub(crate) fn born(birth: Birth) -> Result<Self> {
        let (head, _) = Head::born(&birth)?;
        Ok(Self {
            version: head.version,
            consumed: head.consumed,
            record: head.record,
            state: State::of(birth.run, &birth.events),
            events: birth.events,
            inbox: Vec::new(),
            asked: QuestionCount::default(),
        })
    }

    pub(crate) fn of(read: &RunRead, asked: QuestionCount) -> Result<Self> {
        let head = &read.head;
        let events = events(head.run, &read.batches)?;
        Ok(Self {
            version: head.version,
            consumed: head.consumed,
            record: head.record.clone(),
            state: state_after(read, &events)?,
            events,
            inbox: read.inbox.clone(),
            asked,
        })
    }
}

/// A decision about a remote run.
pub(crate) struct Decision {
    pub(crate) draft: Draft,
    pub(crate) expected: Version,
    /// The newest part of history before it.
    pub(crate) events: Vec<Event>,
    /// Ends of attempts that it knows before the store does.
    pub(crate) ended: Vec<OfferedEnd>,
    pub(crate) patience: Patience,
}

/// Runs, and attempts in workers' hands, of the last decisions.
#[derive(Debug, Default)]
pub(crate) struct KnownRuns {
    runs: Mutex<Recent<RunId, Box<KnownRun>, { limits::HAND_RUNS }>>,
    attempts: Mutex<Recent<(RunId, EventId), Out, { limits::HAND_ATTEMPTS }>>,
}

/// An attempt as its worker got it.
type Out = (ActivitySpec, ActivityLive);

impl KnownRuns {
    /// A run to decide about, if it is at hand.
    pub(crate) fn take(&self, run: RunId) -> Option<KnownRun> {
        self.runs.lock().take(&run).map(|known| *known)
    }

    /// Keeps a run for the next decision: an open one for which nothing waits, and only as much of
    /// its history as a worker that has the run in its cache does not know.
    pub(crate) fn keep(&self, mut known: KnownRun) {
        let is_native = known.state.rules().is_native();
        if is_native || !known.state.status.is_open() || !known.inbox.is_empty() {
            return;
        }
        let last_started = known.state.last_started;
        known.events.retain(|event| event.id > last_started);
        let input = known.state.started.input.as_ref().map_or(0, |input| input.len() as u64);
        let bytes = input + known.events.iter().map(Event::weight).sum::<u64>();
        if known.events.len() <= limits::HAND_EVENTS && bytes <= limits::HAND_BYTES {
            self.runs.lock().put(known.state.run, Box::new(known));
        }
    }

    /// Something has come for a run, or somebody decides about it.
    pub(crate) fn forget(&self, run: RunId) {
        self.runs.lock().take(&run);
    }

    /// A worker has an attempt. What only the worker needs to know of it is not kept.
    pub(crate) fn out(&self, activity: &RemoteActivity) {
        let RemoteActivity { run, activity, spec, live, .. } = activity;
        let is_small = live.heartbeat.is_none() && live.last_failure.is_none();
        if is_small {
            let (input, header, priority) = (None, Fields::default(), None);
            let spec = ActivitySpec { input, header, priority, ..spec.clone() };
            let out = (spec, live.clone());
            self.attempts.lock().put((*run, *activity), out);
        }
    }

    /// An attempt has said more than was known of it.
    pub(crate) fn said(&self, run: RunId, activity: EventId) {
        self.attempts.lock().take(&(run, activity));
    }

    /// What a report of an attempt's end will tell its run, as far as is known here.
    pub(crate) fn offer_end(&self, report: &Settle) -> Option<OfferedEnd> {
        let (spec, live) = self.attempts.lock().take(&(report.run, report.activity))?;
        OfferedEnd::new(&spec, &live, report.clone())
    }
}

impl EngineInner {
    /// Reads a run in order to decide about it.
    pub(crate) async fn fetch(&self, run: RunId) -> Result<KnownRun> {
        let asked = self.queries.asked();
        KnownRun::of(&self.read(Read::state(run)).await?, asked)
    }

    /// Writes a decision about a remote run; gives it back as it stands then, and what a worker has
    /// taken along.
    pub(crate) async fn write_decision(
        self: &Arc<Self>,
        decision: Decision,
        eager: Option<&Eager>,
    ) -> Result<(KnownRun, Vec<RemoteActivity>)> {
        let Decision { draft, expected, mut events, ended, patience } = decision;
        let asked = self.queries.asked();
        let decided = draft.finish();
        let (run, consumed, record) = (decided.state.run, decided.consumed, decided.record.clone());
        events.extend(decided.events.iter().cloned());
        let turn = TurnCommit { run, fence: None, expected, decided, ended, release: false };
        let (committed, state, taken) = self.commit(turn, patience, eager).await?;
        taken.iter().for_each(|activity| self.known_runs.out(activity));
        let (version, inbox) = (committed.version, committed.unread);
        Ok((KnownRun { version, consumed, record, state, events, inbox, asked }, taken))
    }
}
