//! The contract, kept by this store.

use std::sync::Arc;

use bowline_sqlite::SqliteStore;
use bowline_store::{
    Store,
    conformance::{Damage, Harness},
};
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

    fn damage(&self, damage: Damage) -> bool {
        let (table, column, run) = damage.place();
        let key = if table == "runs" { "key" } else { "run" };
        let sql = format!(
            "UPDATE {table} SET {column} = x'00' \
             WHERE {key} = (SELECT key FROM labels WHERE uuid = ?)"
        );
        let db = rusqlite::Connection::open(self.0.path().join("store.db")).expect("it opens");
        db.execute(&sql, [run.uuid.to_be_bytes()]).expect("it is written") > 0
    }
}

fn open() -> File {
    File(TempDir::new().expect("there is room for a folder"))
}

bowline_store::conformance!(open);
