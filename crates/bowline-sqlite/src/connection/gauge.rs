//! How long the log is, as far as can be told from how many rows were written.
//!
//! In:    what every copying says: how many frames the log has, and how many are copied.
//! Out:   when there is a piece to be copied, and when the log is long enough to be used again.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::limits;

#[derive(Default)]
pub(crate) struct Gauge {
    /// Pages of a log that is long enough.
    pages: u64,
    /// How many rows will have been written when there is a piece to be copied.
    due: AtomicU64,
    /// How many rows will have been written when the log is long enough.
    full: AtomicU64,
    last: Mutex<Last>,
}

/// What was known when the log was last copied.
#[derive(Clone, Copy, Default)]
struct Last {
    rows: u64,
    frames: u64,
}

impl Gauge {
    pub(crate) fn new(pages: u64) -> Self {
        let first = || AtomicU64::new(limits::PIECE_FIRST);
        Self { pages, due: first(), full: AtomicU64::new(u64::MAX), last: Mutex::default() }
    }

    /// The log is empty, and nothing is known of the rows to come.
    pub(crate) fn reset(&self, rows: u64) {
        self.put_off(rows);
        self.full.store(u64::MAX, Ordering::Relaxed);
        *self.last.lock() = Last { rows, frames: 0 };
    }

    /// Nothing could be copied: that is tried again.
    pub(crate) fn put_off(&self, rows: u64) {
        self.due.store(rows + limits::PIECE_FIRST, Ordering::Relaxed);
    }

    /// Whether there is a piece to be copied.
    pub(crate) fn is_due(&self, rows: u64) -> bool {
        rows >= self.due.load(Ordering::Relaxed)
    }

    /// Whether the log should be used again.
    pub(crate) fn is_full(&self, rows: u64) -> bool {
        rows >= self.full.load(Ordering::Relaxed)
    }

    /// The log had so many frames, of which so many are copied, when so many rows were written.
    pub(crate) fn copied(&self, rows: u64, (logged, copied): (u64, u64)) {
        let mut last = self.last.lock();
        let written = rows.saturating_sub(last.rows);
        // One that is copied as a whole begins anew with the next commit.
        let frames = if copied == logged { 0 } else { logged };
        // A log that is shorter than it was has begun anew: nobody knows when.
        if logged > last.frames && written > 0 {
            let made = logged - last.frames;
            let wanted = piece(written, made, self.pages / limits::PIECES);
            self.due.store(rows + wanted, Ordering::Relaxed);
            let left = piece(written, made, self.pages.saturating_sub(frames));
            self.full.store(rows + left, Ordering::Relaxed);
        } else {
            self.put_off(rows);
        }
        *last = Last { rows, frames };
    }
}

/// How many rows make so many frames, if some have made some frames of the log.
fn piece(rows: u64, frames: u64, most: u64) -> u64 {
    (rows * most / frames.max(1)).clamp(limits::PIECE_ROWS.0, limits::PIECE_ROWS.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_about_as_long_whatever_the_rows_are() {
        assert_eq!(piece(3_000, 3_000, 2_000), 2_000);
        assert_eq!(piece(1_000, 100, 2_000), 20_000, "ten rows in each page");
        assert_eq!(piece(1_000, 2_000, 2_000), 1_000, "two pages for each row");
        assert_eq!(piece(10, 9_999_999, 2_000), limits::PIECE_ROWS.0, "rows as large as files");
        assert_eq!(piece(1_000, 0, 2_000), limits::PIECE_ROWS.1, "nothing came of them");
    }

    #[test]
    fn a_log_is_full_when_its_pages_are_written() {
        let gauge = Gauge::new(8_000);
        assert!(gauge.is_due(100) && !gauge.is_full(1_000_000), "nothing is known yet");
        gauge.copied(100, (200, 100));
        assert!(!gauge.is_due(1_099) && gauge.is_due(1_100));
        assert!(!gauge.is_full(3_999) && gauge.is_full(4_000));
        gauge.copied(4_000, (8_000, 8_000));
        assert!(!gauge.is_full(7_999) && gauge.is_full(8_000), "it begins anew");
    }
}
