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

pub(super) async fn start(tx: &mut Tx<'_>, start: &StartRun) -> Outcome<Posted> {
    let (_, started) = Head::born(&start.birth)?;
    let namespace = start.birth.run.namespace;
    if let Some(id) = tx.current(namespace, &started.workflow_id).await? {
        let run = tx.run(id);
        let open = run.is_open();
        if !start.request_id.is_empty() && run.origin.request_id == start.request_id {
            return Ok(Posted::Repeated(id));
        }
        match &start.otherwise {
            Some(message) if open => {
                return super::message(tx, &Address::Run(id), message, None, start.now).await;
            }
            None if open && start.conflict == Conflict::UseExisting => {
                return Ok(Posted::Existing(id));
            }
            _ => {}
        }
        if let Some((run, status)) = check_id(tx, &start.birth).await? {
            return Err(Error::IdTaken { run, status }.into());
        }
    }
    check_birth(tx, &start.birth).await?;
    tx.begin_run(&start.birth, start.now).await?;
    if let Some(fence) = start.hold
        && tx.is_alive(fence.epoch).await?
    {
        tx.edit(start.birth.run).head.holder = Some(fence);
    }
    Ok(Posted::Started(start.birth.run))
}
