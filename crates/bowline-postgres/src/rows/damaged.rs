//! Runs that do not read are put where people see them and nobody else is held up by them.

use bowline_core::{Epoch, EventId, GaveUp, Parked, RunId, Time};
use bowline_store::{DamagedRun, Error};

use crate::{
    connection::{
        db::{Db, Outcome, Value},
        nonce::next_rev,
    },
    fault::Fault,
    rows::blob::{self, int},
    shared::Shared,
    write::work,
};

/// Runs that were set aside, and when.
pub(crate) struct Found {
    pub(crate) now: Time,
    pub(crate) runs: Vec<DamagedRun>,
}

impl Found {
    pub(crate) fn new(now: Time) -> Self {
        Self { now, runs: Vec::new() }
    }

    /// What came of a step, or else the run that it met and that does not read: that one is set
    /// aside.
    pub(crate) async fn step<T>(
        &mut self,
        shared: &Shared,
        done: Outcome<T>,
    ) -> Outcome<Result<T, RunId>> {
        match done {
            Err(Fault::Said(Error::Corrupt { run, corrupt })) => {
                self.set_aside(shared, run, corrupt.to_string()).await?;
                Ok(Err(run))
            }
            done => done.map(Ok),
        }
    }

    /// The same for something that was read of one row; none if it does not read.
    pub(crate) async fn read<T>(
        &mut self,
        shared: &Shared,
        read: Outcome<T>,
    ) -> Outcome<Option<T>> {
        Ok(self.step(shared, read).await?.ok())
    }

    pub(crate) async fn set_aside(
        &mut self,
        shared: &Shared,
        run: RunId,
        reason: String,
    ) -> Outcome<()> {
        match set_aside(shared, run, reason.clone(), self.now).await {
            Ok(true) => self.tell(run, reason),
            // Whoever meets it the next time will do it.
            Ok(false) | Err(Fault::Locked(_)) => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    pub(crate) fn tell(&mut self, run: RunId, reason: String) {
        self.runs.push(DamagedRun { run, reason });
    }
}

/// Parks a run that was just claimed, and nobody holds it any more.
pub(crate) async fn give_back(
    shared: &Shared,
    id: RunId,
    reason: String,
    now: Time,
) -> Outcome<bool> {
    park(shared, id, reason, now, true).await
}

/// Parks an open run. If even its row does not read, it only leaves the queues. False if it is
/// parked already.
async fn set_aside(shared: &Shared, id: RunId, reason: String, now: Time) -> Outcome<bool> {
    park(shared, id, reason, now, false).await
}

async fn park(
    shared: &Shared,
    id: RunId,
    reason: String,
    now: Time,
    claimed: bool,
) -> Outcome<bool> {
    let aside = (id, reason, now, claimed);
    let aside = work::attempt(shared, &aside, |tx, (id, reason, now, claimed)| {
        Box::pin(async move {
            let Some(run) = tx.find(*id).await? else { return Ok(true) };
            if !run.is_open() || (run.head.parked.is_some() && !claimed) {
                return Ok(!run.is_open());
            }
            let head = &mut tx.edit(*id).head;
            // Nobody has tried its code: whoever reads more may do so.
            let gave_up = GaveUp::reading(Epoch(0), reason.clone());
            head.parked = Some(Parked::after(head.parked.as_ref(), gave_up, *now));
            head.holder = head.holder.filter(|_| !claimed);
            Ok(true)
        })
    })
    .await;
    match aside {
        Err(Fault::Said(Error::Corrupt { .. })) => {
            let sql = concat!(
                "UPDATE @runs AS r SET rev = ",
                next_rev!(),
                ", turn_at = NULL, intake_at = NULL, remote_at = NULL \
                 WHERE namespace = $1 AND run = $2"
            );
            change(shared, sql, id).await?;
            Ok(true)
        }
        other => other,
    }
}

/// A member that is gone has a run no longer that does not read, or whoever gives back what such
/// members had would meet it again and again.
pub(crate) async fn give_up_run(shared: &Shared, id: RunId) -> Outcome<()> {
    let sql = concat!(
        "UPDATE @runs AS r SET rev = ",
        next_rev!(),
        ", epoch = NULL WHERE namespace = $1 AND run = $2 \
         AND epoch IN (SELECT epoch FROM @members WHERE state <> 0)"
    );
    change(shared, sql, id).await
}

/// The same of an attempt that does not read, itself or its run.
pub(crate) async fn give_up_attempt(shared: &Shared, id: RunId, activity: EventId) -> Outcome<()> {
    let lent = shared.lend().await?;
    let sql = "UPDATE @activities SET epoch = NULL WHERE namespace = $1 AND run = $2 \
               AND number = $3 AND epoch IN (SELECT epoch FROM @members WHERE state <> 0)";
    let values: [Value<'_>; 3] = [&blob::space(id), &blob::uuid(id), &int(activity.0)];
    Db::own(&lent, shared).change(sql, &values).await.map(drop)
}

/// Puts alarms off that are due and cannot be rung. They are tried again: somebody may have mended
/// their run.
pub(crate) async fn put_off(shared: &Shared, id: RunId, now: Time) -> Outcome<()> {
    let lent = shared.lend().await?;
    let sql = "WITH gone AS (DELETE FROM @alarms WHERE namespace = $1 AND run = $2 \
                   AND due <= $3 RETURNING namespace, run, what, limits) \
               INSERT INTO @alarms (due, namespace, run, what, limits) \
               SELECT DISTINCT $4::int8, namespace, run, what, limits FROM gone \
               ON CONFLICT DO NOTHING";
    let later = now.after(DamagedRun::PAUSE);
    let values: [Value<'_>; 4] = [&blob::space(id), &blob::uuid(id), &now.0, &later.0];
    Db::own(&lent, shared).change(sql, &values).await.map(drop)
}

async fn change(shared: &Shared, sql: &str, id: RunId) -> Outcome<()> {
    let lent = shared.lend().await?;
    let values: [Value<'_>; 2] = [&blob::space(id), &blob::uuid(id)];
    Db::own(&lent, shared).change(sql, &values).await.map(drop)
}
