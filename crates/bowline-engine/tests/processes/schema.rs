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

    /// Ends every connection that anybody has to it, as a server does that is restarted.
    pub(crate) async fn cut(&self) {
        let connected = tokio_postgres::connect(&url(), tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("the database runs");
        let connection = tokio::spawn(connection);
        let ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                    WHERE application_name = $1";
        let ended = client.query(ends, &[&self.name]).await.expect("it may end them");
        assert!(!ended.is_empty(), "somebody was connected");
        drop(client);
        connection.await.expect("no panic").expect("it ends well");
    }
}

/// Opens a schema of this name. Everybody who does is one durable system with all others.
pub(crate) fn open(name: &str) -> PostgresStore {
    let url = format!("{}?application_name={name}", url());
    let mut settings = Settings::default();
    name.clone_into(&mut settings.schema);
    settings.connections = 5;
    settings.poll = Duration::from_secs(2);
    PostgresStore::open_with(&url, settings).expect("the database runs")
}

fn url() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| {
        panic!(
            "{VARIABLE} is not set: run `cargo xtask test`, which starts a Postgres for the tests, \
             or set it to the URL of a database that may be filled with rubbish"
        )
    })
}
