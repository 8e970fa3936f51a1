//! What comes in from outside: messages, starts, deletions.

mod start;

use bowline_core::{Address, Message, Time};
use bowline_store::{Error, Hint, NewReceipt, Posted, Posting};
use rusqlite::params;

use crate::{
    connection::db::Outcome,
    rows::{address, inbox},
    write::tx::Tx,
};

pub(crate) fn post(tx: &mut Tx<'_>, posting: &Posting) -> Outcome<Posted> {
    match posting {
        Posting::Message { to, message: content, now, receipt } => {
            message(tx, to, content, receipt.as_ref(), *now)
        }
        Posting::Start(run) => start::start(tx, run),
        Posting::Delete { run, .. } => delete(tx, *run),
    }
}

fn message(
    tx: &mut Tx<'_>,
    to: &Address,
    message: &Message,
    receipt: Option<&NewReceipt>,
    now: Time,
) -> Outcome<Posted> {
    let id = address::resolve(tx, to)?.ok_or(Error::Missing("run"))?;
    let run = tx.run(id);
    let (open, key, chain) = (run.is_open(), run.key(), run.head.first_run);
    if receipt.is_none() {
        run.head.check_open()?;
    }
    if let Some(receipt) = receipt {
        tx.db.run(
            "INSERT OR IGNORE INTO receipts \
             (id, run, namespace, chain, cause, requested_at, keep_until) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![
                receipt.id.0.to_be_bytes(),
                id.uuid.to_be_bytes(),
                id.namespace.0,
                chain.uuid.to_be_bytes(),
                bowline_core::codec::encode(&receipt.cause),
                now.0,
                receipt.keep_until.0
            ],
        )?;
    }
    if !open {
        return Ok(Posted::Finished(id));
    }
    let repeated = match message.request() {
        Some(request) => inbox::waits(tx.db, key, &request)?,
        None => false,
    };
    match repeated {
        true => Ok(Posted::Repeated(id)),
        false => {
            tx.admit(id, message)?;
            Ok(Posted::Delivered(id, tx.deliver(id, message, now)?))
        }
    }
}

fn delete(tx: &mut Tx<'_>, id: bowline_core::RunId) -> Outcome<Posted> {
    let run = tx.find(id)?.ok_or(Error::Missing("run"))?;
    if run.is_open() {
        return Err(Error::Invalid(format!("run {id} is open: terminate it first")).into());
    }
    let key = run.key();
    tx.db.run("UPDATE labels SET deleted = 1 WHERE key = ?", [key])?;
    tx.hints.insert(Hint::Sweep);
    Ok(Posted::Deleted)
}
