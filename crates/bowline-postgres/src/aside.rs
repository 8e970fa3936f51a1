//! Runs that do not read are put where people see them and nobody else is held up by them.

use bowline_core::{RunId, Time};
use bowline_store::{Error, Quarantine};

use crate::{
    blob,
    db::{Db, Outcome, Value},
    fault::Fault,
    shared::Shared,
    work,
};

/// Puts a run into quarantine. If even its row does not read, it only leaves the queues.
pub(crate) async fn set_aside(
    shared: &Shared,
    id: RunId,
    reason: String,
    now: Time,
) -> Outcome<()> {
    let aside = (id, Quarantine { since: now, failures: 1, reason });
    let aside = work::attempt(shared, &aside, |tx, (id, quarantine)| {
        Box::pin(async move {
            if tx.find(*id).await?.is_some() {
                let head = &mut tx.edit(*id).head;
                head.quarantine = Some(quarantine.clone());
                head.holder = None;
            }
            Ok(())
        })
    })
    .await;
    match aside {
        Err(Fault::Said(Error::Corrupt { .. })) => {
            let sql = "UPDATE @runs SET rev = rev + 1, turn_at = NULL, intake_at = NULL, \
                       remote_at = NULL WHERE namespace = $1 AND run = $2";
            change(shared, sql, id).await
        }
        other => other,
    }
}

/// The same for a run of which a member that is gone has something: it has it no longer, or whoever
/// gives back what such members had would meet it again and again.
pub(crate) async fn give_up(shared: &Shared, id: RunId, reason: String, now: Time) -> Outcome<()> {
    set_aside(shared, id, reason, now).await?;
    let sql = "WITH gone AS (SELECT epoch FROM @members WHERE state <> 0), \
               attempts AS (UPDATE @activities SET epoch = NULL \
                   WHERE namespace = $1 AND run = $2 AND epoch IN (SELECT epoch FROM gone)) \
               UPDATE @runs SET rev = rev + 1, \
               epoch = CASE WHEN epoch IN (SELECT epoch FROM gone) THEN NULL ELSE epoch END \
               WHERE namespace = $1 AND run = $2";
    change(shared, sql, id).await
}

async fn change(shared: &Shared, sql: &str, id: RunId) -> Outcome<()> {
    let lent = shared.lend().await?;
    let values: [Value<'_>; 2] = [&blob::space(id), &blob::uuid(id)];
    Db::own(&lent, shared).change(sql, &values).await.map(drop)
}
