//! The contract, kept by this store.

use std::sync::Arc;

use bowline_postgres::PostgresStore;
use bowline_store::{
    Store,
    conformance::{Damage, Harness},
};

use crate::place::Place;

struct Schema(Place);

impl Harness for Schema {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::open_with(&self.0.url(), self.0.settings()).expect("it opens"))
    }

    /// The process that had it is gone, and somebody who knows has said so. That others find out
    /// by themselves, after a while, is shown elsewhere.
    fn reopen(&self) -> Arc<dyn Store> {
        self.0.bury_members();
        self.open()
    }

    fn damage(&self, damage: Damage) -> bool {
        let (table, column, run) = damage.place();
        let (schema, uuid) = (self.0.schema(), uuid::Uuid::from_u128(run.uuid));
        self.0.execute(&format!(
            "UPDATE {schema}.{table} SET {column} = '\\x00' WHERE run = '{uuid}'"
        ));
        true
    }
}

fn open() -> Schema {
    Schema(Place::new())
}

bowline_store::conformance!(open);
