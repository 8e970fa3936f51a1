//! Where new ids come from: the one place that draws them.

use std::sync::atomic::{AtomicU64, Ordering};

use bowline_core::Time;

/// Draws ids that nobody else draws.
pub trait Ids: Send + Sync {
    /// A new one; ids drawn later sort later, roughly.
    fn draw(&self, now: Time) -> u128;
}

/// Time-ordered random ids.
#[derive(Debug, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn draw(&self, _now: Time) -> u128 {
        uuid::Uuid::now_v7().as_u128()
    }
}

/// Ids that are the same in every run of a test.
#[derive(Debug, Default)]
pub struct CountedIds(AtomicU64);

impl Ids for CountedIds {
    fn draw(&self, _now: Time) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
