//! Values as the columns of rows: envelopes, ids as sixteen bytes, unsigned numbers as integers.

use bowline_core::{Cause, Fields, Ranges, RequestId, Rules, RunId, SearchAttributes, Time, codec};
use bowline_core::{EventId, ParentClose};
use bowline_store::{Error, Quarantine, RunCancel, ready::Mark};
use minicbor::{Decode, Encode};
use rusqlite::Row;

use crate::{db::Outcome, fault::Fault};

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

/// What of a run never changes, beside the columns that lists need.
#[derive(Clone, Debug, Encode, Decode)]
pub(crate) struct Origin {
    #[n(0)]
    pub(crate) rules: Rules,
    #[n(1)]
    pub(crate) parent: Option<Above>,
    #[n(2)]
    pub(crate) root: RunId,
    #[n(3)]
    pub(crate) first_run: RunId,
    #[n(4)]
    pub(crate) request_id: RequestId,
    #[n(5)]
    pub(crate) previous_run: Option<RunId>,
    #[n(6)]
    pub(crate) forked: Option<(RunId, EventId)>,
}

/// The parent of a run.
#[derive(Clone, Copy, Debug, Encode, Decode)]
pub(crate) struct Above {
    #[n(0)]
    pub(crate) run: RunId,
    #[n(1)]
    pub(crate) initiated: EventId,
    #[n(2)]
    pub(crate) close: ParentClose,
}

/// [`RunCancel`] as it is stored.
#[derive(Encode, Decode)]
struct StoredCancel {
    #[n(0)]
    cause: Cause,
    #[n(1)]
    requested_at: Time,
    #[n(2)]
    decided_at: Option<Time>,
}

pub(crate) fn cancel_bytes(cancel: &RunCancel) -> Vec<u8> {
    let RunCancel { cause, requested_at, decided_at } = cancel.clone();
    codec::encode(&StoredCancel { cause, requested_at, decided_at })
}

pub(crate) fn cancel(run: RunId, row: &Row<'_>, column: usize) -> Outcome<Option<RunCancel>> {
    let stored: Option<StoredCancel> = open_some(run, row, column)?;
    Ok(stored.map(|StoredCancel { cause, requested_at, decided_at }| RunCancel {
        cause,
        requested_at,
        decided_at,
    }))
}

/// [`Quarantine`] as it is stored.
#[derive(Encode, Decode)]
struct StoredQuarantine {
    #[n(0)]
    since: Time,
    #[n(1)]
    failures: u32,
    #[n(2)]
    reason: String,
}

pub(crate) fn quarantine_bytes(quarantine: &Quarantine) -> Vec<u8> {
    let Quarantine { since, failures, reason } = quarantine.clone();
    codec::encode(&StoredQuarantine { since, failures, reason })
}

pub(crate) fn quarantine(run: RunId, row: &Row<'_>, column: usize) -> Outcome<Option<Quarantine>> {
    let stored: Option<StoredQuarantine> = open_some(run, row, column)?;
    Ok(stored.map(|StoredQuarantine { since, failures, reason }| Quarantine {
        since,
        failures,
        reason,
    }))
}

/// [`Mark`] as it is stored; its number is a column.
#[derive(Encode, Decode)]
struct StoredMark {
    #[n(0)]
    ranges: Ranges,
    #[n(1)]
    cause: Cause,
    #[n(2)]
    at: Time,
}

pub(crate) fn mark_bytes(mark: &Mark) -> Vec<u8> {
    let Mark { ranges, cause, at, .. } = mark.clone();
    codec::encode(&StoredMark { ranges, cause, at })
}

pub(crate) fn mark(run: RunId, number: u64, row: &Row<'_>, column: usize) -> Outcome<Mark> {
    let StoredMark { ranges, cause, at } = open(run, row, column)?;
    Ok(Mark { number, ranges, cause, at })
}

/// Search attributes, if there are any.
pub(crate) fn search_bytes(search: &SearchAttributes) -> Option<Vec<u8>> {
    (!search.is_empty()).then(|| codec::encode(search))
}

/// A memo, if there is one.
pub(crate) fn memo_bytes(memo: &Fields) -> Option<Vec<u8>> {
    (!memo.is_empty()).then(|| codec::encode(memo))
}
