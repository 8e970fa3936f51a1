//! What waits, rings or runs, in memory: the index that stores of a single process share.
//!
//! In:    [`Change`]s that a transaction made, once it is committed; never before.
//! Out:   candidates for claims, alarms that are due, who holds what, and the hints to tell.
//! Never: the truth. A store rebuilds it from its rows when it opens, and looks at the row again
//!        before it hands anything out.

mod activity;
mod alarm;
mod attempt;
mod mark;
mod run;
#[cfg(test)]
mod tests;
mod waiting;

use std::{collections::BTreeSet, sync::Arc};

use bowline_core::{
    Alarm, AlarmKind, Cause, ControlQueue, Epoch, EventId, Fence, Name, Namespace, Queue, RunId,
    Time,
};

use crate::{ClaimActivities, ClaimRuns, Hint};

use activity::Begin;
pub use attempt::Attempt;
pub use mark::Mark;
pub use run::Standing;
pub use waiting::{Sought, WaitingWork};

/// What a committed transaction did, as far as somebody may wait for it. Every change says how
/// its row stands now, so that applying one twice does no harm.
#[derive(Clone, Debug)]
pub enum Change {
    /// A run was written: what it is ready for, and who holds it.
    Run(Standing),
    /// A run's rows are gone.
    RunGone(RunId),
    /// An activity waits in its queue.
    Queued(Queued),
    /// A worker has an activity.
    Started {
        /// Its run.
        run: RunId,
        /// Its number.
        activity: EventId,
        /// The attempt, as it was handed out.
        attempt: Attempt,
    },
    /// A started activity was cancelled.
    Cancelled {
        /// Its run.
        run: RunId,
        /// Its number.
        activity: EventId,
        /// Why.
        cause: Cause,
        /// When that was decided.
        at: Time,
    },
    /// An activity neither waits nor runs any more.
    Over {
        /// Its run.
        run: RunId,
        /// Its number.
        activity: EventId,
    },
    /// Activities were cancelled by ranges.
    Marked(RunId, Mark),
    /// Every row that a mark covers was folded: by the mark's number.
    Folded(RunId, u64),
    /// An alarm was set.
    Armed(RunId, Alarm),
    /// An alarm was unset, or rang.
    Disarmed(RunId, Alarm),
    /// A run owes rows to activities whose events are committed.
    Owing(RunId),
    /// It owes none any more.
    Paid(RunId),
}

/// An activity that waits.
#[derive(Clone, Debug)]
pub struct Queued {
    /// Its run.
    pub run: RunId,
    /// Its number.
    pub activity: EventId,
    /// Where it waits.
    pub queue: Queue,
    /// What it is.
    pub name: Name,
    /// It may be started from this moment on.
    pub due: Time,
    /// Now.
    pub now: Time,
}

impl Default for Index {
    fn default() -> Self {
        let mut index = Self {
            runs: run::Runs::default(),
            activities: activity::Activities::default(),
            attempts: attempt::Attempts::default(),
            marks: mark::Marks::default(),
            alarms: alarm::Alarms::default(),
            owing: BTreeSet::new(),
            withheld: BTreeSet::new(),
            member: None,
            hints: BTreeSet::new(),
        };
        index.show(&Arc::default());
        index
    }
}

/// Everything that waits, rings or runs.
#[derive(Debug)]
pub struct Index {
    runs: run::Runs,
    activities: activity::Activities,
    attempts: attempt::Attempts,
    marks: mark::Marks,
    alarms: alarm::Alarms,
    owing: BTreeSet<RunId>,
    /// Runs of which no attempt may begin.
    withheld: BTreeSet<RunId>,
    member: Option<(Epoch, u64)>,
    hints: BTreeSet<Hint>,
}

