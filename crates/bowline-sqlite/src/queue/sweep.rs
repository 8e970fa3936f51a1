//! Work that decisions left for later, a few rows at a time; it may be broken off anywhere.

mod forget;
mod mark;
mod missing_rows;
mod unseen;

use bowline_core::RunId;
use bowline_store::{Sweep, Swept, ready::Change};

use crate::{connection::db::Outcome, queue::member, rows::damaged::Found, write::tx::Tx};

pub(crate) use forget::Cursor;

pub(crate) fn sweep(tx: &mut Tx<'_>, sweep: &Sweep) -> Outcome<Swept> {
    tx.alive(sweep.epoch)?;
    let (mut room, mut found) = (Room(sweep.limit), Found::new(sweep.now));
    let more = [
        missing_rows::materialise(tx, &mut room, &mut found)?,
        mark::fold_all(tx, &mut room, &mut found)?,
        lose(tx, sweep, &mut room, &mut found)?,
        release(tx, sweep, &mut room, &mut found)?,
        unseen::learn(tx, sweep, &mut room)?,
        forget::receipts(tx, sweep.now, &mut room)?,
        forget::runs(tx, sweep, &mut room, &mut found)?,
        forget::graves(tx, &mut room)?,
    ];
    let next = forget::next(tx)?;
    let silent_since = unseen::silent_since(tx)?;
    let (rows, more, damaged) = (sweep.limit - room.0, more.contains(&true), found.runs);
    Ok(Swept { rows, more, damaged, next, silent: Vec::new(), silent_since })
}

/// How many rows may still be touched.
struct Room(usize);

impl Room {
    /// So many that a query finds out whether there are more than fit.
    fn look(&self) -> i64 {
        i64::try_from(self.0.saturating_add(1)).unwrap_or(i64::MAX)
    }

    /// Takes what was found from the room there is; true if there was more.
    fn spend(&mut self, found: usize) -> bool {
        let more = found > self.0;
        self.0 -= found.min(self.0);
        more
    }
}

/// Attempts of dead members are lost. A store of one process sees that they ended: with it.
fn lose(tx: &mut Tx<'_>, sweep: &Sweep, room: &mut Room, found: &mut Found) -> Outcome<bool> {
    let outside = tx.memory.index.attempts_outside(sweep.epoch);
    let lost: Vec<_> = outside.take(room.0.saturating_add(1)).collect();
    for (run, activity) in lost.iter().take(room.0) {
        let done = member::lose_attempt(tx, *run, *activity, sweep.now);
        if found.step(tx, *run, done)?.is_none() {
            // Nobody has it any more, and nobody can say what becomes of it.
            tx.change(Change::Over { run: *run, activity: *activity });
        }
    }
    Ok(room.spend(lost.len()))
}

fn release(tx: &mut Tx<'_>, sweep: &Sweep, room: &mut Room, found: &mut Found) -> Outcome<bool> {
    let outside = tx.memory.index.held_outside(sweep.epoch);
    let held: Vec<RunId> = outside.take(room.0.saturating_add(1)).collect();
    for run in held.iter().take(room.0) {
        let done = member::release(tx, *run);
        found.step(tx, *run, done)?;
    }
    Ok(room.spend(held.len()))
}
