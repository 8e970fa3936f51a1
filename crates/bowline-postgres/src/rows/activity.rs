//! The rows of activities: read, stepped by the rules of `bowline-core`, written back.

use bowline_core::{
    ActivityLive, ActivitySpec, Alarm, AlarmKind, EventId, Hit, Holder, Number, Place, RunId,
    Start, Step, Time, cancel, deadline,
};
use bowline_store::{AttemptHit, Hint, end_activity, keeps_row, ready::Mark};

use crate::{
    connection::{
        db::{Outcome, Value},
        row::Row,
    },
    limits,
    rows::blob::{self, count, int, number},
    write::tx::{Kept, Tx},
};

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    pub(crate) run: RunId,
    pub(crate) number: EventId,
    pub(crate) spec: ActivitySpec,
    pub(crate) live: ActivityLive,
    /// Its place among those that are due at the same moment.
    pub(crate) arrival: i64,
    /// It has to wait for its due time.
    pub(crate) later: bool,
    /// When its limits are looked at next.
    pub(crate) armed: Option<Time>,
}

/// The columns that [`read`] reads, of `a`.
pub(crate) const COLUMNS: &str =
    "a.namespace, a.run, a.number, a.arrival, a.later, a.armed, a.live, a.spec";

pub(crate) fn read(row: &Row) -> Outcome<Activity> {
    let run = blob::run_id(row, 0)?;
    let armed: Option<i64> = row.try_get(5)?;
    Ok(Activity {
        run,
        number: EventId(number(row, 2)?),
        spec: blob::open(run, row, 7)?,
        live: blob::open(run, row, 6)?,
        arrival: row.try_get(3)?,
        later: row.try_get(4)?,
        armed: armed.map(Time),
    })
}

/// The queues in which activities of a run wait.
pub(crate) const QUEUES: &str = "SELECT DISTINCT w.queue FROM (\
        SELECT queue FROM @activities WHERE namespace = $1 AND run = $2 AND place = 0 LIMIT $3) \
    AS w";

impl Activity {
    pub(crate) fn new(run: RunId, number: EventId, spec: ActivitySpec, live: ActivityLive) -> Self {
        Self { run, number, spec, live, arrival: 0, later: false, armed: None }
    }

    /// The attempt that is out, and what its worker must be told of the cancel on its row.
    pub(crate) fn cancelled_hit(&self) -> Option<AttemptHit> {
        AttemptHit::cancelled(self.run, self.number, &self.live)
    }

    /// Whether it waits, and a worker had had it before.
    pub(crate) fn is_tried(&self) -> bool {
        self.live.attempt > 0 && matches!(self.live.place, Place::Queued { .. })
    }

    pub(crate) fn place(&self) -> i16 {
        match &self.live.place {
            Place::Queued { .. } => 0,
            Place::Started(_) => 1,
            Place::Ended(_) => 2,
        }
    }

    pub(crate) fn due(&self) -> i64 {
        match &self.live.place {
            Place::Queued { due } => due.0,
            _ => 0,
        }
    }

    /// The member whose own code runs it.
    pub(crate) fn epoch(&self) -> Option<i64> {
        match &self.live.started()?.holder {
            Holder::Native(fence) => Some(int(fence.epoch.0)),
            Holder::Remote { .. } => None,
        }
    }
}

