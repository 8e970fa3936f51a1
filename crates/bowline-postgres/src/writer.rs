//! The lanes that write: calls come in over a bounded channel, and whatever has queued while a lane
//! was busy goes into its next statement.
//!
//! In:    calls.
//! Out:   rows, then hints, then answers, in that order.
//! Never: answers before the statement is committed, or waits for company.

use std::{panic::AssertUnwindSafe, sync::Arc};

use bowline_store::Error;
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::{Mutex, mpsc};

use crate::{
    ahead,
    call::{Call, Wake},
    db::Outcome,
    shared::Shared,
    tx::{Tx, Wants},
    work::{self, Work},
};

/// One lane, until the store is closed.
pub(crate) async fn work(shared: Arc<Shared>, calls: Arc<Mutex<Gate>>) {
    loop {
        let group = calls.lock().await.next(&shared.ahead).await;
        let Some(group) = group else { return };
        if group.after.is_empty() {
            carry_out(&shared, group).await;
            continue;
        }
        // A lane that waited for another one would keep everybody else waiting, too.
        let shared = shared.clone();
        tokio::spawn(async move {
            shared.ahead.wait(&group.after).await;
            carry_out(&shared, group).await;
        });
    }
}

async fn carry_out(shared: &Shared, mut group: ahead::Group) {
    let worked = AssertUnwindSafe(run(shared, &mut group.calls)).catch_unwind().await;
    shared.ahead.written(&group.starts);
    if worked.is_err() {
        let error = Error::Backend("a bug in the store: it panicked, see above".into());
        for call in &mut group.calls {
            (0..call.items()).for_each(|item| call.fail(item, error.clone()));
        }
    }
    group.calls.into_iter().for_each(|call| call.answer());
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

async fn run(shared: &Shared, calls: &mut [Box<dyn Call>]) {
    let items: usize = calls.iter().map(|call| call.items()).sum();
    if items == 0 {
        return;
    }
    let Err(fault) = work::until_done(shared, &mut Group(&mut *calls)).await else { return };
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

struct Group<'c>(&'c mut [Box<dyn Call>]);

impl Work for Group<'_> {
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
