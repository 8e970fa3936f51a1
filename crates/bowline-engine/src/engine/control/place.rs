//! Where workers listen, by their own keys: as they said to this member or, by word, to another.

use bowline_core::ControlQueue;
use bowline_store::Recent;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::limits;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Places {
    known: Mutex<Recent<String, ControlQueue, { limits::CONTROL_CHANNELS }>>,
    /// Told when something becomes known.
    learned: Notify,
}

impl Places {
    /// A worker listens here. True if that is news.
    pub(super) fn learn(&self, worker: &str, control: &ControlQueue) -> bool {
        let mut known = self.known.lock();
        let worker = worker.to_owned();
        if worker.is_empty() || known.find(&worker).as_ref() == Some(control) {
            return false;
        }
        // Those that are still there are asked for again and again, and stay.
        known.put(worker, control.clone());
        drop(known);
        self.learned.notify_waiters();
        true
    }

    pub(super) fn of(&self, worker: &str) -> Option<ControlQueue> {
        self.known.lock().find(&worker.to_owned())
    }

    pub(super) fn forget(&self, worker: &str) {
        self.known.lock().take(&worker.to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand names that nobody has made everybody's place forgotten.
    #[test]
    fn a_flood_of_names_makes_nobody_forgotten_who_is_there() {
        let places = Places::default();
        places.learn("worker", &"here".into());
        for number in 0..3 * limits::CONTROL_CHANNELS {
            places.learn(&number.to_string(), &"nowhere".into());
            assert_eq!(places.of("worker"), Some("here".into()), "it is asked for meanwhile");
        }
        places.forget("worker");
        assert_eq!(places.of("worker"), None);
    }
}
