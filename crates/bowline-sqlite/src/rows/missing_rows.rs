//! Rows that are missing: activities of a wide commit, whose events stand in history already.

use std::collections::VecDeque;

use bowline_core::{Batch, Blob, EventId, RunId, Time};
use bowline_store::stored::{MissingRows, Planned};
use rusqlite::params;

use crate::{
    connection::db::{Db, Outcome},
    fault::Fault,
    rows::blob::{self, int, number},
    stats::count,
};

/// What a run owes.
pub(crate) fn read_missing(db: Db<'_>, run: RunId, key: i64) -> Outcome<Vec<MissingRows>> {
    let sql = "SELECT next, at, bytes FROM owed WHERE run = ? ORDER BY next";
    db.all(sql, [key], |row| {
        let (next, at) = (EventId(number(row, 0)?), Time(row.get(1)?));
        Ok(MissingRows { next, at, ranges: blob::open(run, row, 2)? })
    })
}

/// The activities without a row, the next one first, from their events.
pub(crate) fn plan(
    db: Db<'_>,
    run: RunId,
    key: i64,
    missing: &MissingRows,
) -> Outcome<VecDeque<Planned>> {
    let sql = "SELECT first, last, bytes FROM history \
               WHERE run = ? AND first <= ? AND last >= ? ORDER BY first";
    let values = params![key, int(missing.last().0), int(missing.next.0)];
    let batches = db.all(sql, values, |row| {
        count(&db.counters.batches_read, 1);
        let bytes: Vec<u8> = row.get(2)?;
        let (first, last) = (EventId(number(row, 0)?), EventId(number(row, 1)?));
        Ok(Batch { first, last, bytes: Blob::from(bytes) })
    })?;
    missing.plan(batches).map_err(|corrupt| Fault::corrupt(run, corrupt))
}
