//! Where a workflow thread sits: how to reach it, what it holds, and whether it was given up.

use std::{collections::BTreeMap, sync::Arc};

use bowline_core::{Epoch, Fence, RunId, Time};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Work, room::Place};

/// How to reach a thread. Clones reach the same one.
#[derive(Clone)]
pub(super) struct Seat {
    pub(super) mailbox: mpsc::Sender<Work>,
    pub(super) shared: Arc<Shared>,
}

impl Seat {
    /// Gives the thread something to do. False if it is gone: then it has let go of its runs.
    pub(super) async fn send(&self, work: Work) -> bool {
        tokio::select! {
            biased;
            () = self.shared.gone.cancelled() => false,
            sent = self.mailbox.send(work) => sent.is_ok(),
        }
    }
}

/// The same for the thread itself: it ends when nobody else can reach it.
pub(super) struct Sitting {
    mailbox: mpsc::WeakSender<Work>,
    pub(super) shared: Arc<Shared>,
}

impl Sitting {
    pub(super) fn of(seat: &Seat) -> Self {
        Self { mailbox: seat.mailbox.downgrade(), shared: seat.shared.clone() }
    }

    /// How to reach it; none if nobody does any more.
    pub(super) fn seat(&self) -> Option<Seat> {
        let mailbox = self.mailbox.upgrade()?;
        Some(Seat { mailbox, shared: self.shared.clone() })
    }
}

/// What others may see of a thread.
#[derive(Default)]
pub(super) struct Shared {
    /// The run whose code is running, and since when.
    pub(super) busy: Mutex<Option<(RunId, Time)>>,
    /// Fires when the thread is given up: whatever it still says counts for nothing.
    pub(super) gone: CancellationToken,
    held: Mutex<BTreeMap<RunId, Held>>,
}

/// What holding a run means: the lease, and its place in memory. The place is taken until the
/// lease was given back.
pub(super) struct Held {
    pub(super) fence: Fence,
    pub(super) place: Place,
}

impl Shared {
    /// The thread will have this run.
    pub(super) fn hold(&self, run: RunId, held: Held) {
        self.held.lock().insert(run, held);
    }

    /// The thread is done with a run; none if it was given up before.
    pub(super) fn take(&self, run: RunId) -> Option<Held> {
        self.held.lock().remove(&run)
    }

    /// Everything that the thread holds, or is about to.
    pub(super) fn take_all(&self) -> BTreeMap<RunId, Held> {
        std::mem::take(&mut *self.held.lock())
    }

    /// What is held under an epoch, or an older one, is gone.
    pub(super) fn forget(&self, epoch: Epoch) {
        self.held.lock().retain(|_, held| held.fence.epoch > epoch);
    }

    pub(super) fn holds(&self, run: RunId) -> bool {
        self.held.lock().contains_key(&run)
    }

    /// Every run that the thread holds.
    pub(super) fn runs(&self) -> Vec<RunId> {
        self.held.lock().keys().copied().collect()
    }
}
