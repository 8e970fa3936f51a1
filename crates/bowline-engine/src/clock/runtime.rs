//! The clock of a tokio runtime: it stands still, and jumps, where that runtime's time is paused.

use std::time::Duration;

use bowline_core::Time;
use tokio::{runtime::Handle, time::Instant};

use super::{Clock, Sleep};

/// A timer of the runtime holds about two years; who sleeps longer looks again after this long.
const LOOK_AGAIN: Duration = Duration::from_secs(365 * 24 * 3600);

/// Time as a runtime has it. Clones are the same clock, and any thread may ask it.
#[derive(Clone, Debug)]
pub struct RuntimeClock {
    runtime: Handle,
    began: Instant,
    at: Time,
}

impl RuntimeClock {
    /// A clock that shows `at` now, and from now on goes as the time of `runtime` does.
    pub fn new(runtime: Handle, at: Time) -> Self {
        let began = instant(&runtime);
        Self { runtime, began, at }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Time {
        self.at.after(instant(&self.runtime).saturating_duration_since(self.began))
    }

    fn sleep_until(&self, at: Time) -> Sleep {
        let clock = self.clone();
        Box::pin(async move {
            loop {
                let left = at.since(clock.now());
                if left.is_zero() {
                    return;
                }
                let sleep = {
                    let _here = clock.runtime.enter();
                    tokio::time::sleep(left.min(LOOK_AGAIN))
                };
                sleep.await;
            }
        })
    }
}

/// A thread outside the runtime would read the machine's clock instead, so it steps in.
fn instant(runtime: &Handle) -> Instant {
    let _here = runtime.enter();
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paused() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap()
    }

    #[test]
    fn where_nothing_else_happens_centuries_pass_in_a_moment_and_to_the_microsecond() {
        let runtime = paused();
        let clock = RuntimeClock::new(runtime.handle().clone(), Time(1_000));
        let at = clock.now().after(Duration::from_secs(3_000_000_000));
        // tidy: allow(sleep) The sleep is what is tested.
        runtime.block_on(clock.sleep_until(at));
        assert_eq!(clock.now(), at);
    }

    #[test]
    fn any_thread_is_told_the_runtimes_time_and_not_the_machines() {
        let runtime = paused();
        let clock = RuntimeClock::new(runtime.handle().clone(), Time(5));
        let other = clock.clone();
        assert_eq!(std::thread::spawn(move || other.now()).join().unwrap(), Time(5));
    }
}
