//! The drivers that an application may have, each with the few things that the tests do with one.

use bowline::ClientError;

/// The cluster that `cargo xtask test` has started.
pub(crate) fn url() -> String {
    let url = std::env::var(crate::VARIABLE);
    url.unwrap_or_else(|_| panic!("{} is not set: run `cargo xtask test`", crate::VARIABLE))
}

pub(crate) mod tokio_postgres {
    use tokio_postgres_0_7::NoTls;
    pub(crate) use tokio_postgres_0_7::{Client, Transaction as Tx};

    use super::*;

    pub(crate) async fn connect() -> Client {
        let (client, connection) =
            tokio_postgres_0_7::connect(&url(), NoTls).await.expect("the cluster runs");
        tokio::spawn(connection);
        client
    }

    pub(crate) async fn begin_transaction(client: &mut Client) -> Tx<'_> {
        client.transaction().await.expect("it begins")
    }

    pub(crate) async fn execute(tx: &mut Tx<'_>, sql: &str) -> Result<(), ClientError> {
        tx.execute(sql, &[]).await?;
        Ok(())
    }
}

/// One number from the database, on a connection of its own.
pub(crate) async fn number(sql: &str) -> i64 {
    let client = tokio_postgres::connect().await;
    client.query_one(sql, &[]).await.expect("it is SQL").get(0)
}

macro_rules! sqlx {
    ($name:ident, $core:ident, $postgres:ident, $sql:expr) => {
        pub(crate) mod $name {
            use $core::{connection::Connection, query::query};
            pub(crate) use $postgres::{PgConnection as Client, PgTransaction as Tx};

            use super::*;

            pub(crate) async fn connect() -> Client {
                Client::connect(&url()).await.expect("the cluster runs")
            }

            pub(crate) async fn begin_transaction(client: &mut Client) -> Tx<'_> {
                client.begin().await.expect("it begins")
            }

            pub(crate) async fn execute(tx: &mut Tx<'_>, sql: &str) -> Result<(), ClientError> {
                query::<$postgres::Postgres>($sql(sql)).execute(&mut **tx).await?;
                Ok(())
            }
        }
    };
}

sqlx!(sqlx_0_8, sqlx_core_0_8, sqlx_postgres_0_8, std::convert::identity);
sqlx!(sqlx_0_9, sqlx_core_0_9, sqlx_postgres_0_9, sqlx_core_0_9::sql_str::AssertSqlSafe);
