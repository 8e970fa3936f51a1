//! From an address to the run that is meant.

use bowline_core::{Address, RunId};

use crate::{db::Outcome, tx::Tx};

/// The run, found; none if there is no such run.
pub(crate) async fn resolve(tx: &mut Tx<'_>, address: &Address) -> Outcome<Option<RunId>> {
    match address {
        Address::Run(run) => Ok(tx.find(*run).await?.map(|run| run.head.run)),
        Address::Current(namespace, id) => tx.current(*namespace, id).await,
        Address::Chain(first) => chain(tx, *first).await,
    }
}

/// The newest run of a chain. A chain may be thousands of runs long, so the newest run of its
/// workflow id is looked at before its links are followed.
async fn chain(tx: &mut Tx<'_>, from: RunId) -> Outcome<Option<RunId>> {
    let Some(run) = tx.find(from).await? else { return Ok(None) };
    if run.head.successor.is_none() {
        return Ok(Some(from));
    }
    let (first, id) = (run.head.first_run, run.head.workflow_id.clone());
    if let Some(newest) = tx.current(from.namespace, &id).await? {
        let head = &tx.run(newest).head;
        if head.first_run == first && head.successor.is_none() {
            return Ok(Some(newest));
        }
    }
    let mut last = from;
    while let Some(next) = tx.run(last).head.successor {
        match tx.find(next).await? {
            Some(_) => last = next,
            None => break,
        }
    }
    Ok(Some(last))
}
