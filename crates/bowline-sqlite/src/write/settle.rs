//! Attempts end.

use bowline_core::{Epoch, Holder, RunId, Step, settle as step};
use bowline_store::{OfferedEnd, Proof, Settle, Settled};

use crate::{connection::db::Outcome, rows::activity::Activity, write::tx::Tx};

pub(crate) fn settle(tx: &mut Tx<'_>, report: &Settle) -> Outcome<Settled> {
    let Settle { run, activity, attempt, now, .. } = *report;
    let stale = Settled { step: Step::Stale, message: None };
    if tx.find(run)?.is_none() {
        return Ok(stale);
    }
    let Some(mut own) = tx.activity(run, activity)? else { return Ok(stale) };
    let is_covered = report.is_outside() && tx.mark(run, activity).is_some();
    if is_covered || !report.begin_outside(&mut own.live) {
        return Ok(stale);
    }
    let start = own.live.started().filter(|_| own.live.attempt == attempt).cloned();
    let mut seen = false;
    if let Some(start) = &start {
        let counts = match report.is_fact() {
            true => report.proof.fits(&start.holder),
            false => proves(&report.proof, &start.holder, tx.memory.index.epoch()),
        };
        if !counts {
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

/// The row of an attempt whose end a decision about its run knows already, as that end leaves it;
/// none if it is not as offered any more.
pub(crate) fn offered(
    tx: &mut Tx<'_>,
    run: RunId,
    offered: &OfferedEnd,
) -> Outcome<Option<Activity>> {
    let report = &offered.settle;
    if report.run != run || tx.mark(run, report.activity).is_some() {
        return Ok(None);
    }
    let Some(own) = tx.activity(run, report.activity)? else { return Ok(None) };
    let alive = tx.memory.index.epoch();
    let proven = own.live.started().is_some_and(|out| proves(&report.proof, &out.holder, alive));
    let after = offered.holds(&own.spec, &own.live).filter(|_| proven);
    Ok(after.map(|live| Activity { live, ..own }))
}

/// Native code is over when its member is; a remote worker's token outlives every member.
pub(crate) fn proves(proof: &Proof, holder: &Holder, alive: Option<Epoch>) -> bool {
    let over = matches!(proof, Proof::Native(fence) if Some(fence.epoch) != alive);
    proof.fits(holder) && !over
}