impl Index {
    /// Takes over what a transaction did, after its commit.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = Change>) {
        changes.into_iter().for_each(|change| self.change(change));
    }

    fn change(&mut self, change: Change) {
        let earliest = self.next_due();
        match change {
            Change::Run(standing) => self.stand(standing),
            Change::RunGone(run) => self.run_gone(run),
            Change::Queued(queued) => self.queued(queued),
            Change::Started { run, activity, attempt } => self.started(run, activity, attempt),
            Change::Cancelled { run, activity, cause, at } => {
                self.cancelled(run, activity, cause, at);
            }
            Change::Over { run, activity } => self.over(run, activity),
            Change::Marked(run, mark) => self.marked(run, mark),
            Change::Folded(run, number) => self.marks.fold(run, number),
            Change::Armed(run, alarm) => self.alarms.arm(run, alarm),
            Change::Disarmed(run, alarm) => self.alarms.disarm(run, alarm),
            Change::Owing(run) => self.owe(run),
            Change::Paid(run) => drop(self.owing.remove(&run)),
        }
        let next = self.next_due();
        if next.is_some() && earliest.is_none_or(|earliest| next < Some(earliest)) {
            self.hints.extend(next.map(Hint::Alarm));
        }
    }

    /// The hints that the changes since the last call gave rise to. Changes of runs as such
    /// ([`Hint::Changed`]) and questions are for the store to add.
    pub fn take_hints(&mut self) -> Vec<Hint> {
        std::mem::take(&mut self.hints).into_iter().collect()
    }

    // Members and leases.

    /// A member enters; all before it are dead. `epoch` is durable and new.
    pub fn joined(&mut self, epoch: Epoch) {
        self.member = Some((epoch, 0));
        if self.held_outside(epoch).next().is_some()
            || self.attempts_outside(epoch).next().is_some()
        {
            self.hints.insert(Hint::Sweep);
        }
    }

    /// The member goes on, and whatever else is known was made anew from the rows.
    pub fn carry_on(&mut self, before: &Self) {
        self.member = before.member;
    }

    /// The member leaves.
    pub fn left(&mut self) {
        self.member = None;
    }

    /// The epoch of the member, if one is there.
    pub fn epoch(&self) -> Option<Epoch> {
        self.member.map(|(epoch, _)| epoch)
    }

    /// Which queues have something for remote workers, now and from now on.
    pub fn waiting(&self) -> &Arc<WaitingWork> {
        &self.runs.view
    }

    /// From now on that is said here, where others look.
    pub fn show(&mut self, view: &Arc<WaitingWork>) {
        view.become_like(&self.runs.view);
        self.runs.view = view.clone();
        self.activities.view = view.clone();
    }

    /// A new lease of the member; none if `epoch` is not its own.
    pub fn fence(&mut self, epoch: Epoch) -> Option<Fence> {
        let (own, counter) = self.member.as_mut().filter(|(own, _)| *own == epoch)?;
        *counter += 1;
        Some(Fence { epoch: *own, counter: *counter })
    }

    // Runs.

    /// Runs that a claim may take, oldest first. Native ones stay until a [`Change::Run`] says
    /// that somebody holds them.
    pub fn runs(&self, claim: &ClaimRuns) -> Vec<RunId> {
        self.runs.waiting(claim)
    }

    /// Puts a run that nobody will hold behind the others, because it was handed out.
    pub fn rotate(&mut self, claim: &ClaimRuns, run: RunId) {
        self.runs.rotate(claim.want, run);
    }

    /// Who holds a run.
    pub fn holder(&self, run: RunId) -> Option<Fence> {
        self.runs.holder(run)
    }

    /// Runs that a member holds.
    pub fn held_by(&self, epoch: Epoch) -> impl Iterator<Item = RunId> {
        self.runs.held_by(epoch)
    }

    /// Runs that are held by other members than this one: dead ones.
    pub fn held_outside(&self, epoch: Epoch) -> impl Iterator<Item = RunId> {
        self.held_where(move |own| own != epoch)
    }

    /// Runs that are held by such members.
    pub fn held_where(&self, which: impl Fn(Epoch) -> bool) -> impl Iterator<Item = RunId> {
        self.runs.held_where(which)
    }

    // Activities.

    /// Activities that a claim may start: due, in order, none of them under a mark or of a run that
    /// withholds them. What a mark covers is dropped on the way, and what is withheld is set aside
    /// until its run is free, so that no two claims step over the same rows; where that is much,
    /// there are fewer than are wanted, and a hint to claim again.
    pub fn activities(&mut self, claim: &ClaimActivities) -> Vec<(RunId, EventId)> {
        let (marks, withheld) = (&self.marks, &self.withheld);
        let may_begin = |run, activity| match marks.covers(run, activity) {
            Some(_) => Begin::Never,
            None if withheld.contains(&run) => Begin::Later,
            None => Begin::Now,
        };
        self.activities.waiting(claim, may_begin, &mut self.hints)
    }

    /// Hints at every queue in which a retry has become due.
    pub fn wake(&mut self, now: Time) {
        self.activities.wake(now, &mut self.hints);
    }

    /// The attempt that is out, if one is.
    pub fn attempt(&self, run: RunId, activity: EventId) -> Option<&Attempt> {
        self.attempts.find(run, activity)
    }

    /// Activities of a run that workers have, ascending.
    pub fn attempts_of(&self, run: RunId) -> impl Iterator<Item = (EventId, &Attempt)> {
        self.attempts.of_run(run)
    }

    /// Activities that a member's own code runs.
    pub fn attempts_by(&self, epoch: Epoch) -> impl Iterator<Item = (RunId, EventId, &Attempt)> {
        self.attempts.by(epoch)
    }

    /// Activities that the remote worker behind a control queue runs.
    pub fn attempts_at(&self, control: &ControlQueue) -> impl Iterator<Item = (RunId, EventId)> {
        self.attempts.at(control)
    }

    /// Activities that code of other members than this one ran: dead ones.
    pub fn attempts_outside(&self, epoch: Epoch) -> impl Iterator<Item = (RunId, EventId)> {
        self.attempts_where(move |own| own != epoch)
    }

    /// Activities that code of such members ran.
    pub fn attempts_where(
        &self,
        which: impl Fn(Epoch) -> bool,
    ) -> impl Iterator<Item = (RunId, EventId)> {
        self.attempts.of_members(which)
    }

    // Marks and rows that are missing.

    /// The first mark that covers an activity.
    pub fn mark(&self, run: RunId, activity: EventId) -> Option<&Mark> {
        self.marks.covers(run, activity)
    }

    /// Every mark, by run and in the order of their numbers.
    pub fn marks(&self) -> impl Iterator<Item = (RunId, &Mark)> {
        self.marks.all()
    }

    /// The marks of a run.
    pub fn marks_of(&self, run: RunId) -> &[Mark] {
        self.marks.of_run(run)
    }

    /// Runs that owe rows to activities.
    pub fn owing(&self) -> impl Iterator<Item = RunId> {
        self.owing.iter().copied()
    }

    // Alarms.

    /// Alarms that are due, oldest first, at most so many.
    pub fn due(&self, now: Time, limit: usize) -> Vec<(RunId, Alarm)> {
        self.alarms.due(now).take(limit).collect()
    }

    /// When something happens by itself next: an alarm rings, or a retry becomes due.
    pub fn next_due(&self) -> Option<Time> {
        [self.alarms.next(), self.activities.next()].into_iter().flatten().min()
    }

    /// The alarms of a run.
    pub fn alarms_of(&self, run: RunId) -> impl Iterator<Item = Alarm> {
        self.alarms.of_run(run)
    }

    /// When the limit of an activity is looked at next. A later deadline needs no other alarm:
    /// this one will find it.
    pub fn deadline(&self, run: RunId, activity: EventId) -> Option<Time> {
        self.alarms.first(run, AlarmKind::Activity(activity))
    }

    fn stand(&mut self, standing: Standing) {
        let run = standing.run;
        match standing.withholds {
            true => drop(self.withheld.insert(run)),
            false if self.withheld.remove(&run) => {
                let marks = &self.marks;
                let marked = |activity| marks.covers(run, activity).is_some();
                self.activities.bring_back(run, marked, &mut self.hints);
            }
            false => {}
        }
        self.runs.stand(standing, &mut self.hints);
    }

    fn run_gone(&mut self, run: RunId) {
        self.withheld.remove(&run);
        self.runs.forget(run);
        self.activities.forget(run);
        self.attempts.forget(run);
        self.marks.forget(run);
        self.alarms.forget(run);
        self.owing.remove(&run);
    }

    fn queued(&mut self, queued: Queued) {
        self.attempts.end(queued.run, queued.activity);
        self.activities.queue(queued, &mut self.hints);
    }

    fn started(&mut self, run: RunId, activity: EventId, attempt: Attempt) {
        self.activities.remove(run, activity);
        self.attempts.start(run, activity, attempt);
    }

    fn cancelled(&mut self, run: RunId, activity: EventId, cause: Cause, at: Time) {
        if self.attempts.cancel(run, activity, cause, at) {
            self.hints.insert(Hint::Cancelled);
        }
    }

    fn over(&mut self, run: RunId, activity: EventId) {
        self.activities.remove(run, activity);
        self.attempts.end(run, activity);
    }

    fn marked(&mut self, run: RunId, mark: Mark) {
        self.marks.add(run, mark);
        self.hints.insert(Hint::Sweep);
    }

    fn owe(&mut self, run: RunId) {
        self.owing.insert(run);
        self.hints.insert(Hint::Sweep);
    }
}

/// Where work waits: what for, in which namespace and queue, and its name.
type Lane<W> = (W, Namespace, Queue, Name);

fn run_bounds(run: RunId) -> std::ops::RangeInclusive<(RunId, EventId)> {
    (run, EventId(0))..=(run, EventId(u64::MAX))
}
