//! The sky over all members: how calls, hints and polls fare, until it clears up at the end.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::world::Weather;

/// What the weather is now.
pub(crate) struct Sky {
    weather: Weather,
    clear: AtomicBool,
}

impl Sky {
    pub(crate) fn new(weather: Weather) -> Self {
        Self { weather, clear: AtomicBool::new(false) }
    }

    pub(crate) fn clears_up(&self) {
        self.clear.store(true, SeqCst);
    }

    pub(crate) fn weather(&self) -> Weather {
        if self.clear.load(SeqCst) { Weather::default() } else { self.weather }
    }
}
