//! Which runs this thread has in memory: those that fail, that must wait, and that go.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use bowline_core::RunId;

use super::Thread;
use crate::{
    Error, Result,
    engine::{EngineInner, exchange::Stop},
    limits,
    worker::turn::{Work, handle::Held},
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
    /// Says whether runs that begin had better go elsewhere.
    pub(super) fn weigh(&mut self) {
        let Self { burdened, cache, .. } = self;
        burdened.retain(|run, _| cache.is_burdened(*run));
        if burdened.is_empty() {
            self.handle.shared.burdened_until.store(0, Ordering::Relaxed);
        }
    }

    /// Has a run wait that will take its time. Runs that are on their way on this thread come to
    /// their ends meanwhile, and others begin elsewhere.
    pub(super) fn put_off(&mut self, run: RunId) {
        if self.burdened.contains_key(&run) {
            return;
        }
        self.burdened.insert(run, Instant::now());
        let until = self.inner.now().after(limits::OFFERED_END);
        self.handle.shared.burdened_until.store(until.0, Ordering::Relaxed);
        if self.put_off.is_zero() {
            return;
        }
        let (Some(handle), put_off) = (self.handle.handle(), self.put_off) else { return };
        self.inner.spawn(async move {
            tokio::time::sleep(put_off).await;
            handle.send(Work::Wake(run)).await;
        });
    }

    pub(super) fn is_put_off(&self, run: RunId) -> bool {
        self.burdened.get(&run).is_some_and(|since| since.elapsed() < self.put_off)
    }

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
