//! The rows of activities: read, stepped by the rules of `bowline-core`, written back.

use bowline_core::{
    ActivityLive, ActivitySpec, Alarm, AlarmKind, EventId, Hit, Number, Place, RunId, Start, Step,
    Time, cancel, codec, deadline,
};
use bowline_store::{
    AttemptHit, end_activity, keeps_row,
    ready::{Attempt, Change, Mark, Queued},
    runs_on,
};
use rusqlite::{Row, params};

use crate::{
    connection::db::{Db, Outcome},
    rows::blob::{self, int, number},
    stats::count,
    write::tx::Tx,
};

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    pub(crate) key: i64,
    pub(crate) run: RunId,
    pub(crate) number: EventId,
    pub(crate) spec: ActivitySpec,
    pub(crate) live: ActivityLive,
}

/// The columns that [`read`] reads.
pub(crate) const COLUMNS: &str = "number, live, spec";

pub(crate) fn read(run: RunId, key: i64, row: &Row<'_>) -> Outcome<Activity> {
    let (live, spec) = (blob::open(run, row, 1)?, blob::open(run, row, 2)?);
    Ok(Activity { key, run, number: EventId(number(row, 0)?), spec, live })
}

pub(crate) fn find(
    db: Db<'_>,
    run: RunId,
    key: i64,
    activity: EventId,
) -> Outcome<Option<Activity>> {
    let sql = format!("SELECT {COLUMNS} FROM activities WHERE run = ? AND number = ?");
    let found = db.first(&sql, params![key, int(activity.0)], |row| Ok(read(run, key, row)))?;
    count(&db.counters.activity_rows, usize::from(found.is_some()));
    found.transpose()
}

impl Activity {
    /// The attempt that is out, and what its worker must be told of the cancel on its row.
    pub(crate) fn cancelled_hit(&self) -> Option<AttemptHit> {
        AttemptHit::cancelled(self.run, self.number, &self.live)
    }
}

