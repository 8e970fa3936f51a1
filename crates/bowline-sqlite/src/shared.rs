//! What the store's handle and its threads share.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
};

use bowline_core::{Epoch, Time};
use bowline_store::{Listeners, ready::WaitingWork};

use crate::{
    connection::gauge::Gauge, read::ask::Asks, settings::Settings, stats::Counters,
    write::ahead::Ahead,
};

#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) path: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) listeners: Listeners,
    pub(crate) asks: Asks,
    pub(crate) ahead: Ahead,
    /// What waits for remote workers, as the index has it.
    pub(crate) waiting: Arc<WaitingWork>,
    /// The latest moment that a call has brought along: a store has no clock.
    now: AtomicI64,
    /// The epoch of the member; 0 if there is none.
    epoch: AtomicU64,
    closing: AtomicBool,
    /// Nobody knows what of the log is in the file.
    torn: AtomicBool,
    /// How long the log is.
    pub(crate) gauge: Gauge,
}

impl Shared {
    pub(crate) fn new(path: PathBuf, settings: Settings) -> Self {
        let gauge = Gauge::new(settings.log_pages());
        Self { path, settings, gauge, now: AtomicI64::new(i64::MIN), ..Self::default() }
    }

    /// Threads look at this before they wait for more to do.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// True the first time.
    pub(crate) fn close(&self) -> bool {
        !self.closing.swap(true, Ordering::SeqCst)
    }

    /// Copying the log has failed, or the log is gone: nothing is copied any more.
    pub(crate) fn tear(&self) {
        self.torn.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_torn(&self) -> bool {
        self.torn.load(Ordering::SeqCst)
    }

    /// The file is whole again, and its log is empty.
    pub(crate) fn mended(&self) {
        self.gauge.reset(self.counters.rows_written.load(Ordering::Relaxed));
        self.torn.store(false, Ordering::SeqCst);
    }

    /// Who has the store open.
    pub(crate) fn member(&self) -> Option<Epoch> {
        Some(Epoch(self.epoch.load(Ordering::SeqCst))).filter(|epoch| epoch.0 > 0)
    }

    pub(crate) fn set_member(&self, epoch: Option<Epoch>) {
        self.epoch.store(epoch.map_or(0, |epoch| epoch.0), Ordering::SeqCst);
        self.asks.member(epoch);
    }

    /// The latest moment that anybody has spoken of.
    pub(crate) fn now(&self) -> Time {
        Time(self.now.load(Ordering::Relaxed))
    }

    /// A call says what time it is. Questions that nobody answered by then are over.
    pub(crate) fn clock(&self, now: Time) {
        let before = self.now.fetch_max(now.0, Ordering::Relaxed);
        if now.0 > before {
            self.asks.expire(now);
        }
    }
}
