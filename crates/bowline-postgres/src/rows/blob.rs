//! Values as the columns of rows: envelopes, ids, unsigned numbers as integers.

use bowline_core::{AskId, Failure, Name, Payload, RunId, codec};
use bowline_store::{AskBody, Error, Reply, ready::Mark};
use minicbor::{Decode, Encode};
use uuid::Uuid;

use crate::{
    connection::{db::Outcome, row::Row},
    fault::Fault,
};

/// The database's integers are signed; ours never reach the sign.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).expect("no counter reaches the sign")
}

/// Back from a column.
pub(crate) fn number(row: &Row, column: usize) -> Outcome<u64> {
    let number: i64 = row.try_get(column)?;
    Ok(u64::try_from(number).unwrap_or_default())
}

pub(crate) fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) fn space(run: RunId) -> i64 {
    i64::from(run.namespace.0)
}

/// The second parts of many ids.
pub(crate) fn uuids<'r>(runs: impl IntoIterator<Item = &'r RunId>) -> Vec<Uuid> {
    runs.into_iter().map(|run| uuid(*run)).collect()
}

pub(crate) fn uuid(run: RunId) -> Uuid {
    Uuid::from_u128(run.uuid)
}

/// The id of a run, from two columns.
pub(crate) fn run_id(row: &Row, column: usize) -> Outcome<RunId> {
    let namespace: i64 = row.try_get(column)?;
    let uuid: Uuid = row.try_get(column + 1)?;
    let namespace = bowline_core::Namespace(u32::try_from(namespace).unwrap_or_default());
    Ok(RunId { namespace, uuid: uuid.as_u128() })
}

/// Reads an envelope of a run's row.
pub(crate) fn open<T>(run: RunId, row: &Row, column: usize) -> Outcome<T>
where
    T: for<'b> Decode<'b, ()>,
{
    let bytes: &[u8] = row.try_get(column)?;
    codec::decode(bytes).map_err(|corrupt| Fault::corrupt(run, corrupt))
}

/// Reads an envelope that may be absent.
pub(crate) fn open_some<T>(run: RunId, row: &Row, column: usize) -> Outcome<Option<T>>
where
    T: for<'b> Decode<'b, ()>,
{
    let bytes: Option<&[u8]> = row.try_get(column)?;
    let read = |bytes| codec::decode(bytes).map_err(|corrupt| Fault::corrupt(run, corrupt));
    bytes.map(read).transpose()
}

/// A mark, whose number is a column of its own.
pub(crate) fn mark(run: RunId, number: u64, row: &Row, column: usize) -> Outcome<Mark> {
    Ok(Mark { number, ..open(run, row, column)? })
}

/// [`AskBody`] as it is stored: a query has a name, control has none.
#[derive(Encode, Decode)]
struct StoredAsk {
    #[n(0)]
    name: Option<Name>,
    #[n(1)]
    content: Option<Payload>,
}

pub(crate) fn ask_bytes(body: &AskBody) -> Outcome<Vec<u8>> {
    let stored = match body.clone() {
        AskBody::Query { name, input } => StoredAsk { name: Some(name), content: input },
        AskBody::Control(payload) => StoredAsk { name: None, content: Some(payload) },
        _ => return Err(Error::Invalid("this store knows no such question".into()).into()),
    };
    Ok(codec::encode(&stored))
}

pub(crate) fn ask_body(row: &Row, column: usize) -> Outcome<AskBody> {
    let StoredAsk { name, content } = open(RunId::default(), row, column)?;
    Ok(match name {
        Some(name) => AskBody::Query { name, input: content },
        None => AskBody::Control(content.unwrap_or_else(|| Payload::json("null"))),
    })
}

/// [`Reply`] as it is stored; its question is a column.
#[derive(Encode, Decode)]
struct StoredReply {
    #[n(0)]
    value: Option<Payload>,
    #[n(1)]
    failure: Option<Failure>,
}

pub(crate) fn reply_bytes(reply: &Reply) -> Vec<u8> {
    codec::encode(&match reply.answer.clone() {
        Ok(value) => StoredReply { value, failure: None },
        Err(failure) => StoredReply { value: None, failure: Some(failure) },
    })
}

pub(crate) fn reply(id: AskId, row: &Row, column: usize) -> Outcome<Reply> {
    let StoredReply { value, failure } = open(RunId::default(), row, column)?;
    Ok(Reply { id, answer: failure.map_or(Ok(value), Err) })
}
