//! What comes in from outside: messages, starts, deletions.

mod start;

use bowline_core::{Address, Message, RunId, Time};
use bowline_store::{Error, Head, Hint, NewReceipt, Posted, Posting};
use futures_util::future::BoxFuture;

use crate::{
    connection::db::Outcome,
    rows::address,
    write::{
        statement::Receipt,
        tx::{Tx, Wants},
    },
};

/// What a posting will look at.
pub(crate) fn wants(posting: &Posting, wants: &mut Wants) {
    match posting {
        Posting::Message { to: Address::Run(run) | Address::Chain(run), .. } => {
            wants.runs.insert(*run);
        }
        Posting::Message { to: Address::Current(namespace, id), .. } => {
            wants.ids.insert((*namespace, id.clone()));
        }
        Posting::Start(start) => {
            wants.runs.insert(start.birth.run);
            wants.new.insert(start.birth.run);
            wants.epochs.extend(start.hold.map(|fence| fence.epoch));
            if let Ok((head, _)) = Head::born(&start.birth) {
                wants.ids.insert((start.birth.run.namespace, head.workflow_id));
            }
        }
        Posting::Delete { run, .. } => {
            wants.runs.insert(*run);
        }
    }
}

pub(crate) fn post<'t>(tx: &'t mut Tx<'_>, posting: &'t Posting) -> BoxFuture<'t, Outcome<Posted>> {
    Box::pin(async move {
        match posting {
            Posting::Message { to, message: content, now, receipt } => {
                message(tx, to, content, receipt.as_ref(), *now).await
            }
            Posting::Start(run) => start::start(tx, run).await,
            Posting::Delete { run, .. } => delete(tx, *run).await,
        }
    })
}

async fn message(
    tx: &mut Tx<'_>,
    to: &Address,
    message: &Message,
    receipt: Option<&NewReceipt>,
    now: Time,
) -> Outcome<Posted> {
    let id = address::resolve(tx, to).await?.ok_or(Error::Missing("run"))?;
    let run = tx.run(id);
    let (open, chain) = (run.is_open(), run.head.first_run);
    if receipt.is_none() {
        run.head.check_open()?;
    }
    let repeated = match message.request() {
        Some(request) if open => tx.waits(id, &request).await?,
        _ => false,
    };
    if open && !repeated {
        tx.admit(id, message).await?;
    }
    if let Some(NewReceipt { id: receipt, cause, keep_until }) = receipt.cloned() {
        let receipt = Receipt { id: receipt, run: id, chain, cause, requested_at: now, keep_until };
        // The run's number must move with it: whoever would bury the run decides again.
        tx.edit(id);
        tx.writes.receipts.push(receipt);
    }
    match () {
        () if !open => Ok(Posted::Finished(id)),
        () if repeated => Ok(Posted::Repeated(id)),
        () => Ok(Posted::Delivered(id, tx.deliver(id, message, now))),
    }
}

async fn delete(tx: &mut Tx<'_>, id: RunId) -> Outcome<Posted> {
    let run = tx.find(id).await?.ok_or(Error::Missing("run"))?;
    if run.is_open() {
        return Err(Error::Invalid(format!("run {id} is open: terminate it first")).into());
    }
    tx.label(id).deleted = true;
    tx.hints.insert(Hint::Sweep);
    Ok(Posted::Deleted)
}
