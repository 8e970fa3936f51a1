//! Attempts end.

use bowline_core::{Holder, Step, settle};

use super::Data;
use crate::{Proof, Settle, Settled};

impl Data {
    pub(super) fn settle(&mut self, report: Settle) -> Settled {
        let Settle { run, activity, attempt, now, .. } = report;
        self.clock(now);
        self.fold(run, activity);
        let stale = Settled { step: Step::Stale, message: None };
        let own = self.rows.runs.get_mut(&run).and_then(|row| row.activities.get_mut(&activity));
        let Some(own) = own else { return stale };
        let start = own.live.started().filter(|_| own.live.attempt == attempt).cloned();
        let epoch = self.index.epoch();
        if start.as_ref().is_some_and(|start| !proves(&report.proof, &start.holder, epoch)) {
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
}

/// Native code is over when its member is; a remote worker's token outlives every member.
pub(super) fn proves(proof: &Proof, holder: &Holder, alive: Option<bowline_core::Epoch>) -> bool {
    let over = matches!(proof, Proof::Native(fence) if Some(fence.epoch) != alive);
    proof.fits(holder) && !over
}
