//! Trying until nobody is in the way.
//!
//! The first time rows of runs that this process holds come from memory. If they turn out to be
//! old, or nothing is written that would show it, they are read. What was read is compared when it
//! is written, and nothing is locked; if somebody else was faster, the next tries lock what they
//! read before they decide, so that a busy run starves nobody.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::{
    db::{Db, Outcome},
    fault::Fault,
    limits,
    shared::Shared,
    tx::{Trust, Tx},
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
    let (mut tries, mut trust) = (0, Trust::Memory);
    loop {
        let (tried, assumed) = once(shared, work, trust).await;
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

/// Says also whether anything was assumed that may not be so.
async fn once(shared: &Shared, work: &mut dyn Work, trust: Trust) -> (Outcome<()>, bool) {
    let lent = match shared.lend().await {
        Ok(lent) => lent,
        Err(fault) => return (Err(fault), false),
    };
    let (db, locking) = (Db::own(&lent, shared), trust == Trust::Locks);
    if locking && let Err(fault) = db.begin("BEGIN").await {
        return (Err(fault), false);
    }
    let mut tx = Tx::new(db, shared, trust);
    let worked = match work.run(&mut tx).await {
        Ok(()) => tx.finish(!locking).await,
        Err(fault) => Err(fault),
    };
    let assumed = tx.assumes();
    let (hints, rows) = tx.into_hints(worked.is_ok());
    let done = match (locking, worked) {
        (true, Ok(())) => db.commit().await,
        (true, Err(fault)) => {
            db.roll_back().await;
            Err(fault)
        }
        (false, worked) => worked,
    };
    drop(lent);
    if let (Ok(()), Some((epoch, _))) = (&done, shared.member()) {
        shared.held.keep(epoch, rows.into_iter());
    }
    // A hint too many does no harm; one too few costs time.
    shared.tell(hints);
    (done, assumed)
}
