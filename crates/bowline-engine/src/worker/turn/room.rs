//! How many runs are held at once, over all threads: a bound that is never passed.
//!
//! In:    whoever is about to claim takes places first, no more runs than places.
//! Out:   a place is free again once its run was let go of; idle runs go while places are wanted.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits;

/// A run's place in memory; free again when it is dropped.
pub(in crate::worker) struct Place {
    _permit: OwnedSemaphorePermit,
}

/// The places there are.
pub(super) struct Room {
    places: usize,
    free: Arc<Semaphore>,
    /// How many more places somebody waits for.
    wanted: AtomicUsize,
    /// Whether anybody waits for one.
    is_short: AtomicBool,
}

impl Room {
    pub(super) fn new(places: usize) -> Self {
        let places = places.min(Semaphore::MAX_PERMITS);
        let free = Arc::new(Semaphore::new(places));
        Self { places, free, wanted: AtomicUsize::new(0), is_short: AtomicBool::new(false) }
    }

    /// Takes what is free, `most` at the most.
    pub(super) fn take(&self, most: usize) -> Vec<Place> {
        let places = std::iter::from_fn(|| self.free.clone().try_acquire_owned().ok());
        places.take(most).map(|permit| Place { _permit: permit }).collect()
    }

    /// From now on, threads should let go of idle runs: of one, and where there are many places of
    /// a few more, because others will come.
    pub(super) fn want(&self) {
        self.is_short.store(true, Ordering::Release);
        self.wanted.store((self.places / 64).clamp(1, limits::CLAIM_RUNS), Ordering::Release);
    }

    /// A thread that was asked had no idle run.
    pub(super) fn still_want(&self) {
        self.wanted.fetch_add(1, Ordering::AcqRel);
    }

    /// Waits for the place that was wanted.
    pub(super) async fn wait(&self) -> Option<Place> {
        let permit = self.free.clone().acquire_owned().await;
        self.wanted.store(0, Ordering::Release);
        self.is_short.store(false, Ordering::Release);
        permit.ok().map(|permit| Place { _permit: permit })
    }

    /// Whether somebody waits for a place: whatever may have become idle is looked at.
    pub(super) fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Acquire)
    }

    /// Whether a thread should let go of an idle run. Asked once per run.
    pub(super) fn wants_one(&self) -> bool {
        let less = |wanted: usize| wanted.checked_sub(1);
        self.wanted.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }
}
