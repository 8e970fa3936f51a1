//! Parked runs are taken up again by a process that may have the code for them.
//!
//! In:    that this process has begun to work; runs that others could not go on with; time.
//! Out:   leases of runs to be tried, once by each process.
//! Never: looks for anything while nothing is parked, or when nobody has said so.

use std::{collections::BTreeSet, sync::Arc};

use bowline_core::{Name, Queue, RunId, Time};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Worker;
use crate::{engine::parked::Found, limits};

/// What wakes the loop.
#[derive(Default)]
pub(super) struct ParkedBell {
    rung: Notify,
    asked: Mutex<ParkedAsked>,
}

#[derive(Default)]
struct ParkedAsked {
    runs: BTreeSet<RunId>,
    all: bool,
    /// When everything was last looked at because a hint may have been lost.
    looked: Option<Time>,
}

impl ParkedBell {
    /// This run may have to be tried here.
    pub(super) fn ring(&self, run: RunId) {
        let mut asked = self.asked.lock();
        match asked.runs.len() < limits::PAGE {
            true => drop(asked.runs.insert(run)),
            false => asked.all = true,
        }
        drop(asked);
        self.rung.notify_one();
    }

    /// Any of them may.
    pub(super) fn ring_all(&self) {
        self.asked.lock().all = true;
        self.rung.notify_one();
    }

    /// The same, because a hint may have been lost: now and then.
    pub(super) fn look(&self, now: Time) {
        let mut asked = self.asked.lock();
        let is_due = |last: Time| last.after(limits::PARKED_LOOK) <= now;
        if asked.looked.is_none_or(is_due) {
            (asked.looked, asked.all) = (Some(now), true);
            self.rung.notify_one();
        }
    }
}

/// Takes up parked runs until the engine stops.
pub(super) async fn run(worker: Arc<Worker>) {
    if worker.queues.is_empty() || worker.workflows.names().next().is_none() {
        return;
    }
    worker.parked.ring_all();
    let mut next: Option<Time> = None;
    loop {
        let inner = &worker.inner;
        let due = inner.clock.sleep_until(next.unwrap_or(Time::MAX));
        let is_due = tokio::select! {
            biased;
            () = worker.parked.rung.notified() => false,
            () = due, if next.is_some() => true,
        };
        let (runs, all) = {
            let mut asked = worker.parked.asked.lock();
            (std::mem::take(&mut asked.runs), std::mem::take(&mut asked.all) || is_due)
        };
        if worker.dispatch.is_draining() {
            continue;
        }
        let serves = |queue: &Queue, name: &Name| {
            worker.queues.contains_key(queue) && worker.workflows.find(name).is_some()
        };
        let found = match all {
            true => Ok(inner.all_parked(&serves).await),
            false => inner.these_parked(runs, &serves).await,
        };
        let found = found.unwrap_or_else(|error| {
            tracing::warn!(%error, "parked runs could not be looked for; waiting for a hint");
            Found::default()
        });
        next = match all {
            true => found.next,
            false => next.into_iter().chain(found.next).min(),
        };
        worker.take_up(found.now).await;
    }
}

impl Worker {
    async fn take_up(&self, mut runs: Vec<RunId>) {
        while !runs.is_empty() {
            // Never more runs are taken than there are places for.
            let mut places = self.threads.make_room(limits::CLAIM_RUNS.min(runs.len())).await;
            let some = runs.split_off(runs.len().saturating_sub(places.len()));
            let taken = match self.inner.take_up(some).await {
                Ok(taken) => taken,
                Err(error) => {
                    return tracing::error!(%error, "parked runs could not be taken up");
                }
            };
            for (lease, place) in taken.items.into_iter().zip(places.drain(..)) {
                tracing::info!(run = %lease.run, "a parked run is tried again");
                self.threads.claimed(lease, place).await;
            }
            if taken.is_unsure {
                let inner = self.inner.clone();
                self.inner.spawn(async move { inner.recover_runs().await });
            }
        }
    }
}
