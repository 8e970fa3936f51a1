//! Finds threads that are stuck in user code, and puts others in their places.
//!
//! It looks only while turns are being had, and once more: an idle process is woken for nothing.
//! And while it looks now and then, no turn has to wake it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use super::{Threads, thread::release};
use crate::{
    engine::{EngineInner, exchange::Stop},
    worker::Worker,
};

/// How threads tell the watchdog that they have turns.
#[derive(Default)]
pub(super) struct TurnClock {
    /// A turn was begun since the watchdog last looked.
    pulled: AtomicBool,
    bell: Notify,
}

impl TurnClock {
    /// A turn begins.
    pub(super) fn pull(&self) {
        if !self.pulled.swap(true, Ordering::AcqRel) {
            self.bell.notify_one();
        }
    }

    fn was_pulled(&self) -> bool {
        self.pulled.swap(false, Ordering::AcqRel)
    }
}

/// Watches until the engine stops.
pub(in crate::worker) async fn run(worker: Arc<Worker>, patience: Duration) {
    let (inner, threads) = (worker.inner.clone(), &worker.threads);
    // A thread that keeps step with the runtime has no turn while this looks: one that is busy all
    // the same is stuck. All others are looked at now and then, which moves no clock on that is
    // moved by hand.
    let in_step = threads.in_step.is_some();
    loop {
        threads.leash.bell.notified().await;
        while (threads.leash.was_pulled() && !in_step) || threads.any_busy() {
            match in_step {
                true => inner.clock.sleep_until(inner.now().after(patience / 2)).await,
                false => tokio::time::sleep(patience / 2).await,
            }
            for place in 0..threads.handles.len() {
                if let Err(error) = threads.check(&inner, place, patience) {
                    tracing::error!(%error, place, "a stuck thread could not be replaced");
                }
            }
        }
    }
}

impl Threads {
    fn any_busy(&self) -> bool {
        self.handles.iter().any(|handle| handle.read().shared.busy.lock().is_some())
    }

    /// Replaces a thread that has been in one turn for too long. The run that it is stuck in is
    /// parked; all others are replayed elsewhere.
    fn check(
        &self,
        inner: &Arc<EngineInner>,
        place: usize,
        patience: Duration,
    ) -> crate::Result<()> {
        let shared = self.handles[place].read().shared.clone();
        let Some((stuck, since)) = *shared.busy.lock() else { return Ok(()) };
        let late = inner.now().since(since);
        if late < patience {
            return Ok(());
        }
        tracing::error!(run = %stuck, ?late, "a turn does not return: its thread is given up");
        let handle = self.handle(inner, place)?;
        *self.handles[place].write() = handle;
        shared.gone.cancel();
        for (run, held) in shared.take_all() {
            let inner = inner.clone();
            let work = async move {
                if run != stuck {
                    return release(&inner, run, held).await;
                }
                let reason = format!(
                    "its code did not return within {late:?}: look for a loop without an await, \
                     a lock, or a blocking call"
                );
                let stop = Stop { failures: 1, reason, harms: true };
                inner.park(run, Some(held.fence), stop).await;
                drop(held.place);
            };
            self.inner.finish(work);
        }
        Ok(())
    }
}
