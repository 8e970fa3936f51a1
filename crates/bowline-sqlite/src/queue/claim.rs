//! The queue: work is taken by whoever has room for it.
//!
//! The index names candidates; the row decides. Earlier calls of the same group may have taken a
//! candidate already, so more are asked for until there are enough, or no more.

use bowline_core::{GaveUp, Holder, Parked, Place, RunId, Token, start};
use bowline_store::{
    ClaimActivities, ClaimRuns, ClaimedActivity, ClaimedRun, Error, Hint, HolderKind, Read, TakeUp,
    Want,
    ready::{Change, Standing},
};

use crate::{
    connection::db::Outcome, fault::Fault, read::one as read, rows::damaged, write::tx::Tx,
};

pub(crate) fn claim_runs(tx: &mut Tx<'_>, claim: &ClaimRuns) -> Outcome<Vec<ClaimedRun>> {
    tx.alive(claim.epoch)?;
    let mut claimed = Vec::new();
    let (mut seen, mut wanted) = (0, claim.count.saturating_add(tx.claimed));
    loop {
        let candidates = tx.memory.index.runs(&ClaimRuns { count: wanted, ..claim.clone() });
        for run in candidates.iter().skip(seen) {
            if claimed.len() == claim.count {
                break;
            }
            claimed.extend(claim_run(tx, claim, *run)?);
        }
        seen = candidates.len();
        if seen < wanted || claimed.len() == claim.count {
            break;
        }
        wanted = wanted.saturating_mul(2);
    }
    // Rotating only after the last look keeps what was seen in front.
    if claim.want != Want::Turn {
        for taken in &claimed {
            tx.memory.index.rotate(claim, taken.read.head.run);
        }
    }
    Ok(claimed)
}

fn claim_run(tx: &mut Tx<'_>, claim: &ClaimRuns, id: RunId) -> Outcome<Option<ClaimedRun>> {
    match try_claim(tx, claim, id) {
        Err(Fault::Said(Error::Corrupt { run, corrupt })) if run == id => {
            damaged::set_aside(tx, id, corrupt.to_string(), claim.now)?;
            Ok(None)
        }
        other => other,
    }
}

fn try_claim(tx: &mut Tx<'_>, claim: &ClaimRuns, id: RunId) -> Outcome<Option<ClaimedRun>> {
    let Some(run) = tx.find(id)? else { return Ok(None) };
    let standing = Standing::of(&run.head);
    let ready = match claim.want {
        Want::Turn => standing.turn,
        Want::RemoteTurn => standing.remote_turn.is_some_and(|q| claim.queues.contains(&q)),
        Want::Intake => standing.intake,
    };
    if !ready {
        return Ok(None);
    }
    // What cannot be read is found out before the run is held.
    let run = run.clone();
    let mut read = read::rows(tx.db, run, &Read::whole(id))?;
    if claim.want != Want::Turn {
        return Ok(Some(ClaimedRun { read, fence: None }));
    }
    let fence = tx.memory.index.fence(claim.epoch).ok_or(Error::Fenced)?;
    tx.claimed += 1;
    tx.edit(id).head.holder = Some(fence);
    read.head.holder = Some(fence);
    Ok(Some(ClaimedRun { read, fence: Some(fence) }))
}

/// Takes parked runs that the member may try.
pub(crate) fn take_up(tx: &mut Tx<'_>, take: &TakeUp) -> Outcome<Vec<ClaimedRun>> {
    tx.alive(take.epoch)?;
    let mut taken = Vec::new();
    for id in &take.runs {
        match take_one(tx, take, *id) {
            Err(Fault::Said(Error::Corrupt { run, corrupt })) if run == *id => {
                tried_in_vain(tx, take, *id, corrupt.to_string())?;
            }
            other => taken.extend(other?),
        }
    }
    Ok(taken)
}

