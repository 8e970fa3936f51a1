//! How much code of this worker was given up and still runs.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{Notify, futures::Notified};

/// Counts the attempts whose code was given up and has not ended. Clones are the same count.
#[derive(Clone, Debug)]
pub struct Leaks(Arc<LeakCount>);

#[derive(Debug)]
struct LeakCount {
    most: usize,
    count: AtomicUsize,
    fewer: Notify,
}

impl Leaks {
    /// None yet. From `most` on the worker takes no further work.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(LeakCount { most, count: AtomicUsize::new(0), fewer: Notify::new() }))
    }

    /// How many there are now.
    pub fn leaked(&self) -> usize {
        self.0.count.load(Ordering::Acquire)
    }

    /// Whether the worker must not take further work.
    pub fn are_too_many(&self) -> bool {
        self.leaked() >= self.0.most
    }

    pub(super) fn count(&self) -> StillRunning {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        StillRunning(self.clone())
    }

    pub(super) fn fewer(&self) -> Notified<'_> {
        self.0.fewer.notified()
    }
}

/// Code that was given up and still runs; dropped when it has ended.
#[derive(Debug)]
pub struct StillRunning(Leaks);

impl Drop for StillRunning {
    fn drop(&mut self) {
        let before = self.0.0.count.fetch_sub(1, Ordering::AcqRel);
        assert!(before > 0, "what ends was counted");
        self.0.0.fewer.notify_waiters();
    }
}
