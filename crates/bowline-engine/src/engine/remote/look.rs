//! Which of the queues that polls wait for has a turn: one call for all of them, where a hint may
//! have been lost. A hundred workers have a hundred queues of their own, and all of them are idle
//! most of the time.

use std::sync::Arc;

use bowline_core::{Epoch, Namespace, Queue};
use bowline_store::{ClaimRuns, Want as StoreWant};

use super::{Polls, Want};
use crate::{engine::EngineInner, limits};

/// Looks when it is told to, until the engine stops.
pub(crate) async fn run(inner: Arc<EngineInner>) {
    loop {
        inner.bells.turns.notified().await;
        for (namespace, queues) in inner.polls.awaited() {
            inner.look_for_turns(namespace, queues).await;
        }
    }
}

impl Polls {
    /// The queues in which somebody waits for a turn.
    fn awaited(&self) -> Vec<(Namespace, Vec<Queue>)> {
        let mut awaited: Vec<(Namespace, Vec<Queue>)> = Vec::new();
        for ((want, namespace, queue), bell) in &*self.0.lock() {
            if *want != Want::Turn || Arc::strong_count(bell) < 2 {
                continue;
            }
            match awaited.last_mut() {
                Some((known, queues)) if known == namespace => queues.push(queue.clone()),
                _ => awaited.push((*namespace, vec![queue.clone()])),
            }
        }
        awaited
    }
}

impl EngineInner {
    async fn look_for_turns(&self, namespace: Namespace, queues: Vec<Queue>) {
        let claim = ClaimRuns {
            epoch: Epoch::default(),
            namespace,
            want: StoreWant::RemoteTurn,
            queues: queues.clone(),
            names: Vec::new(),
            count: limits::CLAIM_RUNS,
            now: self.now(),
        };
        // Nobody holds what is found here: whoever is woken takes it.
        let claim = |epoch| self.store.claim_runs(ClaimRuns { epoch, ..claim.clone() });
        let found = match self.as_member(claim).await {
            Ok(found) if found.len() < limits::CLAIM_RUNS => found,
            // There may be more, or nobody knows: everybody looks.
            _ => return queues.iter().for_each(|queue| self.polls.turn_waits(namespace, queue)),
        };
        let waiting = found.iter().filter_map(|found| found.read.head.record.turn.as_ref());
        waiting.for_each(|turn| self.polls.turn_waits(namespace, &turn.queue));
    }
}
