//! The contract, kept by this store.

use std::sync::Arc;

use bowline_sqlite::SqliteStore;
use bowline_store::{Store, conformance::Harness};
use tempfile::TempDir;

struct File(TempDir);

impl Harness for File {
    fn open(&self) -> Arc<dyn Store> {
        let path = self.0.path().join("store.db");
        Arc::new(SqliteStore::open(path).expect("the file is free"))
    }

    fn reopen(&self) -> Arc<dyn Store> {
        self.open()
    }
}

fn open() -> File {
    File(TempDir::new().expect("there is room for a folder"))
}

bowline_store::conformance!(open);
