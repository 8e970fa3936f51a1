//! Members enter, report, leave, and are given up. What is late is decided by the database's own
//! clock, and nobody is given up by one who was out of reach as well.

mod report;

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use bowline_core::{
    ActivityLive, ControlQueue, Epoch, EventId, Holder, RunId, Time, hold_back, limits::ABOVE_MAX,
    lose,
};
use bowline_store::{AttemptHit, Error, Hint, Join, Joined, Renewal, Renewed};

use self::report::Report;
use crate::{
    connection::{
        db::{Db, Outcome, Value},
        nonce,
    },
    fault::Fault,
    limits,
    queue::{fate, grace},
    rows::{
        activity,
        blob::{self, count, int, number},
        damaged::{self, Found},
    },
    shared::Shared,
    write::{
        tx::{Tx, Wants},
        work,
    },
};

/// Whose attempts are looked at, and whether their process was seen to end.
#[derive(Clone, Copy)]
pub(crate) struct Lost {
    pub(crate) run: RunId,
    pub(crate) activity: EventId,
    pub(crate) epoch: Epoch,
    pub(crate) seen: bool,
}

/// A member enters, and what the process was before is over: one statement does both, so that who
/// could not enter is still who it was.
pub(crate) async fn join(shared: &Shared, join: &Join) -> Outcome<Joined> {
    let _one = shared.joining.lock().await;
    // Another engine in the same process has given up what the one before was. Whoever was given
    // up by others, and comes back, says itself what became of what it had begun.
    let own = shared.member().map(|(epoch, _)| epoch);
    if join.again.is_some() && join.again != own {
        return Err(Error::Fenced.into());
    }
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    let since = Instant::now();
    let lease = micros(join.lease);
    let (before, again) = (own.map(|own| int(own.0)), join.again.map(|epoch| int(epoch.0)));
    let over = fate::over(join.again.is_some() && join.runs_on);
    let process = join.process.as_ref();
    let (host, boot) = (process.map(|own| own.host.as_str()), process.map(|own| own.boot.as_str()));
    let (pid, started) =
        (process.map(|own| i64::from(own.pid)), process.map(|own| int(own.started)));
    let (identity, drawn) = (join.identity.as_str(), nonce::draw());
    let values: [Value<'_>; 10] =
        [&identity, &lease, &again, &host, &boot, &pid, &started, &drawn, &before, &over];
    let rows = db.change(&enter(), &values).await?;
    let row = rows.first().ok_or_else(|| Error::Backend("no epoch was given".into()))?;
    let epoch = Epoch(number(row, 0)?);
    shared.set_member((epoch, join.lease));
    shared.in_contact(epoch, since);
    drop(lent);
    shared.tell_here(BTreeSet::from([Hint::Sweep]));
    Ok(Joined { epoch })
}

/// Whoever has the same origin is the same process, also one that entered without hearing of it.
fn enter() -> String {
    format!(
        "WITH next AS (UPDATE @counters \
             SET value = greatest(value + 1 + $8::int8, {}) WHERE name = 'epoch' RETURNING value), \
         over AS (UPDATE @members SET state = $10::int2 WHERE state <> 1 AND (epoch = $9::int8 \
             OR origin = (SELECT origin FROM @members WHERE epoch = $9::int8))) \
         INSERT INTO @members \
         (epoch, identity, state, lease, joined_at, renewed_at, contact_since, \
         origin, host, boot, pid, started) \
         SELECT value, $1, 0, $2::float8 * interval '1 microsecond', \
         clock_timestamp(), clock_timestamp(), clock_timestamp(), \
         coalesce((SELECT origin FROM @members WHERE epoch = $3::int8), $3::int8, value), \
         $4, $5, $6, $7 FROM next RETURNING epoch",
        nonce::EPOCH
    )
}

/// Whole microseconds, exact as far as any lease goes.
fn micros(lease: std::time::Duration) -> f64 {
    lease.as_micros() as f64
}

/// Extends a lease. None of its business are leases that ran out: nobody loses anything before
/// another member says so. Whoever was silent for half of its lease was not in unbroken contact:
/// the database may have been away, and others may not have been able to say that they live.
pub(crate) const RENEW: &str = "UPDATE @members SET contact_since = CASE \
        WHEN clock_timestamp() > renewed_at + lease / 2 THEN clock_timestamp() \
        ELSE contact_since END, \
    renewed_at = clock_timestamp(), lease = $2::float8 * interval '1 microsecond' \
    WHERE epoch = $1 AND state = 0 RETURNING 1";

pub(crate) async fn extend(db: Db<'_>, epoch: Epoch, lease: std::time::Duration) -> Outcome<bool> {
    let extended = db.change(RENEW, &[&int(epoch.0), &micros(lease)]).await?;
    Ok(!extended.is_empty())
}

pub(crate) async fn renew(shared: &Arc<Shared>, renewal: &Renewal) -> Outcome<Renewed> {
    let epoch = renewal.epoch;
    let lent = shared.lend().await?;
    let since = Instant::now();
    if !extend(Db::own(&lent, shared), epoch, renewal.lease).await? {
        return Err(Error::Fenced.into());
    }
    shared.in_contact(epoch, since);
    shared.lease(epoch, renewal.lease);
    let marked = marked(Db::own(&lent, shared), epoch).await?;
    drop(lent);
    let mut found = Found::new(renewal.now);
    let heartbeats =
        match renewal.heartbeats.is_empty() && renewal.sightings.is_empty() && marked.is_empty() {
            true => Vec::new(),
            false => report::all(shared, Report::of(renewal, marked), &mut found).await?,
        };
    let mut cancels = cancels(shared, epoch, &mut found).await?;
    if !renewal.controls.is_empty() {
        cancels.extend(undelivered(shared, &renewal.controls, &mut found).await?);
    }
    let lent = shared.lend().await?;
    let inventory = match renewal.inventory {
        true => inventory(Db::own(&lent, shared), epoch).await?,
        false => Vec::new(),
    };
    let others = renewal.inventory && others(Db::own(&lent, shared), epoch).await?;
    drop(lent);
    if renewal.leave {
        leave(shared, renewal, &mut found).await?;
    }
    let past = shared.past.number();
    Ok(Renewed { heartbeats, cancels, inventory, others, damaged: found.runs, past })
}

/// Whether anybody but this member is alive, as far as the database knows.
async fn others(db: Db<'_>, epoch: Epoch) -> Outcome<bool> {
    let sql = "SELECT 1 FROM @members WHERE state = 0 AND epoch <> $1 \
               AND renewed_at + lease > clock_timestamp() LIMIT 1";
    Ok(db.first(sql, &[&int(epoch.0)]).await?.is_some())
}

/// Every activity that has an attempt of the member.
async fn inventory(db: Db<'_>, epoch: Epoch) -> Outcome<Vec<(RunId, EventId)>> {
    let rows = db.rows(INVENTORY, &[&int(epoch.0)]).await?;
    rows.iter().map(|row| Ok((blob::run_id(row, 0)?, EventId(number(row, 2)?)))).collect()
}

pub(crate) const INVENTORY: &str = "SELECT namespace, run, number FROM @activities \
    WHERE epoch = $1 ORDER BY namespace, run, number";

/// Started attempts of a member, in runs that have marks, and whose rows say nothing of a cancel.
async fn marked(db: Db<'_>, epoch: Epoch) -> Outcome<Vec<(RunId, EventId)>> {
    let rows = db.rows(MARKED, &[&int(epoch.0)]).await?;
    rows.iter().map(|row| Ok((blob::run_id(row, 0)?, EventId(number(row, 2)?)))).collect()
}

pub(crate) const MARKED: &str = "SELECT a.namespace, a.run, a.number FROM @activities a \
    JOIN @runs r ON r.namespace = a.namespace AND r.run = a.run \
    WHERE a.epoch = $1 AND NOT a.cancelled AND r.marked > 0";

/// Every cancel that stands against an attempt of the member.
async fn cancels(shared: &Shared, epoch: Epoch, found: &mut Found) -> Outcome<Vec<AttemptHit>> {
    let lent = shared.lend().await?;
    let rows = Db::own(&lent, shared).rows(&cancelled(), &[&int(epoch.0)]).await?;
    drop(lent);
    let mut hits = Vec::new();
    for row in &rows {
        let own = found.read(shared, activity::read(row)).await?;
        hits.extend(own.and_then(|own| own.cancelled_hit()));
    }
    Ok(hits)
}

/// Cancels of remote workers' attempts that these are not known to have.
async fn undelivered(
    shared: &Shared,
    controls: &[ControlQueue],
    found: &mut Found,
) -> Outcome<Vec<AttemptHit>> {
    let lent = shared.lend().await?;
    let rows = Db::own(&lent, shared).rows(&untold(), &[]).await?;
    drop(lent);
    let mut hits = Vec::new();
    for row in &rows {
        let Some(own) = found.read(shared, activity::read(row)).await? else { continue };
        let told = own.live.cancel.as_ref().is_none_or(|record| record.delivered_at.is_some());
        let hit = own.cancelled_hit().filter(|hit| match &hit.holder {
            Holder::Remote { control, .. } => controls.contains(control),
            Holder::Native(_) => false,
        });
        hits.extend(hit.filter(|_| !told));
    }
    Ok(hits)
}

pub(crate) fn untold() -> String {
    format!(
        "SELECT {} FROM @activities a WHERE a.place = 1 AND a.epoch IS NULL AND a.cancelled \
         ORDER BY a.namespace, a.run, a.number",
        activity::COLUMNS
    )
}

pub(crate) fn cancelled() -> String {
    format!(
        "SELECT {} FROM @activities a WHERE a.epoch = $1 AND a.cancelled \
         ORDER BY a.namespace, a.run, a.number",
        activity::COLUMNS
    )
}

/// Gives everything back, a chunk at a time. Whatever is not given back when this is broken off is
/// swept up by somebody else.
async fn leave(shared: &Shared, renewal: &Renewal, found: &mut Found) -> Outcome<()> {
    let Renewal { epoch, runs_on, .. } = *renewal;
    let lent = shared.lend().await?;
    fate::end(Db::own(&lent, shared), epoch, runs_on).await?;
    drop(lent);
    shared.forget_member(epoch);
    loop {
        let lost = held_attempts(shared, Some(epoch), limits::LOSE_MAX).await?;
        if lost.is_empty() {
            break;
        }
        lose_all(shared, &lost, found).await?;
    }
    loop {
        let held = held_runs(shared, Some(epoch), limits::LOSE_MAX).await?;
        if held.is_empty() {
            return Ok(());
        }
        release_all(shared, &held, found).await?;
    }
}

/// Attempts of dead members, or of this one.
pub(crate) async fn held_attempts(
    shared: &Shared,
    of: Option<Epoch>,
    limit: usize,
) -> Outcome<Vec<Lost>> {
    let lent = shared.lend().await?;
    let of = of.map(|epoch| int(epoch.0));
    let but = blob::uuids(&shared.room.lately());
    let values: [Value<'_>; 3] = [&of, &count(limit), &but];
    let rows = Db::own(&lent, shared).rows(HELD_ATTEMPTS, &values).await?;
    rows.iter()
        .map(|row| {
            let state: i16 = row.try_get(4)?;
            Ok(Lost {
                run: blob::run_id(row, 0)?,
                activity: EventId(number(row, 2)?),
                epoch: Epoch(number(row, 3)?),
                seen: matches!(state, fate::GONE | fate::BACK),
            })
        })
        .collect()
}

pub(crate) const HELD_ATTEMPTS: &str = "SELECT a.namespace, a.run, a.number, a.epoch, m.state \
    FROM @members m JOIN @activities a ON a.epoch = m.epoch \
    WHERE m.state <> 0 AND ($1::int8 IS NULL OR m.epoch = $1::int8) AND NOT a.run = ANY($3) \
    ORDER BY a.namespace, a.run, a.number LIMIT $2";

/// Runs that dead members hold, or this one.
pub(crate) async fn held_runs(
    shared: &Shared,
    of: Option<Epoch>,
    limit: usize,
) -> Outcome<Vec<(RunId, Epoch)>> {
    let lent = shared.lend().await?;
    let of = of.map(|epoch| int(epoch.0));
    let sql = "SELECT r.namespace, r.run, r.epoch FROM @members m \
               JOIN @runs r ON r.epoch = m.epoch \
               WHERE m.state <> 0 AND ($1::int8 IS NULL OR m.epoch = $1::int8) \
               AND NOT r.run = ANY($3) ORDER BY r.namespace, r.run LIMIT $2";
    let but = blob::uuids(&shared.room.lately());
    let values: [Value<'_>; 3] = [&of, &count(limit), &but];
    let rows = Db::own(&lent, shared).rows(sql, &values).await?;
    rows.iter().map(|row| Ok((blob::run_id(row, 0)?, Epoch(number(row, 2)?)))).collect()
}

/// Attempts whose members are dead are over, or tried again. A run that does not read is put aside,
/// and keeps nobody else waiting.
pub(crate) async fn lose_all(shared: &Shared, lost: &[Lost], found: &mut Found) -> Outcome<()> {
    let mut lost = lost.to_vec();
    while !lost.is_empty() {
        let done = lose_some(shared, &lost, found.now).await;
        if let Some(locked) = locked(&done) {
            // A later sweep will do.
            lost.retain(|lost| !locked.contains(&lost.run));
            continue;
        }
        let Err(run) = found.step(shared, done).await? else { return Ok(()) };
        // One of its attempts does not read, or all of them.
        for one in lost.extract_if(.., |lost| lost.run == run) {
            match lose_some(shared, &[one], found.now).await {
                Err(Fault::Said(Error::Corrupt { .. })) => {
                    damaged::give_up_attempt(shared, run, one.activity).await?;
                }
                Err(Fault::Locked(_)) => {}
                done => done?,
            }
        }
    }
    Ok(())
}

/// The runs because of which something was not done, since somebody has locked them.
fn locked<T>(done: &Outcome<T>) -> Option<Vec<RunId>> {
    match done {
        Err(Fault::Locked(locked)) if !locked.is_empty() => Some(locked.clone()),
        _ => None,
    }
}

async fn lose_some(shared: &Shared, lost: &[Lost], now: Time) -> Outcome<()> {
    work::attempt(shared, &(lost, now), |tx, (lost, now)| {
        Box::pin(async move {
            let mut wants = Wants::default();
            wants.runs.extend(lost.iter().map(|lost| lost.run));
            wants.activities.extend(lost.iter().map(|lost| (lost.run, lost.activity)));
            tx.prefetch(wants).await?;
            for lost in *lost {
                lose_attempt(tx, *lost, *now).await?;
            }
            Ok(())
        })
    })
    .await
}

async fn lose_attempt(tx: &mut Tx<'_>, lost: Lost, now: Time) -> Outcome<()> {
    let Lost { run, activity, epoch, seen } = lost;
    if tx.find(run).await?.is_none() {
        return Ok(());
    }
    let Some(mut own) = tx.activity(run, activity).await? else { return Ok(()) };
    // Somebody may have ended it, and somebody else may have begun again.
    if own.epoch() != Some(int(epoch.0)) {
        return Ok(());
    }
    let Some(start) = own.live.started().cloned() else { return Ok(()) };
    tx.fold(&mut own, now).await?;
    let mut step = lose(&own.spec, &mut own.live, seen, now);
    if is_cancelled_above(tx, run).await? {
        step = hold_back(&mut own.live, step, now);
    }
    tx.conclude(&own, Some(&start), &step, now);
    Ok(())
}

/// Whether a run above this one is open, and asked to cancel.
async fn is_cancelled_above(tx: &mut Tx<'_>, run: RunId) -> Outcome<bool> {
    let mut next = Some(run);
    for up in 0..=ABOVE_MAX {
        let Some(run) = next else { break };
        let Some(head) = tx.find(run).await?.map(|run| &run.head) else { break };
        if up > 0 && head.status.is_open() && head.cancel.is_some() {
            return Ok(true);
        }
        next = head.parent.map(|(parent, _)| parent);
    }
    Ok(false)
}

/// Runs whose holders are dead are free; those that do not read are put aside.
pub(crate) async fn release_all(
    shared: &Shared,
    held: &[(RunId, Epoch)],
    found: &mut Found,
) -> Outcome<()> {
    let mut held = held.to_vec();
    loop {
        let done = release_some(shared, &held).await;
        if let Some(locked) = locked(&done) {
            held.retain(|(own, _)| !locked.contains(own));
            continue;
        }
        let Err(run) = found.step(shared, done).await? else { return Ok(()) };
        damaged::give_up_run(shared, run).await?;
        held.retain(|(own, _)| *own != run);
    }
}

async fn release_some(shared: &Shared, held: &[(RunId, Epoch)]) -> Outcome<()> {
    work::attempt(shared, &held, |tx, held| {
        Box::pin(async move {
            let mut wants = Wants::default();
            wants.runs.extend(held.iter().map(|(run, _)| *run));
            tx.prefetch(wants).await?;
            for (run, epoch) in *held {
                let holder = tx.find(*run).await?.and_then(|run| run.head.holder);
                if holder.is_some_and(|fence| fence.epoch == *epoch) {
                    let head = &mut tx.edit(*run).head;
                    head.holder = None;
                    if head.is_parked() {
                        tx.hints.insert(Hint::Parked(*run));
                    }
                }
            }
            Ok(())
        })
    })
    .await
}

/// Gives up members that were silent for longer than their lease, if this one has been in touch
/// for as long: after an outage of the database nobody has, and nobody loses anything.
pub(crate) const FENCE: &str = "UPDATE @members AS m SET state = 2 FROM @members AS me \
    WHERE me.epoch = $1 AND me.state = 0 AND m.state = 0 AND m.epoch <> me.epoch \
    AND clock_timestamp() > m.renewed_at + m.lease \
    AND clock_timestamp() > me.contact_since + m.lease \
    AND clock_timestamp() < me.renewed_at + me.lease RETURNING m.epoch";

pub(crate) async fn fence(shared: &Shared, epoch: Epoch) -> Outcome<usize> {
    let lent = shared.lend().await?;
    Ok(Db::own(&lent, shared).change(FENCE, &[&int(epoch.0)]).await?.len())
}

/// Whether some member is late.
pub(crate) async fn is_one_late(db: Db<'_>) -> Outcome<bool> {
    let sql = "SELECT 1 FROM @members \
               WHERE state = 0 AND clock_timestamp() > renewed_at + lease LIMIT 1";
    Ok(db.first(sql, &[]).await?.is_some())
}

/// Members that are gone need no row once nothing is held in their name, and no attempt is left in
/// it of which nobody has seen the end.
///
/// Once everybody knows that they were given up, and nobody claims anything for them, which locks
/// their rows, it is asked again what they hold: a row that nobody can name any more stays free of
/// everything.
pub(crate) async fn forget(shared: &Shared, limit: usize) -> Outcome<usize> {
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    let gone = holding_nothing(db, &[], limit).await?;
    let gone = grace::known(shared, db, &gone).await?;
    if gone.is_empty() {
        return Ok(0);
    }
    db.begin("BEGIN").await?;
    let forgotten = forget_all(db, gone).await;
    match forgotten {
        Ok(_) => db.commit().await?,
        Err(_) => db.roll_back().await,
    }
    forgotten
}

async fn forget_all(db: Db<'_>, gone: Vec<i64>) -> Outcome<usize> {
    // Where one is locked, something is being claimed in its name: the next time will do.
    let sql = "SELECT epoch FROM @members WHERE epoch = ANY($1) FOR UPDATE SKIP LOCKED";
    let rows = db.rows(sql, &[&gone]).await?;
    let gone = rows.iter().map(|row| row.try_get(0)).collect::<Outcome<Vec<i64>>>()?;
    if gone.is_empty() {
        return Ok(0);
    }
    let gone = holding_nothing(db, &gone, gone.len()).await?;
    let sql = "DELETE FROM @members WHERE epoch = ANY($1) AND state <> 0 RETURNING 1";
    Ok(db.rows(sql, &[&gone]).await?.len())
}

/// Those of some that may be forgotten, or of all.
async fn holding_nothing(db: Db<'_>, of: &[i64], limit: usize) -> Outcome<Vec<i64>> {
    let values: [Value<'_>; 2] = [&of, &count(limit)];
    let rows = db.rows(HOLDING_NOTHING, &values).await?;
    let dead = rows.iter().map(|row| Ok(Epoch(number(row, 0)?)));
    let dead = dead.collect::<Outcome<Vec<Epoch>>>()?;
    // Looked at afterwards: whoever is fenced adds nothing to it any more.
    let gone = if dead.is_empty() { dead } else { unnamed(db, dead).await? };
    Ok(gone.iter().map(|epoch| int(epoch.0)).collect())
}

const HOLDING_NOTHING: &str = "SELECT m.epoch FROM @members m WHERE m.state <> 0 \
    AND (cardinality($1::int8[]) = 0 OR m.epoch = ANY($1::int8[])) \
    AND NOT EXISTS (SELECT 1 FROM @runs r WHERE r.epoch = m.epoch) \
    AND NOT EXISTS (SELECT 1 FROM @activities a WHERE a.epoch = m.epoch) \
    ORDER BY m.state, m.epoch LIMIT $2";

/// Those of them whom no row names among the attempts that nobody saw end.
async fn unnamed(db: Db<'_>, mut dead: Vec<Epoch>) -> Outcome<Vec<Epoch>> {
    for row in &db.rows(ADRIFT, &[]).await? {
        let live: Outcome<ActivityLive> = blob::open(blob::run_id(row, 0)?, row, 2);
        // What does not read may name any of them.
        let Ok(live) = live else { return Ok(Vec::new()) };
        dead.retain(|epoch| !live.unseen.names(*epoch));
    }
    Ok(dead)
}

pub(crate) const ADRIFT: &str = "SELECT namespace, run, live, number FROM @activities WHERE adrift";
