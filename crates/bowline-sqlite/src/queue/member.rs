//! The member enters, reports and leaves. Stores of one process have one member at a time.

use bowline_core::{ControlQueue, Epoch, EventId, RunId, Time, hold_back, limits, lose};
use bowline_store::{
    AttemptHit, AttemptRef, Error, Heartbeat, HeartbeatReply, Hint, Join, Joined, Renewal, Renewed,
    Sighting, ready::Change,
};
use rusqlite::params;

use crate::{
    connection::db::Outcome,
    rows::{
        blob::{int, number},
        damaged::Found,
    },
    write::{
        settle::proves,
        tx::{Membership, Tx},
    },
};

pub(crate) fn join(tx: &mut Tx<'_>, join: &Join) -> Outcome<Joined> {
    // A file belongs to one process, and nobody gives it up: whoever is out was replaced.
    if join.again.is_some() {
        return Err(Error::Fenced.into());
    }
    let last = tx.db.first("SELECT epoch FROM members", [], |row| number(row, 0))?;
    let epoch = Epoch(last.unwrap_or(0) + 1);
    tx.db.run(
        "INSERT OR REPLACE INTO members (one, epoch, identity) VALUES (1, ?, ?)",
        params![int(epoch.0), join.identity.as_str()],
    )?;
    tx.member = Some(Membership::Joined(epoch));
    Ok(Joined { epoch })
}

pub(crate) fn renew(tx: &mut Tx<'_>, renewal: &Renewal) -> Outcome<Renewed> {
    let Renewal { epoch, now, .. } = *renewal;
    tx.alive(epoch)?;
    let mut found = Found::new(now);
    for (run, activity) in marked(tx, epoch) {
        let folded = fold(tx, run, activity, now);
        found.step(tx, run, folded)?;
    }
    let mut heartbeats = Vec::with_capacity(renewal.heartbeats.len());
    for beat in &renewal.heartbeats {
        let reply = heartbeat(tx, beat, now);
        // Code whose end nobody can write down, and whom no cancel can reach, must not go on.
        let reply = found.step(tx, beat.attempt.run, reply)?;
        heartbeats.push(reply.unwrap_or(HeartbeatReply::Gone));
    }
    for sighting in &renewal.sightings {
        let seen = sight(tx, sighting);
        found.step(tx, sighting.attempt.run, seen)?;
    }
    let mut cancels = cancels(tx, epoch, &mut found)?;
    for control in &renewal.controls {
        undelivered(tx, control, &mut cancels, &mut found)?;
    }
    let own = tx.memory.index.attempts_by(epoch).filter(|_| renewal.inventory);
    let inventory = own.map(|(run, activity, _)| (run, activity)).collect();
    if renewal.leave {
        leave(tx, epoch, &mut found)?;
    }
    // A file has one past.
    let (others, past) = (false, 0);
    Ok(Renewed { heartbeats, cancels, inventory, others, damaged: found.runs, past })
}

/// Started attempts of the member that a mark covers and whose rows do not say so yet.
fn marked(tx: &Tx<'_>, epoch: Epoch) -> Vec<(RunId, EventId)> {
    let index = &tx.memory.index;
    let own = index.attempts_by(epoch).filter(|(_, _, attempt)| attempt.cancel.is_none());
    own.filter(|(run, activity, _)| index.mark(*run, *activity).is_some())
        .map(|(run, activity, _)| (run, activity))
        .collect()
}

fn fold(tx: &mut Tx<'_>, run: RunId, activity: EventId, now: Time) -> Outcome<()> {
    if tx.find(run)?.is_none() {
        return Ok(());
    }
    if let Some(mut own) = tx.activity(run, activity)? {
        tx.fold(&mut own, now)?;
    }
    Ok(())
}

fn heartbeat(tx: &mut Tx<'_>, beat: &Heartbeat, now: Time) -> Outcome<HeartbeatReply> {
    let AttemptRef { run, activity, attempt } = beat.attempt;
    if tx.find(run)?.is_none() {
        return Ok(HeartbeatReply::Gone);
    }
    let Some(mut own) = tx.activity(run, activity)? else { return Ok(HeartbeatReply::Gone) };
    let alive = tx.memory.index.epoch();
    let start = own.live.started().filter(|_| own.live.attempt == attempt);
    if !start.is_some_and(|start| proves(&beat.proof, &start.holder, alive)) {
        return Ok(HeartbeatReply::Gone);
    }
    tx.fold(&mut own, now)?;
    if let bowline_core::Place::Started(start) = &mut own.live.place {
        start.heard_at = now;
    }
    if let Some(details) = &beat.details {
        own.live.heartbeat = Some(details.clone());
    }
    tx.update(&own)?;
    Ok(match &own.live.cancel {
        Some(record) => HeartbeatReply::Cancelled(record.cause.clone()),
        None => HeartbeatReply::Alive,
    })
}

fn sight(tx: &mut Tx<'_>, sighting: &Sighting) -> Outcome<()> {
    let AttemptRef { run, activity, attempt } = sighting.attempt;
    if tx.find(run)?.is_none() {
        return Ok(());
    }
    let Some(mut own) = tx.activity(run, activity)? else { return Ok(()) };
    if own.live.attempt != attempt {
        return Ok(());
    }
    let Some(record) = &mut own.live.cancel else { return Ok(()) };
    let before = (record.delivered_at, record.observed_at);
    record.delivered_at = record.delivered_at.or(Some(sighting.delivered_at));
    record.observed_at = record.observed_at.or(sighting.observed_at);
    match before == (record.delivered_at, record.observed_at) {
        true => Ok(()),
        false => tx.update(&own),
    }
}

