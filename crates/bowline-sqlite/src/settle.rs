//! Attempts end.

use bowline_core::{Epoch, Holder, Step, settle as step};
use bowline_store::{Proof, Settle, Settled};

use crate::{db::Outcome, tx::Tx};

pub(crate) fn settle(tx: &mut Tx<'_>, report: &Settle) -> Outcome<Settled> {
    let Settle { run, activity, attempt, now, .. } = *report;
    let stale = Settled { step: Step::Stale, message: None };
    if tx.find(run)?.is_none() {
        return Ok(stale);
    }
    let Some(mut own) = tx.activity(run, activity)? else { return Ok(stale) };
    let start = own.live.started().filter(|_| own.live.attempt == attempt).cloned();
    let mut seen = false;
    if let Some(start) = &start {
        if !proves(&report.proof, &start.holder, tx.mind.index.epoch()) {
            return Ok(stale);
        }
        tx.fold(&mut own, now)?;
        if let Some(record) = &mut own.live.cancel {
            let before = (record.delivered_at, record.observed_at);
            record.delivered_at = record.delivered_at.or(report.delivered_at);
            record.observed_at = record.observed_at.or(report.observed_at);
            seen = before != (record.delivered_at, record.observed_at);
        }
    }
    let step = step(&own.spec, &mut own.live, attempt, report.ending.clone(), report.rung, now);
    let message = tx.conclude(&own, start.as_ref(), &step, now)?;
    if step == Step::Stale && seen {
        // What the worker has seen is true, whatever else it says.
        tx.update(&own)?;
    }
    Ok(Settled { step, message })
}

/// Native code is over when its member is; a remote worker's token outlives every member.
pub(crate) fn proves(proof: &Proof, holder: &Holder, alive: Option<Epoch>) -> bool {
    let over = matches!(proof, Proof::Native(fence) if Some(fence.epoch) != alive);
    proof.fits(holder) && !over
}
