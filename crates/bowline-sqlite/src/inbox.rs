//! Messages that nobody has consumed yet.

use bowline_core::{Number, Received, RunId, Time};
use rusqlite::params;

use crate::{
    blob::{self, number},
    db::{Db, Outcome},
};

/// The oldest unread messages of a run.
pub(crate) fn unread(db: Db<'_>, run: RunId, key: i64, limit: usize) -> Outcome<Vec<Received>> {
    let sql = "SELECT number, at, bytes FROM inbox WHERE run = ? ORDER BY number LIMIT ?";
    db.all(sql, params![key, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
        let (number, at) = (Number(number(row, 0)?), Time(row.get(1)?));
        Ok(Received { number, at, message: blob::open(run, row, 2)? })
    })
}

/// Whether a message of this request waits already.
pub(crate) fn waits(db: Db<'_>, key: i64, request: &str) -> Outcome<bool> {
    let sql = "SELECT 1 FROM inbox INDEXED BY inbox_request WHERE run = ? AND request = ?";
    Ok(db.first(sql, params![key, request], |_| Ok(()))?.is_some())
}
