//! From an address to the run that is meant.

use bowline_core::{Address, RunId};

use crate::{db::Outcome, tx::Tx};

/// The run, found; none if there is no such run.
pub(crate) fn resolve(tx: &mut Tx<'_>, address: &Address) -> Outcome<Option<RunId>> {
    match address {
        Address::Run(run) => Ok(tx.find(*run)?.map(|run| run.head.run)),
        Address::Current(namespace, id) => {
            Ok(tx.current(*namespace, id.as_str())?.map(|run| run.head.run))
        }
        Address::Chain(first) => chain(tx, *first),
    }
}

/// The newest run of a chain. A chain may be thousands of runs long, so the newest run of its
/// workflow id is looked at before its links are followed.
fn chain(tx: &mut Tx<'_>, from: RunId) -> Outcome<Option<RunId>> {
    let Some(run) = tx.find(from)? else { return Ok(None) };
    if run.head.successor.is_none() {
        return Ok(Some(from));
    }
    let (first, id) = (run.head.first_run, run.head.workflow_id.clone());
    let newest = tx.current(from.namespace, id.as_str())?;
    let newest = newest.filter(|run| run.head.first_run == first && run.head.successor.is_none());
    if let Some(newest) = newest {
        return Ok(Some(newest.head.run));
    }
    let mut last = from;
    while let Some(next) = tx.run(last).head.successor {
        match tx.find(next)? {
            Some(_) => last = next,
            None => break,
        }
    }
    Ok(Some(last))
}
