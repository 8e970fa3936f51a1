//! Rows that are missing: activities of a wide commit, whose events stand in history already.
//!
//! The events are read and decoded once; what is left of them is remembered between sweeps.

use std::collections::{HashMap, VecDeque};

use bowline_core::{
    ActivityLive, ActivitySpec, Batch, Blob, EventId, EventKind, Ranges, RunId, Time,
};
use rusqlite::params;

use crate::{
    connection::db::{Db, Outcome},
    fault::Fault,
    rows::blob::{self, int, number},
    stats::count,
};

/// What one commit owes.
#[derive(Clone, Debug)]
pub(crate) struct MissingRows {
    /// Activities before this one have their rows.
    pub(crate) next: EventId,
    /// When they were committed.
    pub(crate) at: Time,
    /// All of them.
    pub(crate) ranges: Ranges,
}

impl MissingRows {
    /// Whether the row of an activity is still missing.
    pub(crate) fn covers(&self, activity: EventId) -> bool {
        activity >= self.next && self.ranges.contains(activity)
    }

    /// Every activity whose row is still missing.
    pub(crate) fn ids(&self) -> impl Iterator<Item = EventId> {
        self.ranges.ids().skip_while(|id| *id < self.next)
    }
}

/// What a run owes.
pub(crate) fn read_missing(db: Db<'_>, run: RunId, key: i64) -> Outcome<Vec<MissingRows>> {
    let sql = "SELECT next, at, bytes FROM owed WHERE run = ? ORDER BY next";
    db.all(sql, [key], |row| {
        let (next, at) = (EventId(number(row, 0)?), Time(row.get(1)?));
        Ok(MissingRows { next, at, ranges: blob::open(run, row, 2)? })
    })
}

/// What is left of the events of runs that owe.
#[derive(Default)]
pub(crate) struct MissingRowsMemory(HashMap<RunId, VecDeque<Planned>>);

/// An activity without a row.
#[derive(Clone)]
pub(crate) struct Planned {
    pub(crate) number: EventId,
    pub(crate) spec: ActivitySpec,
    pub(crate) live: ActivityLive,
}

impl MissingRowsMemory {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn forget(&mut self, run: RunId) {
        self.0.remove(&run);
    }

    /// The activities of a missing, the next one first.
    pub(crate) fn of(
        &mut self,
        db: Db<'_>,
        run: RunId,
        key: i64,
        missing: &MissingRows,
    ) -> Outcome<&mut VecDeque<Planned>> {
        let known = self.0.get(&run).and_then(|planned| planned.front());
        if known.is_none_or(|planned| planned.number != missing.next) {
            let planned = plan(db, run, key, missing)?;
            self.0.insert(run, planned);
        }
        Ok(self.0.get_mut(&run).expect("it was planned above"))
    }
}

fn plan(db: Db<'_>, run: RunId, key: i64, missing: &MissingRows) -> Outcome<VecDeque<Planned>> {
    let last = missing.ranges.ranges().last().map_or(missing.next, |range| range.last);
    let sql = "SELECT first, last, bytes FROM history \
               WHERE run = ? AND first <= ? AND last >= ? ORDER BY first";
    let batches = db.all(sql, params![key, int(last.0), int(missing.next.0)], |row| {
        count(&db.counters.batches_read, 1);
        let bytes: Vec<u8> = row.get(2)?;
        let (first, last) = (EventId(number(row, 0)?), EventId(number(row, 1)?));
        Ok(Batch { first, last, bytes: Blob::from(bytes) })
    })?;
    let mut planned = VecDeque::new();
    for batch in batches {
        let events = batch.events().map_err(|corrupt| Fault::corrupt(run, corrupt))?;
        for event in events.into_iter().filter(|event| missing.covers(event.id)) {
            let EventKind::ActivityScheduled(scheduled) = event.kind else { continue };
            let live = ActivityLive::queued(missing.at, missing.at);
            planned.push_back(Planned { number: event.id, spec: scheduled.spec, live });
        }
    }
    Ok(planned)
}