fn take_one(tx: &mut Tx<'_>, take: &TakeUp, id: RunId) -> Outcome<Option<ClaimedRun>> {
    let found = tx.find(id)?.filter(|run| take.may_have(&run.head));
    let Some(run) = found.cloned() else { return Ok(None) };
    let mut read = read::rows(tx.db, run, &Read::whole(id))?;
    let fence = tx.memory.index.fence(take.epoch).ok_or(Error::Fenced)?;
    tx.edit(id).head.holder = Some(fence);
    read.head.holder = Some(fence);
    Ok(Some(ClaimedRun { read, fence: Some(fence) }))
}

/// A parked run does not read; if even its row does not, nobody can say so there.
fn tried_in_vain(tx: &mut Tx<'_>, take: &TakeUp, id: RunId, reason: String) -> Outcome<()> {
    match tx.find(id) {
        Ok(Some(_)) => {
            let head = &mut tx.edit(id).head;
            let gave_up = GaveUp::reading(take.epoch, reason);
            let parked = Parked::after(head.parked.as_ref(), gave_up, take.now);
            head.parked = Some(parked);
            Ok(())
        }
        Ok(None) | Err(Fault::Said(Error::Corrupt { .. })) => Ok(()),
        Err(fault) => Err(fault),
    }
}

pub(crate) fn claim_activities(
    tx: &mut Tx<'_>,
    claim: &ClaimActivities,
) -> Outcome<Vec<ClaimedActivity>> {
    tx.alive(claim.epoch)?;
    let mut claimed = Vec::new();
    let (mut seen, mut wanted) = (0, claim.count.saturating_add(tx.claimed));
    loop {
        let wider = ClaimActivities { count: wanted, ..claim.clone() };
        let candidates = tx.memory.index.activities(&wider);
        for (run, activity) in candidates.iter().skip(seen) {
            if claimed.len() == claim.count {
                break;
            }
            match claim_activity(tx, claim, *run, *activity) {
                Err(Fault::Said(Error::Corrupt { .. })) => {
                    tx.change(Change::Over { run: *run, activity: *activity });
                }
                other => claimed.extend(other?),
            }
        }
        seen = candidates.len();
        if seen < wanted || claimed.len() == claim.count {
            return Ok(claimed);
        }
        wanted = wanted.saturating_mul(2);
    }
}

fn claim_activity(
    tx: &mut Tx<'_>,
    claim: &ClaimActivities,
    run: RunId,
    number: bowline_core::EventId,
) -> Outcome<Option<ClaimedActivity>> {
    let Some(found) = tx.find(run)? else { return Ok(None) };
    if found.head.withholds() {
        // The index learns of it with this group, and sets aside what it names then.
        tx.hints.insert(Hint::Activity(claim.namespace, claim.queue.clone()));
        return Ok(None);
    }
    if tx.mark(run, number).is_some() {
        return Ok(None);
    }
    let Some(mut activity) = tx.activity(run, number)? else { return Ok(None) };
    let due = matches!(activity.live.place, Place::Queued { due } if due <= claim.now);
    if !due || activity.live.cancel.is_some() {
        return Ok(None);
    }
    let fence = tx.memory.index.fence(claim.epoch).ok_or(Error::Fenced)?;
    let holder = match &claim.holder {
        HolderKind::Native => Holder::Native(fence),
        HolderKind::Remote(control) => {
            let token = Token::activity(run, number, activity.live.attempt + 1).to_blob();
            Holder::Remote { token, control: control.clone() }
        }
    };
    start(&mut activity.live, holder, claim.worker.clone(), claim.now);
    tx.put(&activity, claim.now)?;
    tx.claimed += 1;
    let head = &tx.run(run).head;
    Ok(Some(ClaimedActivity {
        run,
        activity: number,
        spec: activity.spec,
        live: activity.live,
        workflow_id: head.workflow_id.clone(),
        workflow: head.name.clone(),
    }))
}
