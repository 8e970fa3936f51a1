//! Members enter, report, leave, and are given up. What is late is decided by the database's own
//! clock, and nobody is given up by one who was out of reach as well.

mod forget;
mod lose;
mod report;

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use bowline_core::{ControlQueue, Epoch, EventId, Holder, RunId};
use bowline_store::{AttemptHit, Error, Hint, Join, Joined, Renewal, Renewed, suspect::Session};

use self::report::Report;
use crate::{
    connection::{
        db::{Db, Lent, Outcome, Value},
        nonce,
    },
    limits,
    queue::fate,
    rows::{
        activity,
        blob::{self, int, number},
        damaged::Found,
    },
    shared::Shared,
};

#[cfg(test)]
pub(crate) use self::lose::HELD_ATTEMPTS;
pub(crate) use self::{
    forget::{ADRIFT, forget},
    lose::{held_attempts, held_runs, lose_all, release_all},
};

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
    let (session, begun) = columns(shared.session());
    let values: [Value<'_>; 12] = [
        &identity, &lease, &again, &host, &boot, &pid, &started, &drawn, &before, &over, &session,
        &begun,
    ];
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
         origin, host, boot, pid, started, session, session_since) \
         SELECT value, $1, 0, $2::float8 * interval '1 microsecond', \
         clock_timestamp(), clock_timestamp(), clock_timestamp(), \
         coalesce((SELECT origin FROM @members WHERE epoch = $3::int8), $3::int8, value), \
         $4, $5, $6, $7, $11, $12 FROM next RETURNING epoch",
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
    renewed_at = clock_timestamp(), lease = $2::float8 * interval '1 microsecond', \
    session = $3::int8, session_since = $4::int8 \
    WHERE epoch = $1 AND state = 0 RETURNING 1";

/// Says that a member lives, and by which session others may know.
pub(crate) async fn extend(
    shared: &Shared,
    lent: &Lent,
    epoch: Epoch,
    lease: std::time::Duration,
) -> Outcome<bool> {
    loop {
        let own = shared.session();
        let (session, begun) = columns(own);
        let values: [Value<'_>; 4] = [&int(epoch.0), &micros(lease), &session, &begun];
        let extended = Db::own(lent, shared).change(RENEW, &values).await?;
        // What was written late must not stand: nobody would know this process by it.
        if extended.is_empty() || shared.session() == own {
            return Ok(!extended.is_empty());
        }
    }
}

fn columns(session: Option<Session>) -> (Option<i64>, Option<i64>) {
    session.map(|session| (session.process, session.since)).unzip()
}

pub(crate) async fn renew(shared: &Arc<Shared>, renewal: &Renewal) -> Outcome<Renewed> {
    let epoch = renewal.epoch;
    let lent = shared.lend().await?;
    let since = Instant::now();
    if !extend(shared, &lent, epoch, renewal.lease).await? {
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

const HOLDING_NOTHING: &str = "SELECT m.epoch FROM @members m WHERE m.state <> 0 \
    AND (cardinality($1::int8[]) = 0 OR m.epoch = ANY($1::int8[])) \
    AND NOT EXISTS (SELECT 1 FROM @runs r WHERE r.epoch = m.epoch) \
    AND NOT EXISTS (SELECT 1 FROM @activities a WHERE a.epoch = m.epoch) \
    ORDER BY m.state, m.epoch LIMIT $2";
