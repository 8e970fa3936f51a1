//! Where workers listen, by their own keys: as they said to this member or, by word, to another.

use std::collections::BTreeMap;

use bowline_core::ControlQueue;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::limits;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Places {
    known: Mutex<BTreeMap<String, ControlQueue>>,
    /// Told when something becomes known.
    learned: Notify,
}

impl Places {
    /// A worker listens here. True if that is news.
    pub(super) fn learn(&self, worker: &str, control: &ControlQueue) -> bool {
        let mut known = self.known.lock();
        if worker.is_empty() || known.get(worker) == Some(control) {
            return false;
        }
        // Those that are still there say it again.
        if known.len() >= limits::CONTROL_CHANNELS {
            known.clear();
        }
        known.insert(worker.to_owned(), control.clone());
        drop(known);
        self.learned.notify_waiters();
        true
    }

    pub(super) fn of(&self, worker: &str) -> Option<ControlQueue> {
        self.known.lock().get(worker).cloned()
    }

    pub(super) fn forget(&self, worker: &str) {
        self.known.lock().remove(worker);
    }

    /// Waits until it is known where a worker listens.
    pub(super) async fn wait(&self, worker: &str) -> ControlQueue {
        loop {
            let learned = self.learned.notified();
            if let Some(control) = self.of(worker) {
                return control;
            }
            learned.await;
        }
    }
}
