//! Rows that are owed: activities of a wide commit, whose events stand in history already.
//!
//! The events are read and decoded once; what is left of them is remembered between sweeps.

use std::collections::{HashMap, VecDeque};

use bowline_core::{ActivityLive, ActivitySpec, Batch, Blob, EventId, EventKind, RunId, Time};
use rusqlite::params;

use crate::{
    blob::{int, number},
    db::{Db, Outcome},
    fault::Fault,
    stats::count,
};

/// What is left of the events of runs that owe.
#[derive(Default)]
pub(crate) struct Owed(HashMap<RunId, VecDeque<Planned>>);

/// Events of one commit, among which activities without a row are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) first: EventId,
    pub(crate) last: EventId,
    /// When they were committed.
    pub(crate) at: Time,
}

/// An activity without a row.
#[derive(Clone)]
pub(crate) struct Planned {
    pub(crate) number: EventId,
    pub(crate) spec: ActivitySpec,
    pub(crate) live: ActivityLive,
}

impl Owed {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn forget(&mut self, run: RunId) {
        self.0.remove(&run);
    }

    /// What a run owes: the activities among the events of a span.
    pub(crate) fn of(
        &mut self,
        db: Db<'_>,
        run: RunId,
        key: i64,
        span: Span,
    ) -> Outcome<&mut VecDeque<Planned>> {
        let Span { first, last, .. } = span;
        let known = self.0.get(&run).and_then(|planned| planned.front());
        if known.is_none_or(|planned| planned.number < first || planned.number > last) {
            let planned = plan(db, run, key, span)?;
            self.0.insert(run, planned);
        }
        Ok(self.0.get_mut(&run).expect("it was planned above"))
    }
}

fn plan(db: Db<'_>, run: RunId, key: i64, span: Span) -> Outcome<VecDeque<Planned>> {
    let Span { first, last, at } = span;
    let sql = "SELECT first, last, bytes FROM history \
               WHERE run = ? AND first <= ? AND last >= ? ORDER BY first";
    let batches = db.all(sql, params![key, int(last.0), int(first.0)], |row| {
        count(&db.counters.batches_read, 1);
        let bytes: Vec<u8> = row.get(2)?;
        let (first, last) = (EventId(number(row, 0)?), EventId(number(row, 1)?));
        Ok(Batch { first, last, bytes: Blob::from(bytes) })
    })?;
    let mut planned = VecDeque::new();
    for batch in batches {
        let events = batch.events().map_err(|corrupt| Fault::corrupt(run, corrupt))?;
        for event in events.into_iter().filter(|event| (first..=last).contains(&event.id)) {
            let EventKind::ActivityScheduled(scheduled) = event.kind else { continue };
            let live = ActivityLive::queued(at, at);
            planned.push_back(Planned { number: event.id, spec: scheduled.spec, live });
        }
    }
    Ok(planned)
}
