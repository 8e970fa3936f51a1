//! Messages that nobody has consumed yet.

use bowline_core::{Message, Number, Received, RunId, Time, codec};
use rusqlite::params;

use crate::{
    connection::db::{Db, Outcome},
    rows::blob::{self, int, number},
};

/// Puts a message into the inbox of a run.
pub(crate) fn put(
    db: Db<'_>,
    run: i64,
    number: Number,
    message: &Message,
    at: Time,
) -> Outcome<()> {
    db.run(
        "INSERT INTO inbox (run, number, at, request, bytes) VALUES (?, ?, ?, ?, ?)",
        params![run, int(number.0), at.0, message.request(), codec::encode(message)],
    )?;
    Ok(())
}

/// Takes messages out, up to this one.
pub(crate) fn drop_until(db: Db<'_>, run: i64, last: Number) -> Outcome<()> {
    db.run("DELETE FROM inbox WHERE run = ? AND number <= ?", params![run, int(last.0)])?;
    Ok(())
}

/// Takes one message out.
pub(crate) fn drop_one(db: Db<'_>, run: i64, number: Number) -> Outcome<()> {
    db.run("DELETE FROM inbox WHERE run = ? AND number = ?", params![run, int(number.0)])?;
    Ok(())
}

/// Whether a message waits after this one that is none of these.
pub(crate) fn waits_after(db: Db<'_>, run: i64, last: Number, but: &[Number]) -> Outcome<bool> {
    let mut found = false;
    let sql = "SELECT number FROM inbox WHERE run = ? AND number > ? ORDER BY number";
    db.each(sql, params![run, int(last.0)], |row| {
        found = !but.contains(&Number(number(row, 0)?));
        Ok(!found)
    })?;
    Ok(found)
}

/// The oldest unread messages of a run.
pub(crate) fn unread(db: Db<'_>, run: RunId, key: i64, limit: usize) -> Outcome<Vec<Received>> {
    let sql = "SELECT number, at, bytes FROM inbox WHERE run = ? ORDER BY number LIMIT ?";
    db.all(sql, params![key, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
        let (number, at) = (Number(number(row, 0)?), Time(row.get(1)?));
        Ok(Received { number, at, message: blob::open(run, row, 2)? })
    })
}

/// How many bytes wait for a run.
pub(crate) fn weight(db: Db<'_>, key: i64) -> Outcome<u64> {
    let sql = "SELECT coalesce(sum(length(bytes)), 0) FROM inbox WHERE run = ?";
    Ok(db.first(sql, [key], |row| number(row, 0))?.unwrap_or(0))
}

/// Whether a message of this request waits already.
pub(crate) fn waits(db: Db<'_>, key: i64, request: &str) -> Outcome<bool> {
    let sql = "SELECT 1 FROM inbox INDEXED BY inbox_request WHERE run = ? AND request = ?";
    Ok(db.first(sql, params![key, request], |_| Ok(()))?.is_some())
}
