//! Members that are given up are forgotten when nothing names them any more.

use bowline_core::{ActivityLive, Epoch};

use super::HOLDING_NOTHING;
use crate::{
    connection::db::{Db, Outcome, Value},
    queue::grace,
    rows::blob::{self, count, int, number},
    shared::Shared,
};

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
    db.begin_transaction("BEGIN").await?;
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
