//! The one place that reads time.
//!
//! Everything else asks a [`Clock`], so that tests and the simulator can turn its hands. Moments
//! are wall-clock moments, because they are stored and compared across processes; no clock ever
//! goes backwards.

mod manual;
mod runtime;
mod system;

use std::pin::Pin;

use bowline_core::Time;

pub use manual::ManualClock;
pub use runtime::RuntimeClock;
pub use system::SystemClock;

/// What [`Clock::sleep_until`] gives: ready once the moment has come.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells the time and wakes sleepers.
pub trait Clock: Send + Sync {
    /// This moment; never earlier than an answer given before.
    fn now(&self) -> Time;

    /// Waits until `at`; ready at once if that has passed. Dropping it is how a sleeper leaves.
    fn sleep_until(&self, at: Time) -> Sleep;
}
