//! Rows that a wide commit owes are made, from its events.

use bowline_core::{RunId, Time};
use bowline_store::{ready::Change, stored::Planned};
use rusqlite::params;

use super::Room;
use crate::{
    connection::db::Outcome,
    rows::{
        activity::Activity,
        blob::int,
        damaged::Found,
        missing_rows::{plan, read_missing},
    },
    write::tx::Tx,
};

/// True if rows are still missing.
pub(super) fn materialise(tx: &mut Tx<'_>, room: &mut Room, found: &mut Found) -> Outcome<bool> {
    let owing: Vec<RunId> = tx.memory.index.owing().collect();
    for id in owing {
        let paid = pay(tx, id, room, found.now);
        match found.step(tx, id, paid)? {
            Some(true) => {}
            Some(false) => return Ok(true),
            // It owes on: marks must wait for their rows.
            None => continue,
        }
        tx.change(Change::Paid(id));
    }
    Ok(false)
}

/// True if the run owes nothing any more.
fn pay(tx: &mut Tx<'_>, id: RunId, room: &mut Room, now: Time) -> Outcome<bool> {
    let Some(run) = tx.find(id)? else { return Ok(true) };
    let key = run.key();
    for missing in read_missing(tx.db, id, key)? {
        let mut planned = match tx.memory.missing_rows.recall(id, missing.next) {
            Some(planned) => planned,
            None => plan(tx.db, id, key, &missing)?,
        };
        let chunk: Vec<Planned> = planned.drain(..planned.len().min(room.0)).collect();
        let next = planned.front().map(|planned| planned.number);
        tx.memory.missing_rows.keep(id, planned);
        for Planned { number, spec, live } in chunk {
            room.spend(1);
            match tx.mark(id, number) {
                // What was cancelled before it had a row never gets one.
                Some(_) => tx.edit(id).never_started += 1,
                None => tx.add(&Activity { key, run: id, number, spec, live }, now)?,
            }
        }
        match next {
            Some(next) => {
                let values = params![int(next.0), key, int(missing.next.0)];
                tx.db.run("UPDATE owed SET next = ? WHERE run = ? AND next = ?", values)?;
                return Ok(false);
            }
            None => {
                let values = params![key, int(missing.next.0)];
                tx.db.run("DELETE FROM owed WHERE run = ? AND next = ?", values)?;
            }
        }
    }
    tx.may_rest(id);
    Ok(true)
}
