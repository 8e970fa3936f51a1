//! Rows of runs that this process holds, as its own last write left them: whoever decides about
//! such a run need not read them again.
//!
//! In:    rows that were written, once they are committed.
//! Out:   the same rows, to one decision at a time; it brings them back when it is written.
//! Never: the truth. Others may have written since. Whoever uses these rows writes by a statement
//!        that compares `rev` with the database, and answers nothing that it has not compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bowline_core::{Epoch, RunId};
use parking_lot::Mutex;

use crate::{activity::Activity, limits, run::Run};

/// The rows of one run. Activities that are not among them may still have rows.
pub(crate) struct Rows {
    pub(crate) run: Run,
    pub(crate) activities: Vec<Activity>,
}

#[derive(Default)]
pub(crate) struct Held(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    rows: HashMap<RunId, Entry>,
    /// The one that was brought longest ago goes first.
    ages: BTreeMap<u64, RunId>,
    age: u64,
    bytes: usize,
}

struct Entry {
    rows: Rows,
    age: u64,
    bytes: usize,
}

impl Held {
    /// Takes the rows of some runs out. Those that another member is known to hold are dropped.
    pub(crate) fn take(&self, runs: &BTreeSet<RunId>, own: Epoch) -> Vec<Rows> {
        let mut inner = self.0.lock();
        let taken = runs.iter().filter_map(|run| inner.remove(*run));
        taken.filter(|rows| rows.run.is_held_by(own)).collect()
    }

    /// Keeps rows that were just committed, unless newer ones are kept already.
    pub(crate) fn keep(&self, own: Epoch, rows: impl Iterator<Item = Rows>) {
        let mut inner = self.0.lock();
        for mut rows in rows {
            let id = rows.run.head.run;
            match inner.rows.get(&id) {
                Some(known) if known.rows.run.rev > rows.run.rev => continue,
                _ => drop(inner.remove(id)),
            }
            if !rows.run.is_open() || !rows.run.is_held_by(own) {
                continue;
            }
            rows.activities.retain(is_plain);
            if rows.activities.len() > limits::HELD_ACTIVITIES {
                rows.activities.clear();
            }
            // No decision reads them, and they may be large.
            rows.run.head.search = Default::default();
            rows.run.head.memo = Default::default();
            inner.insert(id, rows);
        }
    }

    /// Somebody else may have written to a run.
    pub(crate) fn forget(&self, run: RunId) {
        self.0.lock().remove(run);
    }

    /// The database may be another one than a moment ago.
    pub(crate) fn forget_all(&self) {
        *self.0.lock() = Inner::default();
    }
}

impl Inner {
    fn remove(&mut self, run: RunId) -> Option<Rows> {
        let entry = self.rows.remove(&run)?;
        self.ages.remove(&entry.age);
        self.bytes -= entry.bytes;
        Some(entry.rows)
    }

    fn insert(&mut self, id: RunId, rows: Rows) {
        let bytes = weight(&rows);
        if bytes > limits::HELD_RUN_BYTES {
            return;
        }
        self.age += 1;
        self.bytes += bytes;
        self.ages.insert(self.age, id);
        self.rows.insert(id, Entry { rows, age: self.age, bytes });
        while self.rows.len() > limits::HELD_MAX || self.bytes > limits::HELD_BYTES {
            let Some((_, oldest)) = self.ages.pop_first() else { return };
            self.remove(oldest);
        }
    }
}

/// Whether an activity is under way, and nothing else is to be said of it.
fn is_plain(activity: &Activity) -> bool {
    let live = &activity.live;
    live.started().is_some()
        && live.cancel.is_none()
        && live.last_failure.is_none()
        && live.heartbeat.is_none()
}

/// About how many bytes rows take: what people send decides it.
fn weight(rows: &Rows) -> usize {
    let activity = |own: &Activity| {
        let input = own.spec.input.as_ref().map_or(0, |input| input.len());
        let header = own.spec.header.iter().map(|(key, value)| key.len() + value.len());
        size_of::<Activity>() + input + header.sum::<usize>()
    };
    size_of::<Entry>() + rows.activities.iter().map(activity).sum::<usize>()
}
