//! How much may run at once, and how fast it may begin: the slots of one queue at one worker.
//!
//! In:    "I could run something": [`Slots::reserve`] and [`Slots::take`] hand out [`Permit`]s.
//! Out:   a permit that is dropped is a free slot again; `Permit::leak` frees the slot of code
//!        that could not be stopped, and counts that code until it really ends.
//! Never: hands out a slot twice, and nothing at all while too much code of this worker leaks.

mod leak;
mod rate;

use std::{pin::pin, sync::Arc};

use bowline_core::Time;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::clock::Clock;

use rate::Throttle;

pub use leak::{Leaks, StillRunning};
pub use rate::Rate;

/// How many slots a queue has at this worker, and how fast they may be filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLimits {
    /// How many attempts may run at once.
    pub count: usize,
    /// How many may begin in a span of time; unset means no limit.
    pub rate: Option<Rate>,
}

/// The slots of one queue at one worker. Clones are the same slots.
#[derive(Clone)]
pub struct Slots(Arc<QueueSlots>);

struct QueueSlots {
    clock: Arc<dyn Clock>,
    leaks: Leaks,
    state: Mutex<SlotState>,
    changed: Notify,
}

struct SlotState {
    count: usize,
    taken: usize,
    pace: Throttle,
}

impl Slots {
    /// Free slots. `leaks` is shared by all queues of a worker.
    pub fn new(limits: SlotLimits, leaks: Leaks, clock: Arc<dyn Clock>) -> Self {
        let pace = Throttle::new(limits.rate, clock.now());
        let state = Mutex::new(SlotState { count: limits.count, taken: 0, pace });
        Self(Arc::new(QueueSlots { clock, leaks, state, changed: Notify::new() }))
    }

    /// Takes what is free right now, `most` at the most.
    pub fn take(&self, most: usize) -> Vec<Permit> {
        if self.0.leaks.are_too_many() {
            return Vec::new();
        }
        let now = self.0.clock.now();
        let mut state = self.0.state.lock();
        let free = state.count.saturating_sub(state.taken).min(most);
        let count = state.pace.take(free, now);
        state.taken += count;
        drop(state);
        (0..count).map(|_| Permit { slots: Some(self.clone()), is_used: false }).collect()
    }

    /// Waits until at least one slot is free and may be filled, and takes up to `most` of them.
    pub async fn reserve(&self, most: usize) -> Vec<Permit> {
        assert!(most > 0, "whoever wants no slot need not wait for one");
        loop {
            let mut changed = pin!(self.0.changed.notified());
            let mut leaks = pin!(self.0.leaks.fewer());
            // Listening begins before looking, so that no slot is freed unseen in between.
            changed.as_mut().enable();
            leaks.as_mut().enable();
            let permits = self.take(most);
            if !permits.is_empty() {
                return permits;
            }
            let paced = self.next_start();
            tokio::select! {
                biased;
                () = changed => {}
                () = leaks => {}
                () = self.0.clock.sleep_until(paced.unwrap_or(Time::MAX)), if paced.is_some() => {}
            }
        }
    }

    /// The moment before which nothing may begin, if there are free slots that wait for it.
    fn next_start(&self) -> Option<Time> {
        let state = self.0.state.lock();
        (state.taken < state.count).then(|| state.pace.next()).flatten()
    }

    /// Other limits from now on. What runs runs on, even if it is more than the new count.
    pub fn configure(&self, limits: SlotLimits) {
        let now = self.0.clock.now();
        let mut state = self.0.state.lock();
        state.count = limits.count;
        state.pace.set(limits.rate, now);
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// How many slots are taken.
    pub fn taken(&self) -> usize {
        self.0.state.lock().taken
    }

    /// How many slots there are.
    pub fn count(&self) -> usize {
        self.0.state.lock().count
    }

    /// Waits until no slot is taken.
    pub async fn idle(&self) {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            if self.taken() == 0 {
                return;
            }
            changed.await;
        }
    }

    fn free(&self, is_used: bool) {
        let mut state = self.0.state.lock();
        state.taken = state.taken.checked_sub(1).expect("only a taken slot can be freed");
        if !is_used {
            state.pace.give_back();
        }
        drop(state);
        self.0.changed.notify_waiters();
    }
}

/// One slot, taken. Dropping it frees the slot: it moves, so that happens once.
pub struct Permit {
    slots: Option<Slots>,
    is_used: bool,
}

impl Permit {
    /// Something begins in this slot. A permit that is dropped before costs nothing of the rate.
    pub(crate) fn mark_used(&mut self) {
        self.is_used = true;
    }

    /// Frees the slot although its code runs on. The code counts as leaked until what is returned
    /// is dropped.
    #[must_use = "the code counts as leaked until this is dropped"]
    pub(crate) fn leak(mut self) -> StillRunning {
        let slots = self.slots.take().expect("a permit has its slot until it is dropped");
        let still_running = slots.0.leaks.count();
        slots.free(true);
        still_running
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(slots) = self.slots.take() {
            slots.free(self.is_used);
        }
    }
}

#[cfg(test)]
mod tests;
