//! A schema of its own for one test, in the throwaway cluster that `cargo xtask test` starts.

use std::sync::atomic::{AtomicU64, Ordering};

use bowline_postgres::Settings;
use tokio_postgres::{Client, NoTls};

/// Where the cluster is. Set by `cargo xtask test`.
pub(crate) const VARIABLE: &str = "BOWLINE_TEST_POSTGRES";

pub(crate) struct Place {
    url: String,
    schema: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        static PLACES: AtomicU64 = AtomicU64::new(0);
        let url = std::env::var(VARIABLE).unwrap_or_else(|_| {
            panic!(
                "{VARIABLE} is not set: run `cargo xtask test`, which starts a Postgres for the \
                 tests, or set it to the URL of a database that may be filled with rubbish"
            )
        });
        let own = PLACES.fetch_add(1, Ordering::Relaxed);
        let schema = format!("test_{}_{own}", std::process::id());
        let place = Self { url, schema };
        place.execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", place.schema));
        place
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// Few connections, because many tests run at once.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.schema.clone_from(&self.schema);
        settings.connections = 6;
        settings
    }

    /// Every member is gone, for certain.
    pub(crate) fn bury_members(&self) {
        self.execute(&format!("UPDATE {}.members SET state = 1", self.schema));
    }

    pub(crate) fn execute(&self, sql: &str) {
        let sql = sql.to_owned();
        self.with(async move |client| client.batch_execute(&sql).await.expect("it is SQL"));
    }

    /// How many rows there are.
    pub(crate) fn count(&self, rows: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {rows}");
        self.with(async move |client| {
            let row = client.query_one(&sql, &[]).await.expect("it is SQL");
            row.get(0)
        })
    }

    /// Does something with a connection of its own.
    pub(crate) fn with<T>(&self, work: impl AsyncFnOnce(Client) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&self.url, NoTls).await.expect("the cluster runs");
            let connection = tokio::spawn(connection);
            let done = work(client).await;
            let _ = connection.await;
            done
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema));
    }
}
