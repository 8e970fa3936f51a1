//! The stores that every story is played on.
//!
//! A store that joins is one more function here: it opens an empty store, and opens it again as a
//! new process finds it after the one before was killed. One that needs a server reads its address
//! from the environment, and answers `None` where there is none.

use std::{sync::Arc, thread};

use bowline_sqlite::SqliteStore;
use bowline_store::{Store, memory::MemoryStore};
use parking_lot::Mutex;
use tempfile::TempDir;

/// Opens a store, again and again: from the second time on as a new process finds it after the
/// one before was killed.
pub(crate) type Open = Box<dyn Fn() -> Arc<dyn Store>>;

/// An empty store of its kind, if there is one here.
type Kind = fn() -> Option<Open>;

const KINDS: &[(&str, Kind)] = &[("memory", memory), ("sqlite", sqlite)];

/// An empty store of every kind, by name.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, Open)> {
    KINDS.iter().filter_map(|(name, kind)| Some((*name, kind()?)))
}

fn memory() -> Option<Open> {
    let store = MemoryStore::new();
    Some(Box::new(move || Arc::new(store.reopen())))
}

fn sqlite() -> Option<Open> {
    let folder = TempDir::new().expect("there is room for a folder");
    let opened = Mutex::new(None::<Arc<SqliteStore>>);
    Some(Box::new(move || {
        let mut opened = opened.lock();
        // Whoever had it may still hold on to it, as no dead process does.
        if let Some(before) = opened.take() {
            close(&before);
        }
        let store = SqliteStore::open(folder.path().join("store.db")).expect("the file is free");
        opened.insert(Arc::new(store)).clone()
    }))
}

/// Closes the file, on a thread of its own: the one that tells the story may be a runtime's.
fn close(store: &SqliteStore) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            runtime.expect("a runtime can be made").block_on(store.close());
        });
    });
}
