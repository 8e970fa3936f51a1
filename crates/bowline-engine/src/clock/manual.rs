//! A clock that moves only when it is told to: for tests and for the simulator.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bowline_core::Time;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Clock, Sleep};

/// A clock that moves only when it is told to. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    hands: Arc<ManualTime>,
}

#[derive(Debug, Default)]
struct ManualTime {
    state: Mutex<Sleepers>,
    came_or_left: Notify,
}

#[derive(Debug, Default)]
struct Sleepers {
    now: Time,
    last: u64,
    /// By moment and then by arrival, so that sleepers are woken in one certain order.
    sleepers: BTreeMap<(Time, u64), Option<Waker>>,
}

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn new(now: Time) -> Self {
        let clock = Self::default();
        clock.hands.state.lock().now = now;
        clock
    }

    /// Moves on by `span`; whoever slept until then or earlier is woken, the earliest first.
    pub fn advance(&self, span: Duration) {
        let to = self.hands.state.lock().now.after(span);
        self.advance_to(to);
    }

    /// Moves on to `to`, or stays if that has passed.
    pub fn advance_to(&self, to: Time) {
        let due = {
            let mut state = self.hands.state.lock();
            let now = state.now.max(to);
            state.now = now;
            let later = state.sleepers.split_off(&(now, u64::MAX));
            std::mem::replace(&mut state.sleepers, later)
        };
        due.into_values().flatten().for_each(Waker::wake);
        self.hands.came_or_left.notify_waiters();
    }

    /// Moves on to the moment at which the next sleeper is due, and says which that was; stays if
    /// nobody sleeps.
    pub fn advance_to_next(&self) -> Option<Time> {
        let next = self.next_due()?;
        self.advance_to(next);
        Some(next)
    }

    /// How many sleep.
    pub fn sleepers(&self) -> usize {
        self.hands.state.lock().sleepers.len()
    }

    /// When the next sleeper is due; unset if nobody sleeps.
    pub fn next_due(&self) -> Option<Time> {
        self.hands.state.lock().sleepers.keys().next().map(|(due, _)| *due)
    }

    /// Waits until somebody sleeps, with `at` as the next moment at which anybody is due.
    pub async fn until_next_due(&self, at: Time) {
        loop {
            let mut changed = std::pin::pin!(self.hands.came_or_left.notified());
            // Listening begins before looking, so that nobody comes unseen in between.
            changed.as_mut().enable();
            if self.next_due() == Some(at) {
                return;
            }
            changed.await;
        }
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        self.hands.state.lock().now
    }

    fn sleep_until(&self, at: Time) -> Sleep {
        let key = {
            let mut state = self.hands.state.lock();
            if at <= state.now {
                return Box::pin(std::future::ready(()));
            }
            state.last += 1;
            let key = (at, state.last);
            state.sleepers.insert(key, None);
            key
        };
        self.hands.came_or_left.notify_waiters();
        Box::pin(Sleeper { hands: Arc::clone(&self.hands), key })
    }
}

/// Counted from its making on, not from its first poll, so that a count means something.
struct Sleeper {
    hands: Arc<ManualTime>,
    key: (Time, u64),
}

impl Future for Sleeper {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.hands.state.lock().sleepers.get_mut(&self.key) {
            Some(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let left = self.hands.state.lock().sleepers.remove(&self.key);
        if left.is_some() {
            self.hands.came_or_left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn sleepers_are_woken_in_the_order_of_their_moments() {
        let clock = ManualClock::new(Time(1_000));
        let woken = Arc::new(Mutex::new(Vec::new()));
        let mut ends = Vec::new();
        for (name, seconds) in [("late", 3), ("first", 1), ("same as first", 1), ("never", 9)] {
            let at = clock.now().after(SECOND * seconds);
            // tidy: allow(sleep) The sleep is what is tested.
            let sleep = clock.sleep_until(at);
            let woken = Arc::clone(&woken);
            let sleeper = async move {
                sleep.await;
                woken.lock().push(name);
            };
            let end = tokio::spawn(sleeper);
            if name != "never" {
                ends.push(end);
            }
        }
        tokio::task::yield_now().await;
        assert_eq!(clock.sleepers(), 4);
        assert_eq!(clock.next_due(), Some(Time(1_001_000)));
        clock.advance(SECOND * 3);
        for end in ends {
            end.await.unwrap();
        }
        assert_eq!(*woken.lock(), ["first", "same as first", "late"]);
        assert_eq!(clock.advance_to_next(), Some(Time(9_001_000)));
        assert_eq!(clock.advance_to_next(), None);
        assert_eq!(clock.now(), Time(9_001_000));
    }

    #[tokio::test]
    async fn a_sleeper_that_leaves_is_not_counted() {
        let clock = ManualClock::default();
        // tidy: allow(sleep) The sleep is what is tested.
        let sleep = clock.sleep_until(Time(5));
        assert_eq!(clock.sleepers(), 1);
        drop(sleep);
        assert_eq!((clock.sleepers(), clock.next_due()), (0, None));
    }

    #[tokio::test]
    async fn the_hands_never_go_back_and_a_passed_moment_is_no_sleep() {
        let clock = ManualClock::new(Time(10));
        clock.advance_to(Time(4));
        assert_eq!(clock.now(), Time(10));
        clock.sleep_until(Time(10)).await; // tidy: allow(sleep) The sleep is what is tested.
        assert_eq!(clock.sleepers(), 0);
    }

    #[tokio::test]
    async fn somebody_who_waits_for_a_sleeper_is_told() {
        let clock = ManualClock::default();
        let waits = tokio::spawn({
            let clock = clock.clone();
            async move { clock.until_next_due(Time(7)).await }
        });
        tokio::task::yield_now().await;
        // tidy: allow(sleep) The sleep is what is tested.
        let _sleep = clock.sleep_until(Time(7));
        waits.await.unwrap();
    }
}
