//! What a member reports of its attempts when it renews: that they are alive, and what they have
//! heard.
//!
//! In:    heartbeats, sightings, and attempts that a mark may cover.
//! Out:   rows of activities, and an answer to each heartbeat.
//! Never: waits for a run that somebody else has locked: what is to be said of that one is written
//!        a little later.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use bowline_core::{Epoch, EventId, Place, RunId, Time};
use bowline_store::{AttemptRef, Error, Heartbeat, HeartbeatReply, Proof, Renewal, Sighting};
use futures_util::future::BoxFuture;

use crate::{
    connection::db::Outcome,
    fault::Fault,
    limits,
    rows::damaged::Found,
    shared::Shared,
    write::{
        settle::proves,
        tx::{Tx, Wants},
        work,
    },
};

pub(super) struct Report {
    epoch: Epoch,
    now: Time,
    heartbeats: Vec<Heartbeat>,
    sightings: Vec<Sighting>,
    /// Started attempts of the member that a mark may cover.
    marked: Vec<(RunId, EventId)>,
    /// Runs that do not read. Code whose end nobody can write down, and whom no cancel can reach,
    /// must not go on: nobody knows of its attempts.
    unreadable: BTreeSet<RunId>,
}

impl Report {
    pub(super) fn of(renewal: &Renewal, marked: Vec<(RunId, EventId)>) -> Self {
        let (heartbeats, sightings) = (renewal.heartbeats.clone(), renewal.sightings.clone());
        let (epoch, now, unreadable) = (renewal.epoch, renewal.now, BTreeSet::new());
        Self { epoch, now, heartbeats, sightings, marked, unreadable }
    }

    /// Takes out what is about some runs.
    fn split(&mut self, runs: &[RunId]) -> Self {
        fn about<T>(all: &mut Vec<T>, is: impl Fn(&T) -> bool) -> Vec<T> {
            let (some, others) = std::mem::take(all).into_iter().partition(is);
            *all = others;
            some
        }
        Self {
            epoch: self.epoch,
            now: self.now,
            heartbeats: about(&mut self.heartbeats, |beat| runs.contains(&beat.attempt.run)),
            sightings: about(&mut self.sightings, |seen| runs.contains(&seen.attempt.run)),
            marked: about(&mut self.marked, |(run, _)| runs.contains(run)),
            unreadable: BTreeSet::new(),
        }
    }
}

/// Writes a report. What is about a run that somebody has locked follows; its heartbeats are
/// answered as if nothing had happened, which is what is known.
pub(super) async fn all(
    shared: &Arc<Shared>,
    mut report: Report,
    found: &mut Found,
) -> Outcome<Vec<HeartbeatReply>> {
    let attempts: Vec<AttemptRef> = report.heartbeats.iter().map(|beat| beat.attempt).collect();
    let replies = loop {
        let written = work::attempt(shared, &report, write).await;
        if let Err(Fault::Locked(locked)) = &written
            && !locked.is_empty()
        {
            tokio::spawn(later(shared.clone(), report.split(locked)));
            continue;
        }
        match found.step(shared, written).await? {
            Ok(replies) => break replies,
            Err(run) if report.unreadable.insert(run) => {}
            Err(run) => return Err(Error::Backend(format!("run {run} is met again")).into()),
        }
    };
    let mut known = report.heartbeats.iter().zip(replies).peekable();
    let reply = |attempt| {
        let own = known.next_if(|(beat, _)| beat.attempt == attempt);
        own.map_or(HeartbeatReply::Alive, |(_, reply)| reply)
    };
    Ok(attempts.into_iter().map(reply).collect())
}

/// Writes a report once its runs are free, unless that takes too long.
async fn later(shared: Arc<Shared>, report: Report) {
    let Some(_busy) = shared.enter() else { return };
    let begun = Instant::now();
    while begun.elapsed() < shared.settings.patience {
        tokio::time::sleep(limits::LOCKED_FOR).await;
        match work::attempt(&shared, &report, write).await {
            Ok(_) | Err(Fault::Said(_)) => return,
            Err(_) => {}
        }
    }
}

