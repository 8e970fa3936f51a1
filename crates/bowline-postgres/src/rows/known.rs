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

use crate::{
    limits,
    rows::{activity::Activity, run::Run},
};

/// The rows of one run. Activities that are not among them may still have rows.
pub(crate) struct Rows {
    pub(crate) run: Run,
    pub(crate) activities: Vec<Activity>,
}

#[derive(Default)]
pub(crate) struct KnownRuns(Mutex<KnownRows>);

#[derive(Default)]
struct KnownRows {
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

impl KnownRuns {
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
        *self.0.lock() = KnownRows::default();
    }
}

impl KnownRows {
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

#[cfg(test)]
mod tests {
    use bowline_core::{
        ActivityLive, ActivitySpec, Begin, EventId, Fence, Holder, Link, Namespace, Payload, Reuse,
        Time, WorkflowStarted, begin_run, start,
    };
    use bowline_store::Head;

    use super::*;

    const OWN: Epoch = Epoch(3);

    fn id(uuid: u128) -> RunId {
        RunId { namespace: Namespace(1), uuid }
    }

    fn held(uuid: u128, rev: i64) -> Rows {
        let started = WorkflowStarted { workflow_id: "w".into(), ..WorkflowStarted::default() };
        let birth = begin_run(Begin {
            run: id(uuid),
            started: started.clone(),
            reuse: Reuse::Allow,
            link: Link::None,
            signals: Vec::new(),
            wire: None,
            now: Time(1),
        });
        let (mut head, _) = Head::born(&birth).expect("it begins");
        head.holder = Some(Fence { epoch: OWN, counter: 1 });
        let mut run = Run::born(head, &started, 1);
        run.rev = rev;
        Rows { run, activities: Vec::new() }
    }

    fn with_input(uuid: u128, activities: u64, bytes: usize) -> Rows {
        let input = Some(Payload::json("x".repeat(bytes)));
        let spec = ActivitySpec { input, ..ActivitySpec::default() };
        let mut live = ActivityLive::queued(Time(1), Time(1));
        let holder = Holder::Native(Fence { epoch: OWN, counter: 2 });
        start(&mut live, holder, "worker".into(), Time(1));
        let row = |n| Activity::new(id(uuid), EventId(n), spec.clone(), live.clone());
        Rows { activities: (1..=activities).map(row).collect(), ..held(uuid, 1) }
    }

    fn take(kept: &KnownRuns, uuid: u128) -> Option<Rows> {
        kept.take(&BTreeSet::from([id(uuid)]), OWN).pop()
    }

    #[test]
    fn rows_are_taken_once_and_the_newest_are_kept() {
        let kept = KnownRuns::default();
        kept.keep(OWN, [held(1, 5), held(1, 4)].into_iter());
        assert_eq!(take(&kept, 1).map(|rows| rows.run.rev), Some(5));
        assert!(take(&kept, 1).is_none(), "whoever has them brings them back");
        kept.keep(OWN, [held(1, 6)].into_iter());
        kept.forget(id(1));
        assert!(take(&kept, 1).is_none());
    }

    #[test]
    fn only_rows_of_own_runs_are_kept() {
        let kept = KnownRuns::default();
        kept.keep(OWN, [held(1, 5)].into_iter());
        let mut released = held(1, 6);
        released.run.head.holder = None;
        kept.keep(OWN, [released].into_iter());
        assert!(take(&kept, 1).is_none(), "what was known of it is old");
        kept.keep(OWN, [held(2, 1)].into_iter());
        let other = BTreeSet::from([id(2)]);
        assert!(kept.take(&other, Epoch(4)).is_empty(), "it was held under another epoch");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let kept = KnownRuns::default();
        let runs = limits::HELD_MAX as u128 + 10;
        kept.keep(OWN, (0..runs).map(|uuid| held(uuid, 1)));
        assert!(take(&kept, 9).is_none() && take(&kept, 10).is_some(), "the oldest went");
        kept.forget_all();
        let bytes = limits::HELD_RUN_BYTES / 2;
        let runs = (limits::HELD_BYTES / bytes) as u128 + 10;
        kept.keep(OWN, (0..runs).map(|uuid| with_input(uuid, 1, bytes)));
        assert!(take(&kept, 0).is_none() && take(&kept, runs - 1).is_some());
        assert!(kept.0.lock().bytes <= limits::HELD_BYTES);
        kept.keep(OWN, [with_input(0, 1, limits::HELD_RUN_BYTES)].into_iter());
        assert!(take(&kept, 0).is_none(), "it is too large for memory");
        let many = limits::HELD_ACTIVITIES as u64 + 1;
        kept.keep(OWN, [with_input(0, many, 1), with_input(1, many - 1, 1)].into_iter());
        let count = |uuid| take(&kept, uuid).map(|rows| rows.activities.len());
        assert_eq!((count(0), count(1)), (Some(0), Some(limits::HELD_ACTIVITIES)));
        let inner = kept.0.lock();
        assert_eq!(inner.ages.len(), inner.rows.len());
    }
}
