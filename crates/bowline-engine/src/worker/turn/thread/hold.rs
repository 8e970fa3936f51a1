//! Which runs this thread has in memory: those that fail, that must wait, and that go.

use std::sync::Arc;

use bowline_core::RunId;

use super::Thread;
use crate::{
    Error, Result,
    engine::{EngineInner, exchange::Stop},
    limits,
    worker::turn::handle::Held,
};

/// Gives a lease back, and then the place.
pub(in crate::worker::turn) async fn release(inner: &Arc<EngineInner>, run: RunId, held: Held) {
    told(run, inner.release(run, held.fence).await, held);
}

fn told(run: RunId, released: Result<()>, held: Held) {
    match released {
        Ok(()) => {}
        Err(Error::NotFound(_)) => tracing::debug!(%run, "a run that never began is let go of"),
        Err(error) => tracing::error!(%run, %error, "the run could not be let go of"),
    }
    drop(held.place);
}

impl Thread {
    /// The turn came to nothing, and nothing was written. A lasting fault parks the run at once,
    /// another one after some tries.
    pub(super) fn failed(&mut self, run: RunId, reason: &str, lasting: bool) {
        self.cache.remove(run);
        let Some(held) = self.handle.shared.take(run) else { return };
        let failures = self.failures.entry(run).or_default();
        *failures += 1;
        let times = *failures;
        tracing::warn!(%run, %reason, times, "a turn failed");
        let inner = self.inner.clone();
        let reason = reason.to_owned();
        if lasting || times >= limits::TURN_FAILURES {
            self.failures.remove(&run);
            self.inner.finish(async move {
                let stop = Stop { failures: times, reason, harms: false };
                inner.park(run, Some(held.fence), stop).await;
                drop(held.place);
            });
        } else {
            let due = self.inner.now().after(limits::STORE_PAUSE * 10 * times);
            self.inner.spawn(async move {
                inner.clock.sleep_until(due).await;
                release(&inner, run, held).await;
            });
        }
    }

    /// Lets go of idle runs while somebody waits for their places.
    pub(super) fn make_room(&mut self) {
        let room = self.room.clone();
        room.make(self, |own| own.cache.oldest(), Self::put_down);
    }

    pub(super) fn stop(&mut self) {
        for run in self.cache.runs() {
            self.release_run(run);
        }
        for (run, held) in self.handle.shared.take_all() {
            let inner = self.inner.clone();
            self.inner.finish(async move { release(&inner, run, held).await });
        }
    }

    /// A closed run needs no place any more.
    pub(super) fn forget(&mut self, run: RunId) {
        self.cache.remove(run);
        drop(self.handle.shared.take(run));
    }

    /// Somebody else may have the run's next turn. False if it was not held any more.
    pub(super) fn release_run(&mut self, run: RunId) -> bool {
        self.cache.remove(run);
        let Some(held) = self.handle.shared.take(run) else { return false };
        let inner = self.inner.clone();
        self.inner.finish(async move { release(&inner, run, held).await });
        true
    }

    /// The run has nothing to do, and leaves memory. Its code could go on, so that it is not parked
    /// any more: whoever looks for parked runs would try it again, and again. False if it was not
    /// held any more.
    fn put_down(&mut self, run: RunId) -> bool {
        self.cache.remove(run);
        let Some(held) = self.handle.shared.take(run) else { return false };
        let inner = self.inner.clone();
        self.inner
            .finish(async move { told(run, inner.release_idle(run, held.fence).await, held) });
        true
    }
}
