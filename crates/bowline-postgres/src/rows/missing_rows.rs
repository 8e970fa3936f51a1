//! Rows that are missing: activities of a wide commit, whose events stand in history already.
//!
//! The events are read and decoded once; what is left of them is remembered between sweeps.

use std::collections::{HashMap, VecDeque};

use bowline_core::{
    ActivityLive, ActivitySpec, Batch, Blob, EventId, EventKind, Ranges, RunId, Time,
};

use crate::{
    connection::db::{Db, Outcome},
    fault::Fault,
    limits,
    rows::blob::{self, int, number},
};

/// What one commit owes.
#[derive(Clone, Debug)]
pub(crate) struct MissingRows {
    /// The first of them, which names the missing.
    pub(crate) first: EventId,
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
pub(crate) async fn read_missing(db: Db<'_>, run: RunId) -> Outcome<Vec<MissingRows>> {
    let sql = "SELECT first, next, at, bytes FROM @owed \
               WHERE namespace = $1 AND run = $2 ORDER BY first";
    let rows = db.rows(sql, &[&blob::space(run), &blob::uuid(run)]).await?;
    rows.iter()
        .map(|row| {
            let (first, next) = (EventId(number(row, 0)?), EventId(number(row, 1)?));
            Ok(MissingRows {
                first,
                next,
                at: Time(row.try_get(2)?),
                ranges: blob::open(run, row, 3)?,
            })
        })
        .collect()
}

/// An activity without a row.
#[derive(Clone)]
pub(crate) struct Planned {
    pub(crate) number: EventId,
    pub(crate) spec: ActivitySpec,
    pub(crate) live: ActivityLive,
}

/// What is left of the events of runs that owe. A memory, never the truth: what is taken from it
/// is compared with what the row says is next.
#[derive(Default)]
pub(crate) struct MissingRowsMemory(HashMap<RunId, VecDeque<Planned>>);

impl MissingRowsMemory {
    /// The next activities of a missing, if they are remembered.
    pub(crate) fn recall(&mut self, run: RunId, next: EventId) -> Option<VecDeque<Planned>> {
        let planned = self.0.remove(&run)?;
        let fits = planned.front().is_some_and(|first| first.number == next);
        fits.then_some(planned)
    }

    pub(crate) fn keep(&mut self, run: RunId, planned: VecDeque<Planned>) {
        if self.0.len() < limits::OWED_MAX && !planned.is_empty() {
            self.0.insert(run, planned);
        }
    }
}

/// The activities of a missing, the next one first, from their events.
pub(crate) async fn plan(
    db: Db<'_>,
    run: RunId,
    missing: &MissingRows,
) -> Outcome<VecDeque<Planned>> {
    let last = missing.ranges.ranges().last().map_or(missing.next, |range| range.last);
    let sql = "SELECT first, last, bytes FROM @history \
               WHERE namespace = $1 AND run = $2 AND first <= $3 AND last >= $4 ORDER BY first";
    let values: [crate::connection::db::Value<'_>; 4] =
        [&blob::space(run), &blob::uuid(run), &int(last.0), &int(missing.next.0)];
    let mut planned = VecDeque::new();
    for row in db.rows(sql, &values).await? {
        let batch = batch(&row)?;
        let events = batch.events().map_err(|corrupt| Fault::corrupt(run, corrupt))?;
        for event in events.into_iter().filter(|event| missing.covers(event.id)) {
            let EventKind::ActivityScheduled(scheduled) = event.kind else { continue };
            let live = ActivityLive::queued(missing.at, missing.at);
            planned.push_back(Planned { number: event.id, spec: scheduled.spec, live });
        }
    }
    Ok(planned)
}

/// A row of history: first, last, bytes.
pub(crate) fn batch(row: &crate::connection::row::Row) -> Outcome<Batch> {
    let bytes: Vec<u8> = row.try_get(2)?;
    let (first, last) = (EventId(number(row, 0)?), EventId(number(row, 1)?));
    Ok(Batch { first, last, bytes: Blob::from(bytes) })
}
