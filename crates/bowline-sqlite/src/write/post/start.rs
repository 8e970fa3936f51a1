//! Runs that somebody starts from outside.

use bowline_core::{Address, Conflict};
use bowline_store::{Error, Head, Posted, StartRun};

use crate::{
    connection::db::Outcome,
    write::{
        commit::{check_birth, check_id},
        tx::Tx,
    },
};

pub(super) fn start(tx: &mut Tx<'_>, start: &StartRun) -> Outcome<Posted> {
    let (_, started) = Head::born(&start.birth)?;
    let namespace = start.birth.run.namespace;
    if let Some(run) = tx.current(namespace, started.workflow_id.as_str())? {
        let (id, open) = (run.head.run, run.is_open());
        if !start.request_id.is_empty() && run.label.origin.request_id == start.request_id {
            return Ok(Posted::Repeated(id));
        }
        match &start.otherwise {
            Some(message) if open => {
                return super::message(tx, &Address::Run(id), message, None, start.now);
            }
            None if open && start.conflict == Conflict::UseExisting => {
                return Ok(Posted::Existing(id));
            }
            _ => {}
        }
        if let Some((run, status)) = check_id(tx, &start.birth)? {
            return Err(Error::IdTaken { run, status }.into());
        }
    }
    check_birth(tx, &start.birth)?;
    let hold = start.hold.filter(|fence| tx.alive(fence.epoch).is_ok());
    tx.begin_run(&start.birth, hold, start.now)?;
    Ok(Posted::Started(start.birth.run))
}
