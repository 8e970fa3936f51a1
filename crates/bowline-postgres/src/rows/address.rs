//! From an address to the run that is meant.

use bowline_core::{Address, RunId};

use crate::{connection::db::Outcome, rows::run, write::tx::Tx};

/// The run, found; none if there is no such run.
pub(crate) async fn resolve(tx: &mut Tx<'_>, address: &Address) -> Outcome<Option<RunId>> {
    match address {
        Address::Run(run) => Ok(tx.find(*run).await?.map(|run| run.head.run)),
        Address::Current(namespace, id) => tx.current(*namespace, id).await,
        Address::Chain(first) => chain(tx, *first).await,
    }
}

/// The newest run of a chain, by its first run, which may be gone, or by any other that is there.
async fn chain(tx: &mut Tx<'_>, from: RunId) -> Outcome<Option<RunId>> {
    let own = tx.find(from).await?.map(|run| (run.head.first_run, run.is_open()));
    let mut last = match own {
        Some((_, true)) => return Ok(Some(from)),
        Some((first, false)) => run::newest(tx.db, first).await?.unwrap_or(from),
        None => match run::newest(tx.db, from).await? {
            Some(newest) => newest,
            None => return Ok(None),
        },
    };
    if tx.find(last).await?.is_none() {
        return Ok(None);
    }
    // It may have gone on within this very group.
    while let Some(next) = tx.run(last).head.successor {
        match tx.find(next).await? {
            Some(_) => last = next,
            None => break,
        }
    }
    Ok(Some(last))
}
