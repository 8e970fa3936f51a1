//! Trying until nobody is in the way.
//!
//! The first time rows of runs that this process holds come from memory. If they turn out to be
//! old, or nothing is written that would show it, they are read. What was read is compared when it
//! is written, and nothing is locked; if somebody else was faster, the next tries lock what they
//! read before they decide, so that a busy run starves nobody.
//!
//! Nobody waits long for what somebody else has locked: whoever asked for more than that one thing
//! is told what it was, and goes on with the rest.

use std::time::Duration;

use bowline_core::RunId;
use futures_util::future::BoxFuture;

use crate::{
    connection::db::{Db, Outcome},
    fault::Fault,
    limits,
    rows::{blob, run},
    shared::Shared,
    write::tx::{Trust, Tx},
};

/// Something that is decided between reading and writing. It may be done again from the start.
pub(crate) type Step<I, O> = for<'t> fn(&'t mut Tx<'_>, &'t I) -> BoxFuture<'t, Outcome<O>>;

/// Something that keeps what came of it.
pub(crate) trait Work: Send {
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'_>) -> BoxFuture<'t, Outcome<()>>;
}

/// Does one step, writes what came of it, and tells the hints.
pub(crate) async fn attempt<I: Sync, O: Send>(
    shared: &Shared,
    item: &I,
    step: Step<I, O>,
) -> Outcome<O> {
    let mut one = One { item, step, out: None };
    until_done(shared, &mut one).await?;
    Ok(one.out.expect("what was done has an answer"))
}

struct One<'i, I, O> {
    item: &'i I,
    step: Step<I, O>,
    out: Option<O>,
}

impl<I: Sync, O: Send> Work for One<'_, I, O> {
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'_>) -> BoxFuture<'t, Outcome<()>> {
        Box::pin(async move {
            self.out = Some((self.step)(tx, self.item).await?);
            Ok(())
        })
    }
}

/// Does some work, again and again if others are faster.
pub(crate) async fn until_done(shared: &Shared, work: &mut dyn Work) -> Outcome<()> {
    match within(shared, work, shared.settings.locks).await {
        // Whoever had it may have let go of it just now.
        Err(Fault::Locked(locked)) if locked.is_empty() => {
            within(shared, work, shared.settings.locks).await
        }
        done => done,
    }
}

/// The same, waiting so long for what somebody else has locked. If that was not enough, it is said
/// which runs are locked, as far as can be told.
pub(crate) async fn within(shared: &Shared, work: &mut dyn Work, wait: Duration) -> Outcome<()> {
    let (mut tries, mut trust) = (0, Trust::Memory);
    loop {
        let Tried { outcome: tried, assumed, runs } = once(shared, work, trust, wait).await;
        if tried.as_ref().is_err_and(Fault::is_locked) {
            return Err(Fault::Locked(locked(shared, &runs).await?));
        }
        if assumed && tried.as_ref().is_err_and(Fault::is_race) {
            trust = Trust::Reads;
            continue;
        }
        (tries, trust) = (tries + 1, Trust::Locks);
        match tried {
            Err(fault) if fault.is_race() && tries < limits::RACES_MAX => {
                // Whoever lost a deadlock should not meet the winner again at once.
                let pause = Duration::from_millis(u64::from(tries.saturating_sub(2)) * 2);
                tokio::time::sleep(pause).await;
            }
            Err(fault) if fault.is_race() => return Err(Fault::Lost),
            done => return done,
        }
    }
}

/// Those of some runs that somebody has locked at this moment.
pub(crate) async fn locked(shared: &Shared, runs: &[RunId]) -> Outcome<Vec<RunId>> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let lent = shared.lend().await?;
    let (spaces, uuids) = run::keys(runs);
    let rows = Db::own(&lent, shared).rows(LOCKED, &[&spaces, &uuids]).await?;
    let locked = rows.iter().map(|row| blob::run_id(row, 0)).collect::<Outcome<Vec<_>>>()?;
    shared.room.note(&locked);
    Ok(locked)
}

const LOCKED: &str = "WITH free AS MATERIALIZED (SELECT r.namespace, r.run \
        FROM unnest($1::int8[], $2::uuid[]) AS w (namespace, run) \
        JOIN @runs r ON r.namespace = w.namespace AND r.run = w.run \
        FOR UPDATE OF r SKIP LOCKED) \
    SELECT r.namespace, r.run FROM unnest($1::int8[], $2::uuid[]) AS w (namespace, run) \
    JOIN @runs r ON r.namespace = w.namespace AND r.run = w.run \
    WHERE NOT EXISTS (SELECT 1 FROM free f WHERE f.namespace = r.namespace AND f.run = r.run)";

/// As the database is told it.
pub(crate) fn millis(wait: Duration) -> i64 {
    i64::try_from(wait.as_millis()).unwrap_or(i64::MAX).max(1)
}

/// What came of one try.
struct Tried {
    outcome: Outcome<()>,
    /// Whether anything was assumed that may not be so.
    assumed: bool,
    /// Runs that it may have waited for.
    runs: Vec<RunId>,
}

async fn once(shared: &Shared, work: &mut dyn Work, trust: Trust, wait: Duration) -> Tried {
    let failed = |fault| Tried { outcome: Err(fault), assumed: false, runs: Vec::new() };
    let lent = match shared.lend().await {
        Ok(lent) => lent,
        Err(fault) => return failed(fault),
    };
    let (db, locking) = (Db::own(&lent, shared), trust == Trust::Locks);
    let begin = format!("BEGIN; SET LOCAL lock_timeout = {}", millis(wait));
    if locking && let Err(fault) = db.begin_transaction(&begin).await {
        return failed(fault);
    }
    let mut tx = Tx::new(db, shared, trust);
    tx.wait_for(wait);
    let worked = match work.run(&mut tx).await {
        Ok(()) => tx.finish(!locking).await,
        Err(fault) => Err(fault),
    };
    let (assumed, runs) = (tx.assumes(), tx.looked_at());
    let (hints, rows) = tx.into_hints(worked.is_ok());
    let outcome = match (locking, worked) {
        (true, Ok(())) => db.commit().await,
        (true, Err(fault)) => {
            db.roll_back().await;
            Err(fault)
        }
        (false, worked) => worked,
    };
    drop(lent);
    if let (Ok(()), Some((epoch, _))) = (&outcome, shared.member()) {
        shared.held.keep(epoch, rows.into_iter());
    }
    // A hint too many does no harm; one too few costs time.
    shared.tell(hints);
    Tried { outcome, assumed, runs }
}
