//! Work that decisions left for later, a few rows at a time; it may be broken off anywhere.

mod forget;
mod mark;
mod missing_rows;
mod unseen;

use bowline_store::{Error, Sweep, Swept};

use crate::{
    connection::db::{Db, Outcome},
    limits,
    queue::{fate, member},
    rows::{blob::int, damaged::Found},
    shared::Shared,
};

pub(crate) use forget::Cursor;
#[cfg(test)]
pub(crate) use {forget::EXPIRED, mark::COVERED};

pub(crate) async fn sweep(shared: &Shared, sweep: &Sweep) -> Outcome<Swept> {
    let lent = shared.lend().await?;
    let alive = "SELECT 1 FROM @members WHERE epoch = $1 AND state = 0";
    let alive = Db::own(&lent, shared).first(alive, &[&int(sweep.epoch.0)]).await?;
    if alive.is_none() {
        return Err(Error::Fenced.into());
    }
    drop(lent);
    let (mut room, mut found) = (RowBudget(sweep.limit), Found::new(sweep.now));
    member::fence(shared, sweep.epoch).await?;
    let more = [
        missing_rows::materialise(shared, &mut room, &mut found).await?,
        mark::fold_all(shared, &mut room, &mut found).await?,
        lose(shared, &mut room, &mut found).await?,
        release(shared, &mut room, &mut found).await?,
        forget::receipts(shared, sweep.now, &mut room).await?,
        forget::runs(shared, sweep, &mut room, &mut found).await?,
        forget::graves(shared, &mut room).await?,
    ];
    let unseen::Learnt { more: unlearnt, silent_since } =
        unseen::learn(shared, sweep, &mut room).await?;
    forget::asks(shared, sweep.now).await?;
    let more = unlearnt || more.contains(&true);
    if !more {
        member::forget(shared, limits::LOSE_MAX).await?;
    }
    let (next, rows) = (forget::next(shared).await?, sweep.limit - room.0);
    let silent = fate::silent(shared).await?;
    Ok(Swept { rows, more, damaged: found.runs, next, silent, silent_since })
}

/// How many rows may still be touched.
struct RowBudget(usize);

impl RowBudget {
    /// So many that a query finds out whether there are more than fit.
    fn look(&self) -> usize {
        self.0.saturating_add(1)
    }

    /// Takes what was found from the room there is; true if there was more.
    fn spend(&mut self, found: usize) -> bool {
        let more = found > self.0;
        self.0 -= found.min(self.0);
        more
    }
}

/// Attempts of dead members are lost.
async fn lose(shared: &Shared, room: &mut RowBudget, found: &mut Found) -> Outcome<bool> {
    let mut lost = member::held_attempts(shared, None, room.look()).await?;
    let more = room.0 < lost.len();
    lost.truncate(room.0);
    for chunk in lost.chunks(limits::LOSE_MAX) {
        member::lose_all(shared, chunk, found).await?;
    }
    room.spend(lost.len());
    Ok(more)
}

async fn release(shared: &Shared, room: &mut RowBudget, found: &mut Found) -> Outcome<bool> {
    let mut held = member::held_runs(shared, None, room.look()).await?;
    let more = room.0 < held.len();
    held.truncate(room.0);
    for chunk in held.chunks(limits::LOSE_MAX) {
        member::release_all(shared, chunk, found).await?;
    }
    room.spend(held.len());
    Ok(more)
}
