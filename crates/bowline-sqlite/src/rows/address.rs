//! From an address to the run that is meant.

use bowline_core::{Address, RunId};

use crate::{connection::db::Outcome, rows::run, write::tx::Tx};

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

/// The newest run of a chain, by its first run, which may be gone, or by any other that is there.
fn chain(tx: &mut Tx<'_>, from: RunId) -> Outcome<Option<RunId>> {
    let own = tx.find(from)?.map(|run| (run.head.first_run, run.is_open()));
    let first = match own {
        Some((_, true)) => return Ok(Some(from)),
        Some((first, false)) => first,
        None => from,
    };
    match run::newest(tx.db, first)? {
        Some(key) => tx.find_at(key),
        None => Ok(own.map(|_| from)),
    }
}