impl Tx<'_> {
    /// Writes the row of a new activity. Its run was found before.
    pub(crate) fn add(&mut self, mut activity: Activity, now: Time) {
        self.placed(&mut activity, now);
        self.store(activity);
    }

    /// Writes back a row that was stepped: it may wait, run, be kept or go. Its run was found
    /// before.
    pub(crate) fn put(&mut self, activity: &Activity, now: Time) {
        let mut activity = activity.clone();
        self.placed(&mut activity, now);
        match keeps_row(&activity.live) {
            true => self.store(activity),
            false => self.remove(&activity),
        }
    }

    /// Writes back a row whose place is the same as before.
    pub(crate) fn update(&mut self, activity: &Activity) {
        self.store(activity.clone());
    }

    fn store(&mut self, activity: Activity) {
        self.edit(activity.run);
        self.tell_waiters(&activity);
        let key = (activity.run, activity.number);
        let stored = self.activities.get(&key).is_some_and(|kept| kept.stored);
        self.activities.insert(key, Kept { stored, row: Some(activity), dirty: true });
    }

    pub(crate) fn remove(&mut self, activity: &Activity) {
        self.edit(activity.run);
        self.tell_waiters(activity);
        let key = (activity.run, activity.number);
        let stored = self.activities.get(&key).is_some_and(|kept| kept.stored);
        self.activities.insert(key, Kept { stored, row: None, dirty: true });
    }

    /// Somebody in another process may wait to see how far a cancel has come. Its run says nothing
    /// more where that is closed.
    fn tell_waiters(&mut self, activity: &Activity) {
        if activity.live.cancel.is_some() {
            self.hints.insert(Hint::Changed(activity.run));
        }
    }

    /// A row that is known to be there goes unread.
    pub(crate) fn remove_unread(&mut self, run: RunId, number: EventId) {
        self.edit(run);
        self.activities.insert((run, number), Kept { stored: true, row: None, dirty: true });
    }

    /// Tells where an activity is now, and has its next limit looked at.
    fn placed(&mut self, activity: &mut Activity, now: Time) {
        if let Place::Queued { due } = activity.live.place {
            activity.arrival = self.shared.stamp();
            activity.later = due > now;
            match activity.later {
                true => self.ring_at(due),
                false => {
                    let queue = activity.spec.queue.clone();
                    self.hints.insert(Hint::Activity(activity.run.namespace, queue));
                }
            }
        }
        self.watch_limit(activity);
    }

    /// Tells of what waits of a run that was found before, and that has withheld it until now.
    /// Where that is very much, not all of it is looked at: the rest is found by who looks anyway.
    pub(crate) async fn tell_waiting(&mut self, run: RunId) -> Outcome<()> {
        let values: [Value<'_>; 3] =
            [&blob::space(run), &blob::uuid(run), &count(limits::LOOK_MAX)];
        for row in self.db.rows(QUEUES, &values).await? {
            let queue: &str = row.try_get(0)?;
            self.hints.insert(Hint::Activity(run.namespace, queue.into()));
        }
        Ok(())
    }

    /// Arms the alarm of the next limit, unless an earlier one will find it; the alarm of an
    /// activity that is over goes.
    pub(crate) fn watch_limit(&mut self, activity: &mut Activity) {
        let (run, what) = (activity.run, AlarmKind::Activity(activity.number));
        let armed = activity.armed;
        match deadline(&activity.spec, &activity.live) {
            Some((due, _)) if armed.is_none_or(|armed| due < armed) => {
                armed.into_iter().for_each(|due| self.disarm(run, Alarm { due, what }));
                self.arm(run, Alarm { due, what });
                activity.armed = Some(due);
            }
            None if activity.live.ended().is_some() => {
                armed.into_iter().for_each(|due| self.disarm(run, Alarm { due, what }));
                activity.armed = None;
            }
            _ => {}
        }
    }

    /// Folds the mark that covers an activity into its row, if one does. True if the activity was
    /// still waiting: then it is over, and its row is gone.
    pub(crate) async fn fold(&mut self, activity: &mut Activity, now: Time) -> Outcome<bool> {
        if activity.live.cancel.is_some() {
            return Ok(false);
        }
        match self.mark(activity.run, activity.number).await? {
            Some(mark) => Ok(self.fold_mark(activity, &mark, now)),
            None => Ok(false),
        }
    }

    /// The same, with the mark at hand.
    pub(crate) fn fold_mark(&mut self, activity: &mut Activity, mark: &Mark, now: Time) -> bool {
        match cancel(&mut activity.live, &mark.cause, mark.at) {
            hit @ (Hit::NeverStarted | Hit::Waiting) => {
                self.edit(activity.run).never_started += u64::from(hit == Hit::NeverStarted);
                self.put(activity, now);
                true
            }
            Hit::Started => {
                self.tell_cancelled(activity);
                false
            }
            _ => false,
        }
    }

    /// Writes back a started row that was just cancelled.
    pub(crate) fn tell_cancelled(&mut self, activity: &Activity) {
        self.update(activity);
        self.hints.insert(Hint::Cancelled);
    }

    /// Writes back a row after a step that may have ended it, and tells its run. `start` is the
    /// attempt that was out before the step.
    pub(crate) fn conclude(
        &mut self,
        activity: &Activity,
        start: Option<&Start>,
        step: &Step,
        now: Time,
    ) -> Option<Number> {
        match step {
            Step::Stale => return None,
            Step::Ended | Step::Requeued(_) => self.put(activity, now),
            // Only what people will read has changed.
            _ => {
                self.update(activity);
                return None;
            }
        }
        if *step != Step::Ended || !self.run(activity.run).is_open() {
            return None;
        }
        let message = end_activity(activity.number, &activity.live, start)?;
        Some(self.deliver(activity.run, &message, now))
    }
}
