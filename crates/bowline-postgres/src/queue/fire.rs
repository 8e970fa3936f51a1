//! Alarms ring: the row goes, and the run or the activity hears of it.

use std::collections::BTreeSet;

use bowline_core::{Alarm, AlarmKind, EventId, Namespace, Place, Queue, RunId, Time, time_out};
use bowline_store::{AttemptHit, Fired, Hint};
use futures_util::future::BoxFuture;

use crate::{
    connection::db::{Db, Outcome, Value},
    fault::Fault,
    limits,
    rows::{
        blob::{self, count},
        damaged::{self, Found},
        run,
    },
    shared::Shared,
    write::{
        tx::{Tx, Wants},
        work,
    },
};

pub(crate) async fn fire(shared: &Shared, now: Time, limit: usize) -> Outcome<Fired> {
    let mut found = Found::new(now);
    // What is about a run that somebody has locked rings a little later, and keeps nothing else.
    let mut left = shared.room.lately();
    let due = due(shared, now, limit, (&left, &mut found)).await?;
    let mut fired = ring_readable(shared, Due { due, now }, (&mut left, &mut found)).await?;
    fired.damaged = found.runs;
    fired.runs.sort_unstable();
    fired.runs.dedup();
    // What rang has rung: if what comes next cannot be told, it is asked for again at once.
    fired.next = look_ahead(shared, now).await.unwrap_or(Some(now));
    if !left.is_empty() {
        fired.next = fired.next.map(|next| next.max(now.after(limits::LOOK_AGAIN)));
    }
    Ok(fired)
}

/// Rings what can be rung; a run that does not read is put aside, and its alarms are put off. What
/// somebody has locked is left for now.
async fn ring_readable(
    shared: &Shared,
    mut due: Due,
    (left, found): (&mut BTreeSet<RunId>, &mut Found),
) -> Outcome<Fired> {
    while !due.due.is_empty() {
        let rang = work::attempt(shared, &due, ring_all).await;
        if let Err(Fault::Locked(locked)) = &rang
            && !locked.is_empty()
        {
            due.due.retain(|(own, _)| !locked.contains(own));
            left.extend(locked);
            continue;
        }
        match found.step(shared, rang).await? {
            Ok(fired) => return Ok(fired),
            Err(run) => {
                damaged::put_off(shared, run, due.now).await?;
                due.due.retain(|(own, _)| *own != run);
            }
        }
    }
    Ok(Fired::default())
}

async fn look_ahead(shared: &Shared, now: Time) -> Outcome<Option<Time>> {
    let lent = shared.lend().await?;
    let db = Db::own(&lent, shared);
    wake(db, shared, now).await?;
    next(db, now).await
}

/// Alarms that are due, by run.
struct Due {
    due: Vec<(RunId, Alarm)>,
    now: Time,
}

/// The alarms that are due, the oldest first, and those of one moment in the order in which they
/// were set. Behind the five bytes of its envelope, the value of an alarm is in the order of its
/// number.
pub(crate) const DUE: &str = "SELECT namespace, run, due, what FROM @alarms \
    WHERE due <= $1 AND NOT run = ANY($3) \
    ORDER BY due, namespace, run, substring(what FROM 6), what LIMIT $2";

async fn due(
    shared: &Shared,
    now: Time,
    limit: usize,
    (but, found): (&BTreeSet<RunId>, &mut Found),
) -> Outcome<Vec<(RunId, Alarm)>> {
    let lent = shared.lend().await?;
    let values: [Value<'_>; 3] = [&now.0, &count(limit), &blob::uuids(but)];
    let rows = Db::own(&lent, shared).rows(DUE, &values).await?;
    drop(lent);
    let mut due = Vec::with_capacity(rows.len());
    for row in &rows {
        match found.step(shared, alarm(row)).await? {
            Ok(alarm) => due.push(alarm),
            // The others of its run stand behind it, and ring when these ring.
            Err(run) => damaged::put_off(shared, run, now).await?,
        }
    }
    Ok(due)
}

/// What does not read cannot ring.
fn readable(rows: &[crate::connection::row::Row]) -> impl Iterator<Item = (RunId, Alarm)> {
    rows.iter().filter_map(|row| alarm(row).ok())
}

fn alarm(row: &crate::connection::row::Row) -> Outcome<(RunId, Alarm)> {
    let run = blob::run_id(row, 0)?;
    let what: AlarmKind = blob::open(run, row, 3)?;
    Ok((run, Alarm { due: Time(row.try_get(2)?), what }))
}

fn ring_all<'t>(tx: &'t mut Tx<'_>, all: &'t Due) -> BoxFuture<'t, Outcome<Fired>> {
    Box::pin(async move {
        let runs: BTreeSet<RunId> = all.due.iter().map(|(run, _)| *run).collect();
        let mut wants = Wants::default();
        wants.runs.clone_from(&runs);
        wants.activities.extend(all.due.iter().filter_map(|(run, alarm)| match alarm.what {
            AlarmKind::Activity(activity) => Some((*run, activity)),
            _ => None,
        }));
        tx.prefetch(wants).await?;
        // Somebody may have been faster: what is still set, now that their runs are known?
        let set = still_set(tx.db, &runs, all.now).await?;
        let mut fired = Fired::default();
        for (run, alarm) in all.due.iter().filter(|alarm| set.contains(alarm)) {
            ring(tx, *run, *alarm, all.now, &mut fired).await?;
        }
        Ok(fired)
    })
}

