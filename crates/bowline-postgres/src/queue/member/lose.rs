//! What members had that are dead: their attempts are over or tried again, their runs are free.

use bowline_core::{Epoch, EventId, RunId, Time, hold_back, limits::ABOVE_MAX, lose};
use bowline_store::{Error, Hint};

use crate::{
    connection::db::{Db, Outcome, Value},
    fault::Fault,
    queue::fate,
    rows::{
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
pub(super) fn locked<T>(done: &Outcome<T>) -> Option<Vec<RunId>> {
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
