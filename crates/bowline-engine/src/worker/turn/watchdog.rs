//! Finds threads that are stuck in user code, and puts others in their places.
//!
//! It wakes only while turns are being had: an idle process is woken for nothing.

use std::{sync::Arc, time::Duration};

use super::{Threads, thread::release};
use crate::{engine::Core, worker::Worker};

/// Watches until the engine stops.
pub(in crate::worker) async fn run(worker: Arc<Worker>, patience: Duration) {
    let (core, threads) = (worker.core.clone(), &worker.threads);
    loop {
        threads.entered.notified().await;
        while threads.any_busy() {
            core.clock.sleep_until(core.now().after(patience / 2)).await;
            for place in 0..threads.seats.len() {
                if let Err(error) = threads.check(&core, place, patience) {
                    tracing::error!(%error, place, "a stuck thread could not be replaced");
                }
            }
        }
    }
}

impl Threads {
    fn any_busy(&self) -> bool {
        self.seats.iter().any(|seat| seat.read().shared.busy.lock().is_some())
    }

    /// Replaces a thread that has been in one turn for too long. The run that it is stuck in is
    /// parked; all others are replayed elsewhere.
    fn check(&self, core: &Arc<Core>, place: usize, patience: Duration) -> crate::Result<()> {
        let shared = self.seats[place].read().shared.clone();
        let Some((stuck, since)) = *shared.busy.lock() else { return Ok(()) };
        let late = core.now().since(since);
        if late < patience {
            return Ok(());
        }
        tracing::error!(run = %stuck, ?late, "a turn does not return: its thread is given up");
        let seat = self.seat(core, place)?;
        *self.seats[place].write() = seat;
        shared.gone.cancel();
        for (run, held) in shared.take_all() {
            let core = core.clone();
            let work = async move {
                if run != stuck {
                    return release(&core, run, held).await;
                }
                let reason = format!(
                    "its code did not return within {late:?}: look for a loop without an await, \
                     a lock, or a blocking call"
                );
                core.park(run, Some(held.fence), 1, reason).await;
                drop(held.place);
            };
            self.core.finish(work);
        }
        Ok(())
    }
}
