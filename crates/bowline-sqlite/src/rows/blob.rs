//! Values as the columns of rows: envelopes, ids as sixteen bytes, unsigned numbers as integers.

use bowline_core::{RunId, codec};
use bowline_store::{Error, ready::Mark};
use minicbor::Decode;
use rusqlite::Row;

use crate::{connection::db::Outcome, fault::Fault};

/// SQLite's integers are signed; ours never reach the sign.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).expect("no counter reaches the sign")
}

/// Back from a column.
pub(crate) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    Ok(u64::try_from(number).unwrap_or_default())
}

/// Sixteen bytes, big end first.
pub(crate) fn wide(row: &Row<'_>, column: usize) -> rusqlite::Result<u128> {
    let bytes: [u8; 16] = row.get(column)?;
    Ok(u128::from_be_bytes(bytes))
}

/// Reads an envelope of a run's row.
pub(crate) fn open<T>(run: RunId, row: &Row<'_>, column: usize) -> Outcome<T>
where
    T: for<'b> Decode<'b, ()>,
{
    let bytes = row.get_ref(column)?.as_blob().map_err(|_| damaged(run, column))?;
    codec::decode(bytes).map_err(|corrupt| Fault::corrupt(run, corrupt))
}

/// Reads an envelope that may be absent.
pub(crate) fn open_some<T>(run: RunId, row: &Row<'_>, column: usize) -> Outcome<Option<T>>
where
    T: for<'b> Decode<'b, ()>,
{
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => open(run, row, column).map(Some),
    }
}

fn damaged(run: RunId, column: usize) -> Fault {
    let why = format!("column {column} does not hold bytes");
    Fault::Said(Error::Corrupt { run, corrupt: bowline_core::Corrupt::Value(why) })
}

/// A mark, whose number is a column of its own.
pub(crate) fn mark(run: RunId, number: u64, row: &Row<'_>, column: usize) -> Outcome<Mark> {
    Ok(Mark { number, ..open(run, row, column)? })
}
