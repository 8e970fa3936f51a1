//! Remote workers, as doors see and describe them.

use bowline_core::{Blob, Identity, Queue, Time};

use super::Engine;
use crate::{Polled, WorkerBeat, engine::remote::Poll};

impl Engine {
    /// A remote worker polls a queue of this namespace.
    pub fn worker_polls(&self, queue: &Queue, wants: Polled, worker: &Identity) {
        let (namespace, queue, worker) = (self.namespace, queue.clone(), worker.clone());
        self.inner.worker_polls(Poll { namespace, queue, wants, worker });
    }

    /// Who polled a queue lately, at this member or at another one, and when.
    pub fn pollers(&self, queue: &Queue, wants: Polled) -> Vec<(Identity, Time)> {
        self.inner.pollers(self.namespace, queue, wants)
    }

    /// How many polls wait at this member to be handed a turn of a queue.
    pub fn polls_waiting(&self, queue: &Queue) -> usize {
        self.inner.polls.seated(self.namespace, queue)
    }

    /// A remote worker says how it is. Its last word is kept for a while.
    pub fn worker_beats(&self, worker: &str, said: Blob) {
        self.inner.worker_beats(self.namespace, worker, said);
    }

    /// What workers of this namespace said last, to this member or to another one, in the order of
    /// their keys, behind this one.
    pub fn workers(&self, after: &str) -> Vec<WorkerBeat> {
        self.inner.workers(self.namespace, after)
    }

    /// What one worker said last.
    pub fn worker(&self, worker: &str) -> Option<WorkerBeat> {
        self.inner.worker(self.namespace, worker)
    }
}
