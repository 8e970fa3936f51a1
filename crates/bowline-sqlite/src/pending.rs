//! What the calls of a group have changed, before the index knows: it learns only what is committed.
//!
//! In:    changes, in the order of their making.
//! Out:   the index as it will be, as far as the later calls of the group must see it.

use std::collections::{BTreeSet, HashMap};

use bowline_core::{Alarm, AlarmKind, EventId, RunId, Time};
use bowline_store::ready::{Change, Index, Mark};

#[derive(Default)]
pub(crate) struct Pending {
    changes: Vec<Change>,
    by_run: HashMap<RunId, Vec<usize>>,
}

impl Pending {
    pub(crate) fn push(&mut self, change: Change) {
        let run = run_of(&change);
        self.by_run.entry(run).or_default().push(self.changes.len());
        self.changes.push(change);
    }

    pub(crate) fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    pub(crate) fn touches(&self, run: RunId) -> bool {
        self.by_run.contains_key(&run)
    }

    fn of(&self, run: RunId) -> impl Iterator<Item = &Change> {
        self.by_run.get(&run).into_iter().flatten().map(|at| &self.changes[*at])
    }

    /// Activities of a run that workers have.
    pub(crate) fn attempts(&self, index: &Index, run: RunId) -> BTreeSet<EventId> {
        let mut out: BTreeSet<_> = index.attempts_of(run).map(|(activity, _)| activity).collect();
        for change in self.of(run) {
            match change {
                Change::Started { activity, .. } => drop(out.insert(*activity)),
                Change::Over { activity, .. } => drop(out.remove(activity)),
                Change::Queued(queued) => drop(out.remove(&queued.activity)),
                Change::RunGone(_) => out.clear(),
                _ => {}
            }
        }
        out
    }

    /// The marks of a run, in the order of their numbers.
    fn marks(&self, index: &Index, run: RunId) -> Vec<Mark> {
        let mut marks = index.marks_of(run).to_vec();
        for change in self.of(run) {
            match change {
                Change::Marked(_, mark) => marks.push(mark.clone()),
                Change::Folded(_, number) => marks.retain(|mark| mark.number != *number),
                Change::RunGone(_) => marks.clear(),
                _ => {}
            }
        }
        marks
    }

    /// The first mark that covers an activity.
    pub(crate) fn mark(&self, index: &Index, run: RunId, activity: EventId) -> Option<Mark> {
        if !self.touches(run) {
            return index.mark(run, activity).cloned();
        }
        self.marks(index, run).into_iter().find(|mark| mark.ranges.contains(activity))
    }

    /// The alarms of a run.
    pub(crate) fn alarms(&self, index: &Index, run: RunId) -> BTreeSet<Alarm> {
        let mut alarms: BTreeSet<_> = index.alarms_of(run).collect();
        for change in self.of(run) {
            match change {
                Change::Armed(_, alarm) => drop(alarms.insert(*alarm)),
                Change::Disarmed(_, alarm) => drop(alarms.remove(alarm)),
                Change::RunGone(_) => alarms.clear(),
                _ => {}
            }
        }
        alarms
    }

    /// When the limit of an activity is looked at next, as far as is known: an alarm too many
    /// does no harm.
    pub(crate) fn deadline(&self, index: &Index, run: RunId, activity: EventId) -> Option<Time> {
        let mut first = index.deadline(run, activity);
        for change in self.of(run) {
            match change {
                Change::Armed(_, alarm) if alarm.what == AlarmKind::Activity(activity) => {
                    first = Some(first.map_or(alarm.due, |first| first.min(alarm.due)));
                }
                Change::Disarmed(_, alarm) if alarm.what == AlarmKind::Activity(activity) => {
                    first = first.filter(|first| *first != alarm.due);
                }
                _ => {}
            }
        }
        first
    }

    /// Whether a run owes rows to activities.
    pub(crate) fn owes(&self, index: &Index, run: RunId) -> bool {
        let known = index.owing().any(|owing| owing == run);
        self.of(run).fold(known, |owes, change| match change {
            Change::Owing(_) => true,
            Change::Paid(_) | Change::RunGone(_) => false,
            _ => owes,
        })
    }
}

fn run_of(change: &Change) -> RunId {
    match change {
        Change::Run(standing) => standing.run,
        Change::Queued(queued) => queued.run,
        Change::Started { run, .. }
        | Change::Cancelled { run, .. }
        | Change::Over { run, .. }
        | Change::RunGone(run)
        | Change::Marked(run, _)
        | Change::Folded(run, _)
        | Change::Armed(run, _)
        | Change::Disarmed(run, _)
        | Change::Owing(run)
        | Change::Paid(run) => *run,
    }
}
