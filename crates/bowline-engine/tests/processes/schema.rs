//! A schema of its own, in the throwaway cluster that `cargo xtask test` starts or in another one.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bowline_postgres::{PostgresStore, Settings};

use crate::{flows::Build, worker::Life};

/// Long enough for a loaded machine to renew in time, short enough to wait for.
pub(crate) const LEASE: Duration = Duration::from_secs(4);

pub(crate) struct Schema {
    /// Where the database itself is, whatever stands in front of it.
    url: String,
    pub(crate) life: Life,
}

impl Schema {
    /// In the cluster of all tests.
    pub(crate) fn new() -> Self {
        Self::at(&required("BOWLINE_TEST_POSTGRES"))
    }

    pub(crate) fn at(url: &str) -> Self {
        static SCHEMAS: AtomicU64 = AtomicU64::new(0);
        let own = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let schema = format!("processes_{}_{own}", std::process::id());
        let life = Life {
            url: url.to_owned(),
            schema,
            lease: LEASE,
            poll: Duration::from_secs(2),
            hints: true,
            seed: None,
            skew: 0,
            build: Build::Old,
        };
        Self { url: url.to_owned(), life }
    }

    /// The same for a child that makes requests.
    pub(crate) fn seeded(&self, seed: u64) -> Life {
        Life { seed: Some(seed), ..self.life.clone() }
    }

    /// Ends every connection that anybody has to it, as a server does that is restarted.
    pub(crate) async fn cut(&self) {
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE application_name = $1";
        assert!(self.count(sql, &[&self.life.schema]).await > 0, "somebody was connected");
    }

    /// How many rows there are of what is meant.
    pub(crate) async fn rows(&self, rows: &str) -> i64 {
        let schema = &self.life.schema;
        self.count(&format!("SELECT count(*) FROM {schema}.{rows}"), &[]).await
    }

    /// What the clock says that leases go by.
    pub(crate) async fn now(&self) -> i64 {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8";
        self.count(sql, &[]).await
    }

    /// How many members say that they are there, one lease and a half after a moment. By then all
    /// that were late would have been given up.
    pub(crate) async fn outlasted(&self, moment: i64) -> i64 {
        let rows = format!(
            "members WHERE state = 0 AND renewed_at > \
             to_timestamp({moment}::float8 / 1000000) + 1.5 * lease"
        );
        self.rows(&rows).await
    }

    /// A number that is another one as soon as somebody else has the store open.
    pub(crate) async fn openings(&self) -> i64 {
        let schema = &self.life.schema;
        let sql = "SELECT sum(epoch % 1000003)::int8 FROM";
        self.count(&format!("{sql} {schema}.members WHERE state = 0"), &[]).await
    }

    async fn count(&self, sql: &str, values: &[&(dyn tokio_postgres::types::ToSql + Sync)]) -> i64 {
        let connected = tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("the database runs");
        let connection = tokio::spawn(connection);
        let counted = client.query_one(sql, values).await.expect("it is SQL").get(0);
        drop(client);
        connection.await.expect("no panic").expect("it ends well");
        counted
    }
}

/// Opens what a life is about. Everybody who does is one durable system with all others.
pub(crate) fn open(life: &Life) -> PostgresStore {
    let between = if life.url.contains('?') { '&' } else { '?' };
    let url = format!("{}{between}application_name={}", life.url, life.schema);
    let mut settings = Settings::default();
    settings.schema.clone_from(&life.schema);
    settings.connections = 5;
    settings.poll = life.poll;
    settings.hints = life.hints;
    settings.patience = Duration::from_secs(5);
    // Whoever opens it may be cut off in the middle of that too.
    let mut tries = (0..10).map(|_| PostgresStore::open_with(&url, settings.clone()));
    tries.find_map(Result::ok).expect("the database runs")
}

/// What `cargo xtask test` sets.
pub(crate) fn required(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run `cargo xtask test`, which prepares what the tests need")
    })
}
