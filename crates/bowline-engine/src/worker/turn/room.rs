//! How many runs are held at once, over all threads: a bound that is never passed.
//!
//! In:    whoever is about to claim takes places first, no more runs than places.
//! Out:   a place is free again once its run was let go of; idle runs go while places are wanted.
//! Never: takes a wish from those who wait without a run to let go of: so `wanted`, and the places
//!        that are on their way, are never fewer than those who wait.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Context,
};

use parking_lot::Mutex;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::limits;

/// A run's place in memory; free again when it is dropped.
pub(in crate::worker) struct Place {
    _permit: OwnedSemaphorePermit,
}

/// The places there are.
pub(super) struct Room {
    places: usize,
    free: Arc<Semaphore>,
    /// How many wait for a place. It is changed under the lock, and read without it.
    waiting: AtomicUsize,
    /// How many runs should be let go of for them, and are not yet.
    wanted: Mutex<usize>,
}

impl Room {
    pub(super) fn new(places: usize) -> Self {
        let places = places.min(Semaphore::MAX_PERMITS);
        let free = Arc::new(Semaphore::new(places));
        Self { places, free, waiting: AtomicUsize::new(0), wanted: Mutex::new(0) }
    }

    /// Takes what is free, `most` at the most.
    pub(super) fn take(&self, most: usize) -> Vec<Place> {
        let places = std::iter::from_fn(|| self.free.clone().try_acquire_owned().ok());
        places.take(most).map(|permit| Place { _permit: permit }).collect()
    }

    /// From now on, threads should let go of idle runs: of one, and where there are many places of
    /// a few more, because others will come. Whoever asks stands in the line already: nobody who
    /// comes later has the place that is made.
    pub(super) fn want(&self) -> PlaceWaiter<'_> {
        let mut wanted = self.wanted.lock();
        *wanted += (self.places / 64).clamp(1, limits::CLAIM_RUNS);
        self.waiting.fetch_add(1, Ordering::Release);
        drop(wanted);
        let mut line: Line = Box::pin(self.free.clone().acquire_owned());
        let mut context = Context::from_waker(std::task::Waker::noop());
        let first = match line.as_mut().poll(&mut context) {
            std::task::Poll::Ready(permit) => Some(permit),
            std::task::Poll::Pending => None,
        };
        PlaceWaiter { room: self, line, first }
    }

    /// Whether somebody waits for a place: whatever may have become idle is looked at.
    pub(super) fn is_short(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Puts down idle runs, as many as are wanted. `idle` names one, `put_down` answers whether
    /// its place will be free.
    pub(super) fn make<T, R>(
        &self,
        thread: &mut T,
        idle: impl Fn(&T) -> Option<R>,
        put_down: impl Fn(&mut T, R) -> bool,
    ) {
        while self.is_short() {
            let Some(run) = idle(thread) else { return };
            {
                let mut wanted = self.wanted.lock();
                let Some(less) = wanted.checked_sub(1) else { return };
                *wanted = less;
            }
            if !put_down(thread, run) && self.is_short() {
                *self.wanted.lock() += 1;
            }
        }
    }
}

type Line = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

/// Somebody who waits for a place.
pub(super) struct PlaceWaiter<'r> {
    room: &'r Room,
    line: Line,
    /// The place, if there was one after all.
    first: Option<Result<OwnedSemaphorePermit, AcquireError>>,
}

impl PlaceWaiter<'_> {
    /// Waits for the place that was wanted.
    pub(super) async fn wait(mut self) -> Option<Place> {
        let permit = match self.first.take() {
            Some(permit) => permit,
            None => self.line.as_mut().await,
        };
        permit.ok().map(|permit| Place { _permit: permit })
    }
}

impl Drop for PlaceWaiter<'_> {
    fn drop(&mut self) {
        let mut wanted = self.room.wanted.lock();
        if self.room.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            *wanted = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread as the room sees it: the places of its idle runs.
    fn make(room: &Room, idle: &mut Vec<Place>) {
        let last = |idle: &Vec<Place>| idle.len().checked_sub(1);
        room.make(idle, last, |idle, at| {
            drop(idle.remove(at));
            true
        });
    }

    /// Two waited. When the first had its place, nobody was asked for another one any more: the
    /// second waited for ever beside idle runs.
    #[tokio::test]
    async fn whoever_waits_beside_another_has_a_place_too() {
        let room = Room::new(2);
        let mut idle = room.take(2);
        let (a, b) = (room.want(), room.want());
        let mut last = idle.split_off(1);
        make(&room, &mut idle);
        let _a = a.wait().await.expect("there is one");
        assert!(room.is_short(), "the other one waits still");
        make(&room, &mut last);
        assert!(last.is_empty(), "its run had to go");
        let _b = b.wait().await.expect("there is another");
        assert!(!room.is_short());
    }

    /// A thread was asked to let go of a run, and had none that was idle. Another one, which had,
    /// was asked in that very moment, heard that nothing was wanted, and was not asked again.
    #[tokio::test]
    async fn a_thread_without_idle_runs_takes_no_wish_away() {
        let room = Room::new(1);
        let other = std::cell::RefCell::new(room.take(1));
        let waits = room.want();
        let meanwhile = |_: &()| {
            make(&room, &mut other.borrow_mut());
            None::<usize>
        };
        room.make(&mut (), meanwhile, |(), _| true);
        assert!(other.borrow().is_empty(), "its run had to go");
        waits.wait().await.expect("there is a place");
    }

    /// A run was let go of whose place had been given up before: that made no room.
    #[tokio::test]
    async fn a_run_without_a_place_makes_no_room() {
        let room = Room::new(1);
        let mut idle = room.take(1);
        let waits = room.want();
        let mut ghosts = 2;
        room.make(
            &mut ghosts,
            |ghosts| (*ghosts > 0).then_some(()),
            |ghosts, ()| {
                *ghosts -= 1;
                false
            },
        );
        make(&room, &mut idle);
        assert!(idle.is_empty(), "its run had to go");
        waits.wait().await.expect("there is a place");
    }

    /// Somebody who only tries takes no place that was made for somebody who waits.
    #[tokio::test]
    async fn a_place_is_for_whoever_waited_first() {
        let room = Room::new(1);
        let mut idle = room.take(1);
        let waits = room.want();
        make(&room, &mut idle);
        assert!(room.take(1).is_empty(), "it is taken");
        let place = waits.wait().await.expect("there is a place");
        drop(place);
        assert_eq!(room.take(2).len(), 1);
    }

    /// Whoever goes away no longer waits, and has nobody let go of anything.
    #[tokio::test]
    async fn nothing_is_wanted_for_who_has_gone() {
        let room = Room::new(1);
        let mut idle = room.take(1);
        drop(room.want());
        make(&room, &mut idle);
        assert_eq!(idle.len(), 1, "nobody waits");
        drop(idle);
        assert_eq!(room.take(1).len(), 1);
    }
}
