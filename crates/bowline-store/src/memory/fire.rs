//! Alarms ring.

use bowline_core::{AlarmKind, EventId, Place, RunId, Time, time_out};

use super::Data;
use crate::{AttemptHit, Fired};

impl Data {
    pub(super) fn fire(&mut self, now: Time, limit: usize) -> Fired {
        self.clock(now);
        self.index.wake(now);
        let mut fired = Fired::default();
        for (run, alarm) in self.index.due(now, limit) {
            self.disarm(run, alarm);
            fired.rang += 1;
            match alarm.what {
                AlarmKind::Activity(activity) => self.limit(run, activity, now, &mut fired),
                what => self.ring(run, what, now, &mut fired),
            }
        }
        fired.runs.sort_unstable();
        fired.runs.dedup();
        fired.next = self.index.next_due();
        fired
    }

    fn ring(&mut self, run: RunId, what: AlarmKind, now: Time, fired: &mut Fired) {
        let open = self.rows.known(run).head.status.is_open();
        if let Some(message) = what.message().filter(|_| open) {
            self.deliver(run, message, now);
            fired.runs.push(run);
        }
    }

    /// A limit of an activity: passed, or moved since the alarm was set.
    fn limit(&mut self, run: RunId, activity: EventId, now: Time, fired: &mut Fired) {
        self.fold(run, activity);
        let row = self.rows.known(run);
        let mark = row.marked(activity).cloned();
        let Some(own) = row.activities.get_mut(&activity) else { return };
        if let (Some(mark), Place::Queued { .. }) = (mark, &own.live.place) {
            self.cancel(run, activity, &mark.cause, mark.at);
            return;
        }
        let (start, late) =
            (own.live.started().cloned(), AttemptHit::late(run, activity, &own.live, now));
        let Some(step) = time_out(&own.spec, &mut own.live, now) else {
            return self.moved(run, activity, now);
        };
        fired.hits.extend(late);
        if self.stepped(run, activity, start.as_ref(), &step, now).is_some() {
            fired.runs.push(run);
        }
    }
}
