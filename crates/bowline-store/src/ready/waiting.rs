//! Which queues have something for remote workers, to be looked at by whoever is not the writer: a
//! poll that comes to an empty queue need not ask for a claim.
//!
//! In:    queues in which something begins or ceases to wait, after the commit that made it so.
//! Out:   whether a claim may find something.
//! Never: says that nothing waits where something does, unless a hint at it is still to come.

use std::collections::BTreeMap;

use bowline_core::{Namespace, Queue};
use parking_lot::Mutex;

/// What a remote worker looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sought {
    /// A turn.
    Turn,
    /// An activity.
    Activity,
}

type Key = (Sought, Namespace, Queue);

/// How much waits, by queue.
#[derive(Debug, Default)]
pub struct WaitingWork(Mutex<BTreeMap<Key, usize>>);

impl WaitingWork {
    /// Whether a claim in this queue may find something.
    pub fn may_find(&self, sought: Sought, namespace: Namespace, queue: &Queue) -> bool {
        self.0.lock().contains_key(&(sought, namespace, queue.clone()))
    }

    pub(super) fn enter(&self, sought: Sought, namespace: Namespace, queue: &Queue) {
        *self.0.lock().entry((sought, namespace, queue.clone())).or_default() += 1;
    }

    pub(super) fn leave(&self, sought: Sought, namespace: Namespace, queue: &Queue) {
        let mut waiting = self.0.lock();
        let key = (sought, namespace, queue.clone());
        if let Some(count) = waiting.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&key);
            }
        }
    }

    /// Takes over what is known elsewhere, from one moment to the next.
    pub(super) fn become_like(&self, other: &Self) {
        let other = other.0.lock().clone();
        *self.0.lock() = other;
    }
}