impl Tx<'_> {
    /// The row of an activity of a run that was found before.
    pub(crate) fn activity(&mut self, run: RunId, activity: EventId) -> Outcome<Option<Activity>> {
        find(self.db, run, self.run(run).key(), activity)
    }

    /// Writes the row of a new activity. Its run was found before.
    pub(crate) fn add(&mut self, activity: &Activity, now: Time) -> Outcome<()> {
        let Activity { key, number, spec, live, .. } = activity;
        let (place, due, adrift) = columns(live);
        let (live, bytes) = (codec::encode(live), codec::encode(spec));
        let (queue, name) = (spec.queue.as_str(), spec.name.as_str());
        self.db.run(
            "INSERT INTO activities (run, number, place, due, adrift, queue, name, live, spec) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![key, int(number.0), place, due, adrift, queue, name, live, bytes],
        )?;
        count(&self.db.counters.activity_rows, 1);
        self.placed(activity, now)
    }

    /// Writes back a row that was stepped: it may wait, run, be kept or go. Its run was found
    /// before.
    pub(crate) fn put(&mut self, activity: &Activity, now: Time) -> Outcome<()> {
        match keeps_row(&activity.live) {
            true => self.update(activity)?,
            false => self.remove(activity)?,
        }
        self.placed(activity, now)
    }

    /// Writes back a row whose place is the same as before.
    pub(crate) fn update(&mut self, activity: &Activity) -> Outcome<()> {
        let Activity { key, number, live, .. } = activity;
        let (place, due, adrift) = columns(live);
        self.db.run(
            "UPDATE activities SET place = ?, due = ?, adrift = ?, live = ? \
             WHERE run = ? AND number = ?",
            params![place, due, adrift, codec::encode(live), key, int(number.0)],
        )?;
        count(&self.db.counters.activity_rows, 1);
        self.may_rest(activity.run);
        Ok(())
    }

    pub(crate) fn remove(&mut self, activity: &Activity) -> Outcome<()> {
        let values = params![activity.key, int(activity.number.0)];
        self.db.run("DELETE FROM activities WHERE run = ? AND number = ?", values)?;
        count(&self.db.counters.activity_rows, 1);
        self.may_rest(activity.run);
        Ok(())
    }

    /// Tells the index where an activity is now, and has its next limit looked at.
    fn placed(&mut self, activity: &Activity, now: Time) -> Outcome<()> {
        let Activity { run, number, spec, live, .. } = activity;
        let (run, number) = (*run, *number);
        self.change(match &live.place {
            Place::Queued { due } => Change::Queued(Queued {
                run,
                activity: number,
                queue: spec.queue.clone(),
                name: spec.name.clone(),
                due: *due,
                now,
            }),
            Place::Started(start) => {
                Change::Started { run, activity: number, attempt: attempt(live, start) }
            }
            Place::Ended(_) => Change::Over { run, activity: number },
        });
        self.watch_limit(activity)
    }

    /// Arms the alarm of the next limit, unless an earlier one will find it; the alarm of an
    /// activity that is over goes.
    pub(crate) fn watch_limit(&mut self, activity: &Activity) -> Outcome<()> {
        let Activity { run, number, spec, live, .. } = activity;
        let what = AlarmKind::Activity(*number);
        let armed = self.deadline(*run, *number);
        match deadline(spec, live) {
            Some((due, _)) if armed.is_none_or(|armed| due < armed) => {
                self.arm(*run, Alarm { due, what })
            }
            Some(_) => Ok(()),
            None => match armed {
                Some(due) if live.ended().is_some() => {
                    self.disarm(*run, Alarm { due, what }).map(drop)
                }
                _ => Ok(()),
            },
        }
    }

    /// Folds the mark that covers an activity into its row, if one does. True if the activity was
    /// still waiting: then it is over, and its row is gone.
    pub(crate) fn fold(&mut self, activity: &mut Activity, now: Time) -> Outcome<bool> {
        if activity.live.cancel.is_some() {
            return Ok(false);
        }
        let Some(mark) = self.mark(activity.run, activity.number) else { return Ok(false) };
        self.fold_mark(activity, &mark, now)
    }

    /// The same, with the mark at hand.
    pub(crate) fn fold_mark(
        &mut self,
        activity: &mut Activity,
        mark: &Mark,
        now: Time,
    ) -> Outcome<bool> {
        match cancel(&mut activity.live, &mark.cause, mark.at) {
            hit @ (Hit::NeverStarted | Hit::Waiting) => {
                self.edit(activity.run).never_started += u64::from(hit == Hit::NeverStarted);
                self.put(activity, now)?;
                Ok(true)
            }
            Hit::Started => {
                self.tell_cancelled(activity)?;
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// Writes back a started row that was just cancelled.
    pub(crate) fn tell_cancelled(&mut self, activity: &Activity) -> Outcome<()> {
        self.update(activity)?;
        if let Some(record) = &activity.live.cancel {
            self.change(Change::Cancelled {
                run: activity.run,
                activity: activity.number,
                cause: record.cause.clone(),
                at: record.decided_at,
            });
        }
        Ok(())
    }

    /// Writes back a row after a step that may have ended it, and tells its run. `start` is the
    /// attempt that was out before the step.
    pub(crate) fn conclude(
        &mut self,
        activity: &Activity,
        start: Option<&Start>,
        step: &Step,
        now: Time,
    ) -> Outcome<Option<Number>> {
        match step {
            Step::Stale => return Ok(None),
            Step::Ended | Step::Requeued(_) => self.put(activity, now)?,
            // Only what people will read has changed.
            _ => return self.update(activity).map(|()| None),
        }
        if *step != Step::Ended || !self.run(activity.run).is_open() {
            return Ok(None);
        }
        match end_activity(activity.number, &activity.live, start) {
            Some(message) => self.deliver(activity.run, &message, now).map(Some),
            None => Ok(None),
        }
    }
}

/// An attempt as the index knows it.
pub(crate) fn attempt(live: &ActivityLive, start: &Start) -> Attempt {
    let cancel = live.cancel.as_ref().map(|record| (record.cause.clone(), record.decided_at));
    Attempt { number: live.attempt, holder: start.holder.clone(), cancel }
}

/// Place, due, and whether attempts of it are known that are over: 1 if nobody saw one of them
/// end, 2 if all were seen to.
fn columns(live: &ActivityLive) -> (i64, i64, Option<i64>) {
    let adrift = match (runs_on(live), live.attempt) {
        (true, _) => Some(1),
        (false, 0) => None,
        (false, _) => matches!(live.place, Place::Queued { .. }).then_some(2),
    };
    match &live.place {
        Place::Queued { due } => (0, due.0, adrift),
        Place::Started(_) => (1, 0, adrift),
        Place::Ended(_) => (2, 0, adrift),
    }
}