async fn still_set(
    db: Db<'_>,
    runs: &BTreeSet<RunId>,
    now: Time,
) -> Outcome<BTreeSet<(RunId, Alarm)>> {
    let (spaces, uuids) = run::keys(&runs.iter().copied().collect::<Vec<_>>());
    let sql = "SELECT a.namespace, a.run, a.due, a.what \
               FROM unnest($1::int8[], $2::uuid[]) AS w (namespace, run) \
               JOIN @alarms a ON a.namespace = w.namespace AND a.run = w.run WHERE a.due <= $3";
    let values: [Value<'_>; 3] = [&spaces, &uuids, &now.0];
    Ok(readable(&db.rows(sql, &values).await?).collect())
}

async fn ring(
    tx: &mut Tx<'_>,
    id: RunId,
    alarm: Alarm,
    now: Time,
    fired: &mut Fired,
) -> Outcome<()> {
    let Some(run) = tx.find(id).await? else { return Ok(()) };
    let open = run.is_open();
    tx.disarm(id, alarm);
    fired.rang += 1;
    match alarm.what {
        AlarmKind::Activity(activity) => limit(tx, id, activity, now, fired).await,
        what => {
            if let Some(message) = what.message().filter(|_| open) {
                tx.deliver(id, &message, now);
                fired.runs.push(id);
            }
            Ok(())
        }
    }
}

/// A limit of an activity: passed, or moved since the alarm was set.
async fn limit(
    tx: &mut Tx<'_>,
    run: RunId,
    number: EventId,
    now: Time,
    fired: &mut Fired,
) -> Outcome<()> {
    let Some(mut own) = tx.activity(run, number).await? else { return Ok(()) };
    own.armed = None;
    if tx.fold(&mut own, now).await? {
        return Ok(());
    }
    let start = match &own.live.place {
        Place::Started(start) => Some(start.clone()),
        _ => None,
    };
    let told = AttemptHit::late(run, number, &own.live, now);
    let Some(step) = time_out(&own.spec, &mut own.live, now) else {
        tx.watch_limit(&mut own);
        tx.update(&own);
        return Ok(());
    };
    fired.hits.extend(told);
    if tx.conclude(&own, start.as_ref(), &step, now).is_some() {
        fired.runs.push(run);
    }
    Ok(())
}

/// Hints at every queue in which a retry has become due since the last time.
async fn wake(db: Db<'_>, shared: &Shared, now: Time) -> Outcome<()> {
    let Some(since) = shared.woken_until(now) else { return Ok(()) };
    let rows = db.rows(DUE_AGAIN, &[&since.0, &now.0]).await?;
    let mut hints = BTreeSet::new();
    for row in &rows {
        let namespace: i64 = row.try_get(0)?;
        let queue: &str = row.try_get(1)?;
        let namespace = Namespace(u32::try_from(namespace).unwrap_or_default());
        hints.insert(Hint::Activity(namespace, Queue::from(queue)));
    }
    // Everybody wakes by themselves for this, so nobody needs to be told by others.
    shared.tell_here(hints);
    Ok(())
}

pub(crate) const DUE_AGAIN: &str = "SELECT DISTINCT namespace, queue FROM @activities \
    WHERE place = 0 AND later AND due > $1 AND due <= $2";

/// When something happens by itself next: an alarm rings, or a retry becomes due.
async fn next(db: Db<'_>, now: Time) -> Outcome<Option<Time>> {
    let sql = "SELECT least((SELECT min(due) FROM @alarms), \
               (SELECT min(due) FROM @activities WHERE place = 0 AND later AND due > $1))";
    let row = db.first(sql, &[&now.0]).await?;
    let next: Option<i64> = row.map(|row| row.try_get(0)).transpose()?.flatten();
    Ok(next.map(Time))
}
