//! A schema of its own, in the throwaway cluster that `cargo xtask test` starts.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bowline_postgres::{PostgresStore, Settings};

const VARIABLE: &str = "BOWLINE_TEST_POSTGRES";

pub(crate) struct Schema {
    pub(crate) name: String,
}

impl Schema {
    pub(crate) fn new() -> Self {
        static SCHEMAS: AtomicU64 = AtomicU64::new(0);
        let own = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        Self { name: format!("processes_{}_{own}", std::process::id()) }
    }

    pub(crate) fn open(&self) -> PostgresStore {
        open(&self.name)
    }
}

/// Opens a schema of this name. Everybody who does is one durable system with all others.
pub(crate) fn open(name: &str) -> PostgresStore {
    let url = std::env::var(VARIABLE).unwrap_or_else(|_| {
        panic!(
            "{VARIABLE} is not set: run `cargo xtask test`, which starts a Postgres for the tests, \
             or set it to the URL of a database that may be filled with rubbish"
        )
    });
    let mut settings = Settings::default();
    name.clone_into(&mut settings.schema);
    settings.connections = 5;
    settings.poll = Duration::from_secs(2);
    PostgresStore::open_with(&url, settings).expect("the database runs")
}
