//! What the database knows of its tables. It looks by itself about once a minute; a table that is
//! empty at first may have a hundred thousand rows by then, and plans that were made for an empty
//! one would be used until it looks.
//!
//! In:    how many rows this process has added.
//! Out:   `ANALYZE`, ever less often: after that many rows, twenty times as many, and so on.
//! Never: needed. Plans find the same rows, sooner or later.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::Notify;

use crate::{
    connection::db::{Db, Outcome},
    limits,
    shared::Shared,
};

/// How much the tables have grown.
pub(crate) struct Growth {
    rows: AtomicU64,
    /// At how many rows the database has to look again.
    bound: AtomicU64,
    reached: Notify,
}

impl Default for Growth {
    fn default() -> Self {
        let bound = AtomicU64::new(limits::ANALYZE_FROM);
        Self { rows: AtomicU64::default(), bound, reached: Notify::new() }
    }
}

impl Growth {
    /// So many rows were added.
    pub(crate) fn add(&self, rows: usize) {
        let rows = rows as u64;
        let all = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        if all >= self.bound.load(Ordering::Relaxed) {
            self.bound.store(all.saturating_mul(limits::ANALYZE_TIMES), Ordering::Relaxed);
            self.reached.notify_one();
        }
    }
}

/// Has the database look whenever the tables have grown enough.
pub(crate) async fn keep(shared: Arc<Shared>) {
    loop {
        shared.growth.reached.notified().await;
        // A database that does not answer now looks by itself, later.
        let _ = look(&shared).await;
    }
}

async fn look(shared: &Shared) -> Outcome<()> {
    let lent = shared.lend_aside().await?;
    // Whoever looks already need not be waited for.
    let sql = "ANALYZE (SKIP_LOCKED) @labels, @runs, @history, @inbox, @activities, @alarms";
    Db::own(&lent, shared).batch(sql).await
}
