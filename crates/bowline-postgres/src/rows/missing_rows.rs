//! Rows that are missing: activities of a wide commit, whose events stand in history already.

use std::collections::VecDeque;

use bowline_core::{Batch, Blob, EventId, RunId, Time};
use bowline_store::stored::{MissingRows, Planned};

use crate::{
    connection::db::{Db, Outcome},
    fault::Fault,
    rows::blob::{self, int, number},
};

/// What a run owes.
pub(crate) async fn read_missing(db: Db<'_>, run: RunId) -> Outcome<Vec<MissingRows>> {
    let sql = "SELECT next, at, bytes FROM @owed WHERE namespace = $1 AND run = $2 ORDER BY first";
    let rows = db.rows(sql, &[&blob::space(run), &blob::uuid(run)]).await?;
    rows.iter()
        .map(|row| {
            let (next, at) = (EventId(number(row, 0)?), Time(row.try_get(1)?));
            Ok(MissingRows { next, at, ranges: blob::open(run, row, 2)? })
        })
        .collect()
}

/// The activities without a row, the next one first, from their events.
pub(crate) async fn plan(
    db: Db<'_>,
    run: RunId,
    missing: &MissingRows,
) -> Outcome<VecDeque<Planned>> {
    let sql = "SELECT first, last, bytes FROM @history \
               WHERE namespace = $1 AND run = $2 AND first <= $3 AND last >= $4 ORDER BY first";
    let values: [crate::connection::db::Value<'_>; 4] =
        [&blob::space(run), &blob::uuid(run), &int(missing.last().0), &int(missing.next.0)];
    let rows = db.rows(sql, &values).await?;
    let batches = rows.iter().map(batch).collect::<Outcome<Vec<Batch>>>()?;
    missing.plan(batches).map_err(|corrupt| Fault::corrupt(run, corrupt))
}

/// A row of history: first, last, bytes.
pub(crate) fn batch(row: &crate::connection::row::Row) -> Outcome<Batch> {
    let bytes: Vec<u8> = row.try_get(2)?;
    let (first, last) = (EventId(number(row, 0)?), EventId(number(row, 1)?));
    Ok(Batch { first, last, bytes: Blob::from(bytes) })
}
