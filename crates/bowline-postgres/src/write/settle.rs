//! Attempts end.

use bowline_core::{Holder, RunId, Step, settle as step};
use bowline_store::{OfferedEnd, Proof, Settle, Settled};
use futures_util::future::BoxFuture;

use crate::{
    connection::db::Outcome,
    rows::activity::Activity,
    write::tx::{Tx, Wants},
};

/// What a report will look at.
pub(crate) fn wants(report: &Settle, wants: &mut Wants) {
    wants.runs.insert(report.run);
    wants.activities.insert((report.run, report.activity));
    if let Proof::Native(fence) = &report.proof {
        wants.epochs.insert(fence.epoch);
    }
}

pub(crate) fn settle<'t>(
    tx: &'t mut Tx<'_>,
    report: &'t Settle,
) -> BoxFuture<'t, Outcome<Settled>> {
    Box::pin(async move {
        let Settle { run, activity, attempt, now, .. } = *report;
        let stale = Settled { step: Step::Stale, message: None };
        if tx.find(run).await?.is_none() {
            return Ok(stale);
        }
        let Some(mut own) = tx.activity(run, activity).await? else { return Ok(stale) };
        let is_covered = report.is_outside() && tx.mark(run, activity).await?.is_some();
        if is_covered || !report.begin_outside(&mut own.live) {
            return Ok(stale);
        }
        let start = own.live.started().filter(|_| own.live.attempt == attempt).cloned();
        let mut seen = false;
        if let Some(start) = &start {
            let counts = match report.is_fact() {
                true => report.proof.fits(&start.holder),
                false => proves(tx, &report.proof, &start.holder).await?,
            };
            if !counts {
                return Ok(stale);
            }
            tx.fold(&mut own, now).await?;
            if let Some(record) = &mut own.live.cancel {
                let before = (record.delivered_at, record.observed_at);
                record.delivered_at = record.delivered_at.or(report.delivered_at);
                record.observed_at = record.observed_at.or(report.observed_at);
                seen = before != (record.delivered_at, record.observed_at);
            }
        }
        let step = step(&own.spec, &mut own.live, attempt, report.ending.clone(), report.rung, now);
        let message = tx.conclude(&own, start.as_ref(), &step, now);
        if step == Step::Stale && seen {
            // What the worker has seen is true, whatever else it says.
            tx.update(&own);
        }
        Ok(Settled { step, message })
    })
}

/// The row of an attempt whose end a decision about its run knows already, as that end leaves it;
/// none if it is not as offered any more.
pub(crate) async fn offered(
    tx: &mut Tx<'_>,
    run: RunId,
    offered: &OfferedEnd,
) -> Outcome<Option<Activity>> {
    let report = &offered.settle;
    if report.run != run || tx.mark(run, report.activity).await?.is_some() {
        return Ok(None);
    }
    let Some(own) = tx.activity(run, report.activity).await? else { return Ok(None) };
    let Some(after) = offered.holds(&own.spec, &own.live) else { return Ok(None) };
    let Some(holder) = own.live.started().map(|out| out.holder.clone()) else { return Ok(None) };
    let proven = proves(tx, &report.proof, &holder).await?;
    Ok(proven.then_some(Activity { live: after, ..own }))
}

/// Native code is over when its member is; a remote worker's token outlives every member.
pub(crate) async fn proves(tx: &mut Tx<'_>, proof: &Proof, holder: &Holder) -> Outcome<bool> {
    if !proof.fits(holder) {
        return Ok(false);
    }
    match proof {
        Proof::Native(fence) => tx.is_alive(fence.epoch).await,
        Proof::Remote(_) | Proof::Outside(_) => Ok(true),
    }
}
