//! Fetching work: runs that wait for a turn, messages of runs that are held, activities.
//!
//! Every loop waits for a bell and takes all there is; nobody polls.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bowline_core::{Queue, RunId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Worker;
use crate::{engine::recover::Claimed, limits};

/// What wakes the loops.
#[derive(Default)]
pub(super) struct WorkerBells {
    pub(super) turns: Notify,
    inbox: Notify,
    grown: Mutex<BTreeSet<RunId>>,
    draining: AtomicBool,
}

impl WorkerBells {
    pub(super) fn inbox_grew(&self, run: RunId) {
        self.grown.lock().insert(run);
        self.inbox.notify_one();
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    pub(super) fn start_draining(&self) {
        self.draining.store(true, Ordering::Release);
    }
}

/// The bell of one queue. While it is behind, older activities wait than those just scheduled.
#[derive(Default)]
pub(super) struct LaneBell {
    behind: AtomicBool,
    rung: Notify,
}

impl LaneBell {
    pub(super) fn ring(&self) {
        self.behind.store(true, Ordering::Release);
        self.rung.notify_one();
    }

    pub(super) fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Acquire)
    }
}

/// Claims runs that wait for a turn.
pub(super) async fn turns(worker: Arc<Worker>) {
    let queues: Vec<Queue> = worker.queues.keys().cloned().collect();
    let names: Vec<_> = worker.workflows.names().cloned().collect();
    if queues.is_empty() || names.is_empty() {
        return;
    }
    loop {
        // Never more runs are claimed than there are places for.
        let mut places = worker.threads.make_room(limits::CLAIM_RUNS).await;
        let most = places.len();
        let claim = worker.inner.claim_turns(queues.clone(), names.clone(), most);
        let full = match worker.dispatch.is_draining() {
            true => false,
            false => match claim.await {
                Ok(claimed) => {
                    let full = claimed.items.len() == most;
                    for (lease, place) in claimed.items.into_iter().zip(places.drain(..)) {
                        worker.threads.claimed(lease, place).await;
                    }
                    if claimed.is_unsure {
                        let inner = worker.inner.clone();
                        worker.inner.spawn(async move { inner.recover_runs().await });
                    }
                    full
                }
                Err(error) => {
                    tracing::error!(%error, "runs could not be claimed; waiting for a hint");
                    false
                }
            },
        };
        drop(places);
        if !full {
            worker.dispatch.turns.notified().await;
        }
    }
}

/// Reads the inboxes of runs that are held here.
pub(super) async fn inboxes(worker: Arc<Worker>) {
    loop {
        worker.dispatch.inbox.notified().await;
        let grown = std::mem::take(&mut *worker.dispatch.grown.lock());
        for run in grown {
            let worker = worker.clone();
            let inner = worker.inner.clone();
            inner.spawn(async move {
                match worker.inner.unread(run).await {
                    Ok(inbox) => worker.threads.inbox(run, inbox).await,
                    Err(error) => {
                        worker.threads.no_inbox(run);
                        tracing::error!(%run, %error, "an inbox could not be read");
                    }
                }
            });
        }
    }
}

/// Claims activities of one queue, never more than there are free slots.
pub(super) async fn activities(worker: Arc<Worker>, queue: Queue) {
    let names: Vec<_> = worker.activities.names().cloned().collect();
    if names.is_empty() {
        return;
    }
    let Some(lane) = worker.queues.get(&queue) else { return };
    loop {
        let mut permits = lane.slots.reserve(limits::CLAIM_ACTIVITIES).await;
        lane.bell.behind.store(false, Ordering::Release);
        let claims = lane.claims.lock().await;
        let claimed = match worker.dispatch.is_draining() {
            true => Claimed { items: Vec::new(), is_unsure: false },
            false => {
                let identity = worker.identity.clone();
                let claim = worker.inner.claim_activities(
                    queue.clone(),
                    names.clone(),
                    permits.len(),
                    identity,
                );
                claim.await.unwrap_or_else(|error| {
                    tracing::error!(%error, "activities could not be claimed");
                    Claimed { items: Vec::new(), is_unsure: false }
                })
            }
        };
        let more = !claimed.items.is_empty();
        for assignment in claimed.items {
            let Some(permit) = permits.pop() else { break };
            worker.run(assignment, permit);
        }
        if claimed.is_unsure {
            // Before the next claim: what that one takes must not be mistaken for lost.
            worker.inner.recover_activities(&queue).await;
        }
        drop(claims);
        drop(permits);
        if more {
            lane.bell.behind.store(true, Ordering::Release);
        } else {
            lane.bell.rung.notified().await;
        }
    }
}
