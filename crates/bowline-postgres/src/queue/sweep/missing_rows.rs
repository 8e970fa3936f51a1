//! Rows that a wide commit owes are made, from its events.

use bowline_core::{RunId, Time};
use bowline_store::stored::Planned;
use futures_util::future::BoxFuture;

use super::RowBudget;
use crate::{
    connection::db::{Db, Outcome, Value},
    fault::Fault,
    rows::{activity::Activity, blob, damaged::Found, missing_rows::plan},
    shared::Shared,
    write::{tx::Tx, work},
};

/// True if rows are still missing.
pub(super) async fn materialise(
    shared: &Shared,
    room: &mut RowBudget,
    found: &mut Found,
) -> Outcome<bool> {
    let mut unreadable = None;
    loop {
        let Some(run) = next(shared, unreadable).await? else { return Ok(false) };
        if room.0 == 0 {
            return Ok(true);
        }
        let paying = Paying { run, room: room.0, now: found.now };
        let paid = work::attempt(shared, &paying, pay).await;
        if matches!(paid, Err(Fault::Locked(_))) {
            unreadable = Some(run);
            continue;
        }
        let Ok(paid) = found.step(shared, paid).await? else {
            unreadable = Some(run);
            continue;
        };
        room.spend(paid);
        if paid == 0 {
            return Ok(false);
        }
    }
}

/// The first run that owes anything, after one that cannot pay.
async fn next(shared: &Shared, after: Option<RunId>) -> Outcome<Option<RunId>> {
    let lent = shared.lend().await?;
    // A run that is gone owes nothing.
    let sql = "SELECT o.namespace, o.run FROM @owed o \
               JOIN @runs r ON r.namespace = o.namespace AND r.run = o.run \
               WHERE (o.namespace, o.run) > ($1, $2) ORDER BY o.namespace, o.run LIMIT 1";
    let (space, uuid) = match after {
        Some(run) => (blob::space(run), blob::uuid(run)),
        None => (-1, uuid::Uuid::nil()),
    };
    let values: [Value<'_>; 2] = [&space, &uuid];
    let row = Db::own(&lent, shared).first(sql, &values).await?;
    row.map(|row| blob::run_id(&row, 0)).transpose()
}

struct Paying {
    run: RunId,
    room: usize,
    now: Time,
}

/// Makes some of the rows that a run owes; answers how many.
fn pay<'t>(tx: &'t mut Tx<'_>, paying: &'t Paying) -> BoxFuture<'t, Outcome<usize>> {
    Box::pin(async move {
        let Paying { run: id, room, now } = *paying;
        if tx.find(id).await?.is_none() {
            return Ok(0);
        }
        let Some(missing) = tx.missing_rows(id).await?.first().cloned() else { return Ok(0) };
        let marks = tx.marks(id).await?.to_vec();
        let known = tx.shared.missing_rows.lock().recall(id, missing.next);
        let mut planned = match known {
            Some(planned) => planned,
            None => plan(tx.db, id, &missing).await?,
        };
        let chunk: Vec<Planned> = planned.drain(..planned.len().min(room)).collect();
        let next = planned.front().map(|planned| planned.number);
        let rows = chunk.len().max(1);
        for Planned { number, spec, live } in chunk {
            match marks.iter().any(|mark| mark.ranges.contains(number)) {
                // What was cancelled before it had a row never gets one.
                true => tx.edit(id).never_started += 1,
                false => tx.add(Activity::new(id, number, spec, live), now),
            }
        }
        tx.pay(id, missing.first(), next);
        // If this is not written after all, what is remembered does not fit, and is read again.
        tx.shared.missing_rows.lock().keep(id, planned);
        Ok(rows)
    })
}
