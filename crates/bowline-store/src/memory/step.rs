//! What several calls do to rows, together with the index that mirrors them.

use bowline_core::{
    Alarm, AlarmKind, EventId, Hit, Message, Number, Place, Received, RunId, Start, Step, Time,
    cancel, deadline,
};

use super::Data;
use crate::{
    AttemptHit, Hint, end_activity, keeps_row,
    ready::{Attempt, Change, Queued, Standing},
};

impl Data {
    /// Mirrors all rows of a run, when the store opens.
    pub(super) fn restore(&mut self, run: RunId) {
        let row = self.rows.known(run);
        let marks = row.marks.iter().map(|mark| Change::Marked(run, mark.clone()));
        let alarms = row.alarms.iter().map(|alarm| Change::Armed(run, *alarm));
        self.index.apply(marks.chain(alarms));
        let activities: Vec<EventId> = row.activities.keys().copied().collect();
        activities.into_iter().for_each(|activity| self.mirror(run, activity, Time(i64::MIN)));
        self.stand(run);
    }

    /// Mirrors a run's head.
    pub(super) fn stand(&mut self, run: RunId) {
        self.index.apply([Change::Run(Standing::of(&self.rows.known(run).head))]);
    }

    /// Mirrors an activity's row.
    pub(super) fn mirror(&mut self, run: RunId, activity: EventId, now: Time) {
        let row = self.rows.known(run).activities.get(&activity);
        let change = match row.map(|row| (&row.live.place, row)) {
            Some((Place::Queued { due }, row)) => Change::Queued(Queued {
                run,
                activity,
                queue: row.spec.queue.clone(),
                name: row.spec.name.clone(),
                due: *due,
                now,
            }),
            Some((Place::Started(start), row)) => {
                let stands = row.live.cancel.as_ref();
                let cancel = stands.map(|record| (record.cause.clone(), record.decided_at));
                let (number, holder) = (row.live.attempt, start.holder.clone());
                Change::Started { run, activity, attempt: Attempt { number, holder, cancel } }
            }
            Some((Place::Ended(_), _)) | None => Change::Over { run, activity },
        };
        self.index.apply([change]);
    }

    /// An activity's row was written: mirrors it, and sees to its next limit.
    pub(super) fn moved(&mut self, run: RunId, activity: EventId, now: Time) {
        self.mirror(run, activity, now);
        let row = self.rows.known(run).activities.get(&activity);
        let Some((due, _)) = row.and_then(|row| deadline(&row.spec, &row.live)) else { return };
        // A later limit needs no alarm of its own: the earlier one will find it.
        if self.index.deadline(run, activity).is_none_or(|armed| due < armed) {
            self.arm(run, Alarm { due, what: AlarmKind::Activity(activity) });
        }
    }

    pub(super) fn arm(&mut self, run: RunId, alarm: Alarm) {
        self.rows.known(run).alarms.insert(alarm);
        self.index.apply([Change::Armed(run, alarm)]);
    }

    pub(super) fn disarm(&mut self, run: RunId, alarm: Alarm) {
        self.rows.known(run).alarms.remove(&alarm);
        self.index.apply([Change::Disarmed(run, alarm)]);
    }

    /// Puts a message into the inbox of an open run.
    pub(super) fn deliver(&mut self, run: RunId, message: Message, now: Time) -> Number {
        let row = self.rows.known(run);
        let (number, alarm) = row.head.receive(&message, now);
        row.inbox.insert(number, Received { number, at: now, message });
        if let Some(alarm) = alarm {
            self.arm(run, alarm);
        }
        self.stand(run);
        number
    }

    /// Cancels a started attempt that a mark covers, if nobody has yet.
    pub(super) fn fold(&mut self, run: RunId, activity: EventId) {
        let Some(row) = self.rows.runs.get_mut(&run) else { return };
        let Some(mark) = row.marked(activity).cloned() else { return };
        if row.activities.get(&activity).is_some_and(|row| row.live.started().is_some()) {
            self.cancel(run, activity, &mark.cause, mark.at);
        }
    }

    /// Cancels one activity, and counts it if it had never started.
    pub(super) fn cancel(
        &mut self,
        run: RunId,
        activity: EventId,
        cause: &bowline_core::Cause,
        at: Time,
    ) -> Option<Hit> {
        let row = self.rows.known(run);
        let hit = cancel(&mut row.activities.get_mut(&activity)?.live, cause, at);
        if matches!(hit, Hit::NeverStarted | Hit::Waiting) {
            self.unbegun(run, activity, hit == Hit::NeverStarted);
        }
        if hit == Hit::Started {
            let record = self.rows.known(run).activities.get(&activity);
            let record = record.and_then(|row| row.live.cancel.as_ref());
            let change = record.map(|record| Change::Cancelled {
                run,
                activity,
                cause: record.cause.clone(),
                at: record.decided_at,
            });
            self.index.apply(change);
        }
        Some(hit)
    }

    /// Counts an activity that was cancelled in its queue, and forgets it, unless a worker had had
    /// it before.
    fn unbegun(&mut self, run: RunId, activity: EventId, never: bool) {
        let row = self.rows.known(run);
        if row.activities.get(&activity).is_some_and(|own| !keeps_row(&own.live)) {
            row.activities.remove(&activity);
        }
        row.never_started += u64::from(never);
        self.index.apply([Change::Over { run, activity }]);
        while let Some(due) = self.index.deadline(run, activity) {
            self.disarm(run, Alarm { due, what: AlarmKind::Activity(activity) });
        }
    }

    /// After a step on an activity's row: tells its run if it ended, and lets go of the row if
    /// nobody will ask for it. `start` is the attempt that was out before.
    pub(super) fn stepped(
        &mut self,
        run: RunId,
        activity: EventId,
        start: Option<&Start>,
        step: &Step,
        now: Time,
    ) -> Option<Number> {
        let row = self.rows.known(run);
        let open = row.head.status.is_open();
        let live = &row.activities.get(&activity)?.live;
        let message = match step {
            Step::Ended if open => end_activity(activity, live, start),
            _ => None,
        };
        if *step == Step::Ended && !keeps_row(live) {
            row.activities.remove(&activity);
        }
        self.moved(run, activity, now);
        message.map(|message| self.deliver(run, message, now))
    }

    /// The cancel that stands against a started attempt.
    pub(super) fn hit(&self, run: RunId, activity: EventId) -> Option<AttemptHit> {
        let live = &self.rows.runs.get(&run)?.activities.get(&activity)?.live;
        AttemptHit::cancelled(run, activity, live)
    }

    pub(super) fn changed(&mut self, run: RunId) {
        self.stand(run);
        self.hints.insert(Hint::Changed(run));
    }
}
