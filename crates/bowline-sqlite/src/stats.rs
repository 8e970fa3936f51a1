//! Counters, so that tests can assert how much was done instead of how long it took.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a store has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls that the writer has answered.
    pub calls: u64,
    /// Transactions that were committed.
    pub transactions: u64,
    /// Transactions that were rolled back.
    pub rollbacks: u64,
    /// How often the writer waited for [`Settings::busy`](crate::Settings::busy) in vain, because
    /// another connection had the file.
    pub busy: u64,
    /// Questions that readers have answered.
    pub reads: u64,
    /// Rows that were read.
    pub rows_read: u64,
    /// Rows that were inserted, updated or deleted.
    pub rows_written: u64,
    /// Rows of history that were read; they count as rows too.
    pub batches_read: u64,
    /// Rows of activities that were read or written; they count as rows too.
    pub activity_rows: u64,
    /// Steps of SQLite's machine: rows that were only looked at cost some, too.
    pub steps: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) calls: AtomicU64,
    pub(crate) transactions: AtomicU64,
    pub(crate) rollbacks: AtomicU64,
    pub(crate) busy: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) rows_read: AtomicU64,
    pub(crate) rows_written: AtomicU64,
    pub(crate) batches_read: AtomicU64,
    pub(crate) activity_rows: AtomicU64,
    pub(crate) steps: AtomicU64,
}

impl Counters {
    pub(crate) fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            calls: read(&self.calls),
            transactions: read(&self.transactions),
            rollbacks: read(&self.rollbacks),
            busy: read(&self.busy),
            reads: read(&self.reads),
            rows_read: read(&self.rows_read),
            rows_written: read(&self.rows_written),
            batches_read: read(&self.batches_read),
            activity_rows: read(&self.activity_rows),
            steps: read(&self.steps),
        }
    }
}

/// Adds to a counter that nothing is ordered by.
pub(crate) fn count(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}
