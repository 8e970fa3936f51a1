//! Fences that the engine makes itself, apart from those that the store makes.
//!
//! In:    runs that begin here, and attempts that begin with a commit.
//! Out:   fences that nobody has had; which of them are on their way to the store.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bowline_core::{Epoch, Fence};
use parking_lot::Mutex;

/// Where they begin.
const OWN_FENCES: u64 = 1 << 62;

pub(crate) struct Fences {
    next: AtomicU64,
    sent: Arc<Mutex<BTreeSet<u64>>>,
}

impl Default for Fences {
    fn default() -> Self {
        Self { next: AtomicU64::new(OWN_FENCES), sent: Arc::default() }
    }
}

/// The fence of an attempt whose start is being written: it may stand in the store before anybody
/// here knows the attempt. Dropped when that is known, or it was not written.
pub(crate) struct Sent {
    pub(crate) fence: Fence,
    sent: Arc<Mutex<BTreeSet<u64>>>,
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.sent.lock().remove(&self.fence.counter);
    }
}

impl Fences {
    pub(super) fn draw(&self, epoch: Epoch) -> Fence {
        Fence { epoch, counter: self.next.fetch_add(1, Ordering::Relaxed) }
    }

    /// One for an attempt whose start is about to be written.
    pub(super) fn send(&self, epoch: Epoch) -> Sent {
        let fence = self.draw(epoch);
        self.sent.lock().insert(fence.counter);
        Sent { fence, sent: self.sent.clone() }
    }

    /// Whether an attempt with this fence may begin here any moment.
    pub(super) fn is_sent(&self, fence: &Fence) -> bool {
        self.sent.lock().contains(&fence.counter)
    }
}
