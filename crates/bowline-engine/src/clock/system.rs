//! The machine's clock, with tokio's timers.
//!
//! When the machine's clock is set back, ours goes on at half speed until the two agree again: it
//! never goes backwards, and it never stands still, so that limits and leases still end.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bowline_core::Time;
use parking_lot::Mutex;

use super::{Clock, Sleep};

/// A sleeper looks at the clock again after this long: the machine may have been suspended, or its
/// clock set forward, without any timer noticing.
const LOOK_AGAIN: Duration = Duration::from_secs(300);

/// The machine's clock. Clones share what was last told.
#[derive(Clone, Debug, Default)]
pub struct SystemClock {
    last: Arc<Mutex<Option<Reading>>>,
}

/// What was told last, and when that was on a clock that nobody sets.
#[derive(Clone, Copy, Debug)]
struct Reading {
    told: Time,
    at: Instant,
}

impl SystemClock {
    /// The machine's clock.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let mut last = self.last.lock();
        // Read under the lock: otherwise the thread that read first might be told to go back.
        let (wall, at) = (wall(), Instant::now());
        let told = next(*last, wall, at);
        *last = Some(Reading { told, at });
        told
    }

    fn sleep_until(&self, at: Time) -> Sleep {
        let clock = self.clone();
        Box::pin(async move {
            loop {
                let left = at.since(clock.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(LOOK_AGAIN)).await;
            }
        })
    }
}

fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::default().after(since)
}

fn next(last: Option<Reading>, wall: Time, at: Instant) -> Time {
    let least = last.map(|last| last.told.after(at.saturating_duration_since(last.at) / 2));
    least.map_or(wall, |least| least.max(wall))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_goes_on_at_half_speed_until_both_agree() {
        let start = Instant::now();
        let mut last = Reading { told: Time(10_000_000), at: start };
        let mut told = Vec::new();
        for second in 1..=5 {
            let at = start + Duration::from_secs(second);
            // The machine's clock was set back by two seconds.
            let wall = Time(8_000_000 + i64::try_from(second).unwrap() * 1_000_000);
            last = Reading { told: next(Some(last), wall, at), at };
            told.push(last.told.0);
        }
        assert_eq!(told, [10_500_000, 11_000_000, 11_500_000, 12_000_000, 13_000_000]);
    }

    #[test]
    fn a_clock_that_is_set_forward_is_believed() {
        let at = Instant::now();
        let last = Reading { told: Time(5), at };
        assert_eq!(next(Some(last), Time(9_000_000), at), Time(9_000_000));
    }

    #[test]
    fn it_tells_the_machines_time_and_never_goes_back() {
        let clock = SystemClock::new();
        let readings: Vec<_> = (0..1_000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
        assert!(wall().since(readings[999]) < Duration::from_secs(60));
    }

    #[tokio::test]
    async fn a_sleeper_wakes_when_its_moment_has_come() {
        let clock = SystemClock::new();
        let at = clock.now().after(Duration::from_millis(2));
        clock.sleep_until(at).await; // tidy: allow(sleep) The sleep is what is tested.
        assert!(clock.now() >= at);
    }
}