fn write<'t>(
    tx: &'t mut Tx<'_>,
    report: &'t Report,
) -> BoxFuture<'t, Outcome<Vec<HeartbeatReply>>> {
    Box::pin(async move {
        let Report { epoch, now, heartbeats, sightings, marked, unreadable } = report;
        let reads = |run: &RunId| !unreadable.contains(run);
        let marked = || marked.iter().filter(|(run, _)| reads(run));
        let mut wants = Wants::default();
        let beats = heartbeats.iter().map(|beat| beat.attempt);
        let seen = sightings.iter().map(|seen| seen.attempt);
        for AttemptRef { run, activity, .. } in beats.chain(seen).filter(|own| reads(&own.run)) {
            wants.runs.insert(run);
            wants.activities.insert((run, activity));
        }
        wants.runs.extend(marked().map(|(run, _)| *run));
        wants.activities.extend(marked());
        wants.epochs.insert(*epoch);
        for beat in heartbeats {
            if let Proof::Native(fence) = &beat.proof {
                wants.epochs.insert(fence.epoch);
            }
        }
        tx.prefetch(wants).await?;
        for (run, activity) in marked() {
            if tx.find(*run).await?.is_some()
                && let Some(mut own) = tx.activity(*run, *activity).await?
                && own.live.started().is_some()
            {
                tx.fold(&mut own, *now).await?;
            }
        }
        let mut replies = Vec::with_capacity(heartbeats.len());
        for beat in heartbeats {
            replies.push(match reads(&beat.attempt.run) {
                true => heartbeat(tx, beat, *now).await?,
                false => HeartbeatReply::Gone,
            });
        }
        for sighting in sightings.iter().filter(|seen| reads(&seen.attempt.run)) {
            sight(tx, sighting).await?;
        }
        Ok(replies)
    })
}

async fn heartbeat(tx: &mut Tx<'_>, beat: &Heartbeat, now: Time) -> Outcome<HeartbeatReply> {
    let AttemptRef { run, activity, attempt } = beat.attempt;
    if tx.find(run).await?.is_none() {
        return Ok(HeartbeatReply::Gone);
    }
    let Some(mut own) = tx.activity(run, activity).await? else { return Ok(HeartbeatReply::Gone) };
    let start = own.live.started().filter(|_| own.live.attempt == attempt).cloned();
    let Some(start) = start else { return Ok(HeartbeatReply::Gone) };
    if !proves(tx, &beat.proof, &start.holder).await? {
        return Ok(HeartbeatReply::Gone);
    }
    tx.fold(&mut own, now).await?;
    if let Place::Started(start) = &mut own.live.place {
        start.heard_at = now;
    }
    if let Some(details) = &beat.details {
        own.live.heartbeat = Some(details.clone());
    }
    tx.update(&own);
    Ok(match &own.live.cancel {
        Some(record) => HeartbeatReply::Cancelled(record.cause.clone()),
        None => HeartbeatReply::Alive,
    })
}

async fn sight(tx: &mut Tx<'_>, sighting: &Sighting) -> Outcome<()> {
    let AttemptRef { run, activity, attempt } = sighting.attempt;
    if tx.find(run).await?.is_none() {
        return Ok(());
    }
    let Some(mut own) = tx.activity(run, activity).await? else { return Ok(()) };
    if own.live.attempt != attempt {
        return Ok(());
    }
    let Some(record) = &mut own.live.cancel else { return Ok(()) };
    let before = (record.delivered_at, record.observed_at);
    record.delivered_at = record.delivered_at.or(Some(sighting.delivered_at));
    record.observed_at = record.observed_at.or(sighting.observed_at);
    if before != (record.delivered_at, record.observed_at) {
        tx.update(&own);
    }
    Ok(())
}