/// Every cancel that stands against an attempt of the member. The index knows them, but for what
/// this very group has changed; a row is asked where the index has no answer.
fn cancels(tx: &mut Tx<'_>, epoch: Epoch, found: &mut Found) -> Outcome<Vec<AttemptHit>> {
    let own = tx.memory.index.attempts_by(epoch);
    let known: Vec<(RunId, EventId, Option<AttemptHit>)> = own
        .map(|(run, activity, attempt)| {
            let hit = attempt.cancel.as_ref().map(|(cause, at)| AttemptHit {
                run,
                activity,
                attempt: attempt.number,
                holder: attempt.holder.clone(),
                cause: cause.clone(),
                decided_at: *at,
                cancel: true,
            });
            (run, activity, hit)
        })
        .collect();
    let mut cancels = Vec::new();
    for (run, activity, hit) in known {
        match hit {
            _ if tx.is_pending(run) => {
                let hit = standing(tx, run, activity);
                cancels.extend(found.step(tx, run, hit)?.flatten());
            }
            hit => cancels.extend(hit),
        }
    }
    Ok(cancels)
}

/// Cancels of a remote worker's attempts that it is not known to have. Only rows are asked that may
/// have one.
fn undelivered(
    tx: &mut Tx<'_>,
    control: &ControlQueue,
    cancels: &mut Vec<AttemptHit>,
    found: &mut Found,
) -> Outcome<()> {
    let index = &tx.memory.index;
    let may_be = |run: RunId, activity: EventId| {
        let stands = index.attempt(run, activity).is_some_and(|attempt| attempt.cancel.is_some());
        stands || index.mark(run, activity).is_some() || tx.is_pending(run)
    };
    let own: Vec<_> =
        index.attempts_at(control).filter(|(run, activity)| may_be(*run, *activity)).collect();
    for (run, activity) in own {
        let hit = untold(tx, run, activity, found.now);
        cancels.extend(found.step(tx, run, hit)?.flatten());
    }
    Ok(())
}

fn untold(
    tx: &mut Tx<'_>,
    run: RunId,
    activity: EventId,
    now: Time,
) -> Outcome<Option<AttemptHit>> {
    fold(tx, run, activity, now)?;
    if tx.find(run)?.is_none() {
        return Ok(None);
    }
    let Some(own) = tx.activity(run, activity)? else { return Ok(None) };
    let record = own.live.cancel.as_ref();
    let is_told = record.is_none_or(|record| record.delivered_at.is_some());
    Ok(own.cancelled_hit().filter(|_| !is_told))
}

fn standing(tx: &mut Tx<'_>, run: RunId, activity: EventId) -> Outcome<Option<AttemptHit>> {
    if tx.find(run)?.is_none() {
        return Ok(None);
    }
    let Some(own) = tx.activity(run, activity)? else { return Ok(None) };
    Ok(own.cancelled_hit())
}

fn leave(tx: &mut Tx<'_>, epoch: Epoch, found: &mut Found) -> Outcome<()> {
    let own = tx.memory.index.attempts_by(epoch);
    let attempts: Vec<_> = own.map(|(run, activity, _)| (run, activity)).collect();
    for (run, activity) in attempts {
        let lost = lose_attempt(tx, run, activity, found.now);
        if found.step(tx, run, lost)?.is_none() {
            tx.change(Change::Over { run, activity });
        }
    }
    let held: Vec<RunId> = tx.memory.index.held_by(epoch).collect();
    for run in held {
        let released = release(tx, run);
        found.step(tx, run, released)?;
    }
    tx.member = Some(Membership::Left);
    Ok(())
}

/// The member that had an attempt is dead, and its process with it.
pub(crate) fn lose_attempt(
    tx: &mut Tx<'_>,
    run: RunId,
    activity: EventId,
    now: Time,
) -> Outcome<()> {
    if tx.find(run)?.is_none() {
        return Ok(());
    }
    let Some(mut own) = tx.activity(run, activity)? else { return Ok(()) };
    let Some(start) = own.live.started().cloned() else { return Ok(()) };
    tx.fold(&mut own, now)?;
    let mut step = lose(&own.spec, &mut own.live, true, now);
    if is_cancelled_above(tx, run)? {
        step = hold_back(&mut own.live, step, now);
    }
    tx.conclude(&own, Some(&start), &step, now)?;
    Ok(())
}

/// Whether a run above this one is open, and asked to cancel.
fn is_cancelled_above(tx: &mut Tx<'_>, run: RunId) -> Outcome<bool> {
    let mut above = tx.run(run).head.parent.map(|(parent, _)| parent);
    for _ in 0..limits::ABOVE_MAX {
        let Some(parent) = above else { break };
        let Some(head) = tx.find(parent)?.map(|run| &run.head) else { break };
        if head.status.is_open() && head.cancel.is_some() {
            return Ok(true);
        }
        above = head.parent.map(|(parent, _)| parent);
    }
    Ok(false)
}

pub(crate) fn release(tx: &mut Tx<'_>, run: RunId) -> Outcome<()> {
    if tx.find(run)?.is_some() {
        let head = &mut tx.edit(run).head;
        head.holder = None;
        if head.is_parked() {
            tx.hints.insert(Hint::Parked(run));
        }
    }
    Ok(())
}
