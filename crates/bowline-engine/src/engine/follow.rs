//! Who waits for a run to change: results, receipts, history polls.
//!
//! A change is a hint: the waiter reads the store again and decides for itself.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bowline_core::RunId;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Everybody who waits.
#[derive(Debug, Default)]
pub(crate) struct Followers(Mutex<BTreeMap<RunId, Vec<Weak<Notify>>>>);

/// One waiter, following some runs until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    changed: Arc<Notify>,
}

impl Follower {
    /// Waits for the next change; one that came since the last wait counts.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Followers {
    /// Follows a run too.
    pub(crate) fn follow(&self, follower: &Follower, run: RunId) {
        let mut followers = self.0.lock();
        let waiting = followers.entry(run).or_default();
        let known = waiting.iter().any(|w| w.as_ptr() == Arc::as_ptr(&follower.changed));
        if !known {
            waiting.push(Arc::downgrade(&follower.changed));
        }
    }

    /// Tells those who follow a run.
    pub(crate) fn tell(&self, run: RunId) {
        let mut followers = self.0.lock();
        let Some(waiting) = followers.get_mut(&run) else { return };
        waiting.retain(|waiter| match waiter.upgrade() {
            Some(changed) => {
                changed.notify_one();
                true
            }
            None => false,
        });
        if waiting.is_empty() {
            followers.remove(&run);
        }
    }

    /// Tells everybody: after work whose extent is unknown.
    pub(crate) fn tell_all(&self) {
        let runs: Vec<_> = self.0.lock().keys().copied().collect();
        runs.into_iter().for_each(|run| self.tell(run));
    }
}
