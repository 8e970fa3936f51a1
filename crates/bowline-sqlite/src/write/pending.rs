//! What the calls of a group have changed, before the index knows: that learns only what is
//! committed.
//!
//! In:    changes, in the order of their making.
//! Out:   the index as it will be, as far as the later calls of the group must see it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bowline_core::{Alarm, AlarmKind, EventId, RunId, Time};
use bowline_store::ready::{Change, Index, Mark};

#[derive(Default)]
pub(crate) struct Pending {
    changes: Vec<Change>,
    runs: HashMap<RunId, Changed>,
}

/// What has changed of one run. A group may change thousands of rows of it, so each question has
/// its own map.
#[derive(Default)]
struct Changed {
    /// Whether workers have these activities now.
    attempts: BTreeMap<EventId, bool>,
    marks: Vec<Mark>,
    folded: Vec<u64>,
    /// Whether these alarms are set now.
    alarms: BTreeMap<Alarm, bool>,
    /// The alarms of each activity that were set or unset, in order.
    limits: BTreeMap<EventId, Vec<(Time, bool)>>,
    owes: Option<bool>,
    /// Nothing that the index knows of it is true any more.
    gone: bool,
}

impl Pending {
    pub(crate) fn push(&mut self, change: Change) {
        let changed = self.runs.entry(run_of(&change)).or_default();
        match &change {
            Change::Started { activity, .. } => drop(changed.attempts.insert(*activity, true)),
            Change::Over { activity, .. } => drop(changed.attempts.insert(*activity, false)),
            Change::Queued(queued) => drop(changed.attempts.insert(queued.activity, false)),
            Change::Marked(_, mark) => changed.marks.push(mark.clone()),
            Change::Folded(_, number) => changed.folded.push(*number),
            Change::Armed(_, alarm) => changed.alarm(*alarm, true),
            Change::Disarmed(_, alarm) => changed.alarm(*alarm, false),
            Change::Owing(_) => changed.owes = Some(true),
            Change::Paid(_) => changed.owes = Some(false),
            Change::RunGone(_) => *changed = Changed { gone: true, ..Changed::default() },
            Change::Run(_) | Change::Cancelled { .. } => {}
        }
        self.changes.push(change);
    }

    pub(crate) fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    pub(crate) fn touches(&self, run: RunId) -> bool {
        self.runs.contains_key(&run)
    }

    /// Activities of a run that workers have.
    pub(crate) fn attempts(&self, index: &Index, run: RunId) -> BTreeSet<EventId> {
        let known = index.attempts_of(run).map(|(activity, _)| activity);
        let Some(changed) = self.runs.get(&run) else { return known.collect() };
        let mut out: BTreeSet<_> = known.filter(|_| !changed.gone).collect();
        for (activity, started) in &changed.attempts {
            match started {
                true => out.insert(*activity),
                false => out.remove(activity),
            };
        }
        out
    }

    /// Whether workers have activities of a run.
    pub(crate) fn has_attempts(&self, index: &Index, run: RunId) -> bool {
        let mut known = index.attempts_of(run);
        let Some(changed) = self.runs.get(&run) else { return known.next().is_some() };
        let stands = |activity: EventId| changed.attempts.get(&activity) != Some(&false);
        changed.attempts.values().any(|started| *started)
            || (!changed.gone && known.any(|(activity, _)| stands(activity)))
    }

    /// The first mark that covers an activity.
    pub(crate) fn mark(&self, index: &Index, run: RunId, activity: EventId) -> Option<Mark> {
        let Some(changed) = self.runs.get(&run) else { return index.mark(run, activity).cloned() };
        let known = index.marks_of(run).iter().filter(|_| !changed.gone);
        let mut marks = known.chain(&changed.marks);
        let stands =
            |mark: &&Mark| !changed.folded.contains(&mark.number) && mark.ranges.contains(activity);
        marks.find(stands).cloned()
    }

    /// The alarms of a run.
    pub(crate) fn alarms(&self, index: &Index, run: RunId) -> BTreeSet<Alarm> {
        let known = index.alarms_of(run);
        let Some(changed) = self.runs.get(&run) else { return known.collect() };
        let mut alarms: BTreeSet<_> = known.filter(|_| !changed.gone).collect();
        for (alarm, armed) in &changed.alarms {
            match armed {
                true => alarms.insert(*alarm),
                false => alarms.remove(alarm),
            };
        }
        alarms
    }

    /// When the limit of an activity is looked at next, as far as is known: an alarm too many
    /// does no harm.
    pub(crate) fn deadline(&self, index: &Index, run: RunId, activity: EventId) -> Option<Time> {
        let known = index.deadline(run, activity);
        let Some(changed) = self.runs.get(&run) else { return known };
        let known = known.filter(|_| !changed.gone);
        let steps = changed.limits.get(&activity).into_iter().flatten();
        steps.fold(known, |first, (due, armed)| match armed {
            true => Some(first.map_or(*due, |first| first.min(*due))),
            false => first.filter(|first| first != due),
        })
    }

    /// Whether a run owes rows to activities.
    pub(crate) fn owes(&self, index: &Index, run: RunId) -> bool {
        let changed = self.runs.get(&run);
        match changed.and_then(|changed| changed.owes.or(changed.gone.then_some(false))) {
            Some(owes) => owes,
            None => index.owing().any(|owing| owing == run),
        }
    }
}

impl Changed {
    fn alarm(&mut self, alarm: Alarm, armed: bool) {
        self.alarms.insert(alarm, armed);
        if let AlarmKind::Activity(activity) = alarm.what {
            self.limits.entry(activity).or_default().push((alarm.due, armed));
        }
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
