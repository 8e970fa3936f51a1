//! Attempts end.

use bowline_core::{ActivityLive, Holder, Start, Step, Time, settle};

use super::{Data, roll::Roll};
use crate::{OfferedEnd, Proof, Settle, Settled, keeps_row};

impl Data {
    pub(super) fn settle(&mut self, report: Settle) -> Settled {
        let Settle { run, activity, attempt, now, .. } = report;
        self.clock(now);
        self.fold(run, activity);
        let stale = Settled { step: Step::Stale, message: None };
        let row = self.rows.runs.get(&run).filter(|_| report.is_outside());
        let is_covered = row.is_some_and(|row| row.marked(activity).is_some());
        let own = self.rows.runs.get_mut(&run).and_then(|row| row.activities.get_mut(&activity));
        let Some(own) = own else { return stale };
        if is_covered || !report.begin_outside(&mut own.live) {
            return stale;
        }
        let start = own.live.started().filter(|_| own.live.attempt == attempt).cloned();
        let counts = |start: &Start| match report.is_fact() {
            true => report.proof.fits(&start.holder),
            false => proves(&report.proof, &start.holder, &self.roll),
        };
        if !start.as_ref().is_none_or(counts) {
            return stale;
        }
        if let Some(record) = own.live.cancel.as_mut().filter(|_| start.is_some()) {
            record.delivered_at = record.delivered_at.or(report.delivered_at);
            record.observed_at = record.observed_at.or(report.observed_at);
        }
        let step = settle(&own.spec, &mut own.live, attempt, report.ending, report.rung, now);
        let message = self.stepped(run, activity, start.as_ref(), &step, now);
        Settled { step, message }
    }

    /// The row of an attempt whose end a decision knows already, if it still is as offered.
    pub(super) fn offered(&self, offered: &OfferedEnd) -> Option<ActivityLive> {
        let Settle { run, activity, proof, .. } = &offered.settle;
        let row = self.rows.runs.get(run)?;
        let own = row.activities.get(activity).filter(|_| row.marked(*activity).is_none())?;
        let start = own.live.started()?;
        let proven = proves(proof, &start.holder, &self.roll);
        proven.then(|| offered.holds(&own.spec, &own.live)).flatten()
    }

    /// Writes that end. It was checked before that it still is as offered.
    pub(super) fn end(&mut self, offered: &OfferedEnd, now: Time) {
        let Some(live) = self.offered(offered) else { return };
        let Settle { run, activity, .. } = offered.settle;
        let rows = &mut self.rows.known(run).activities;
        if !keeps_row(&live) {
            rows.remove(&activity);
        } else if let Some(own) = rows.get_mut(&activity) {
            own.live = live;
        }
        self.moved(run, activity, now);
    }
}

/// Native code is over when its member is; a remote worker's token outlives every member.
pub(super) fn proves(proof: &Proof, holder: &Holder, roll: &Roll) -> bool {
    let over = matches!(proof, Proof::Native(fence) if !roll.is_alive(fence.epoch));
    proof.fits(holder) && !over
}
