//! The lanes that write: calls come in over a bounded channel, and whatever has queued while a lane
//! was busy goes into its next statement.
//!
//! In:    calls.
//! Out:   rows, then hints, then answers, in that order.
//! Never: answers before the statement is committed, or waits for company.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bowline_store::Error;
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::{Mutex, mpsc};

use crate::{
    connection::db::Outcome,
    fault::Fault,
    limits,
    shared::Shared,
    write::{
        ahead,
        call::{Call, Wake},
        room::Waiter,
        tx::{Tx, Wants},
        work::{self, Work},
    },
};

/// One lane, until the store is closed.
pub(crate) async fn work(shared: Arc<Shared>, calls: Arc<Mutex<Gate>>) {
    loop {
        let group = calls.lock().await.next(&shared.ahead).await;
        let Some(group) = group else { return };
        if group.after.is_empty() {
            go(&shared, group).await;
            continue;
        }
        // A lane that waited for another one would keep everybody else waiting, too.
        let shared = shared.clone();
        tokio::spawn(async move {
            shared.ahead.wait(&group.after).await;
            go(&shared, group).await;
        });
    }
}

/// Whatever needs what somebody else has locked waits elsewhere; the rest is carried out.
async fn go(shared: &Shared, mut group: ahead::Group) {
    shared.room.divert(shared, &mut group);
    let stuck = carry_out(shared, group, shared.settings.locks).await;
    shared.room.put(shared, stuck);
}

/// Answers with those calls that have to wait for what somebody else has locked.
pub(crate) async fn carry_out(
    shared: &Shared,
    mut group: ahead::Group,
    wait: Duration,
) -> Vec<Waiter> {
    let worked = AssertUnwindSafe(run(shared, &mut group.calls, wait)).catch_unwind().await;
    let is_broken = worked.is_err();
    let stuck = worked.unwrap_or_default();
    group.starts.retain(|run| !stuck.iter().any(|own| own.begins(*run)));
    shared.ahead.written(&group.starts);
    if is_broken {
        let error = Error::Backend("a bug in the store: it panicked, see above".into());
        for call in &mut group.calls {
            (0..call.items()).for_each(|item| call.fail(item, error.clone()));
        }
    }
    group.calls.into_iter().for_each(|call| call.answer());
    stuck
}

/// Where calls come in, and one that did not fit into the last group.
pub(crate) struct Gate {
    pub(crate) calls: mpsc::Receiver<Box<dyn Call>>,
    pub(crate) left: Option<Box<dyn Call>>,
}

impl Gate {
    /// Gathers what is there already, up to a bound.
    async fn next(&mut self, ahead: &ahead::Ahead) -> Option<ahead::Group> {
        let first = match self.left.take() {
            Some(left) => left,
            None => self.calls.recv().await?,
        };
        let mut group = ahead::Group::default();
        ahead.join(first, &mut group);
        while let Ok(call) = self.calls.try_recv() {
            if !group.fits(call.weight()) {
                self.left = Some(call);
                break;
            }
            ahead.join(call, &mut group);
        }
        if self.left.is_none() && ahead.is_late() {
            self.left = Some(Box::new(Wake));
        }
        Some(group)
    }
}

/// Carries calls out, together if that goes well. Takes those out that somebody else's lock keeps
/// waiting, and answers with them.
fn run<'c>(
    shared: &'c Shared,
    calls: &'c mut Vec<Box<dyn Call>>,
    wait: Duration,
) -> BoxFuture<'c, Vec<Waiter>> {
    Box::pin(async move {
        let mut stuck = Vec::new();
        while calls.iter().any(|call| call.items() > 0) {
            match work::within(shared, &mut GroupWork(&mut *calls), wait).await {
                Ok(()) => break,
                Err(Fault::Locked(locked)) => {
                    let picked = Waiter::pick(calls, &locked);
                    if picked.is_empty() {
                        stuck.extend(halves(shared, calls).await);
                        break;
                    }
                    stuck.extend(picked);
                }
                Err(fault) => {
                    one_by_one(shared, calls, fault).await;
                    break;
                }
            }
        }
        stuck
    })
}

/// Somebody has locked what one of the calls needs, and it is not known which: each half goes by
/// itself, and nothing overtakes the start that it is about.
async fn halves(shared: &Shared, calls: &mut Vec<Box<dyn Call>>) -> Vec<Waiter> {
    if calls.len() < 2 {
        return Waiter::all(calls);
    }
    let mut second = calls.split_off(calls.len() / 2);
    let mut stuck = run(shared, calls, limits::LOOK_AGAIN).await;
    stuck.extend(Waiter::after(&mut second, &stuck));
    stuck.extend(run(shared, &mut second, limits::LOOK_AGAIN).await);
    calls.append(&mut second);
    stuck
}

async fn one_by_one(shared: &Shared, calls: &mut [Box<dyn Call>], fault: Fault) {
    let items: usize = calls.iter().map(|call| call.items()).sum();
    // Alone it would go wrong in the same way, or wait just as long.
    if items == 1 || fault.is_common() {
        let error = Error::from(fault);
        for call in calls.iter_mut() {
            (0..call.items()).for_each(|item| call.fail(item, error.clone()));
        }
        return;
    }
    for call in calls.iter_mut() {
        for item in 0..call.items() {
            let alone = work::until_done(shared, &mut Alone(&mut **call, item)).await;
            if let Err(fault) = alone {
                call.fail(item, fault.into());
            }
        }
    }
}

struct GroupWork<'c>(&'c mut [Box<dyn Call>]);

impl Work for GroupWork<'_> {
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'_>) -> BoxFuture<'t, Outcome<()>> {
        Box::pin(async move {
            let mut wants = Wants::default();
            for call in self.0.iter() {
                (0..call.items()).for_each(|item| call.wants(item, &mut wants));
            }
            tx.recall(&mut wants);
            tx.prefetch(wants).await?;
            for call in self.0.iter_mut() {
                for item in 0..call.items() {
                    call.run(item, tx).await?;
                }
            }
            Ok(())
        })
    }
}

struct Alone<'c>(&'c mut dyn Call, usize);

impl Work for Alone<'_> {
    fn run<'t>(&'t mut self, tx: &'t mut Tx<'_>) -> BoxFuture<'t, Outcome<()>> {
        Box::pin(async move {
            let mut wants = Wants::default();
            self.0.wants(self.1, &mut wants);
            tx.recall(&mut wants);
            tx.prefetch(wants).await?;
            self.0.run(self.1, tx).await
        })
    }
}
