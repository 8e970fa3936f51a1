//! State in a Postgres database.

#[cfg(feature = "_guest")]
mod app_transaction;
#[cfg(any(feature = "sqlx-0_8", feature = "sqlx-0_9"))]
mod sqlx;
#[cfg(feature = "tokio-postgres-0_7")]
mod tokio_postgres_0_7;

use std::sync::Arc;

use bowline_engine::Engine;
use bowline_postgres::PostgresStore;

use super::{Joint, Opened};
use crate::ClientError;

/// The store in a database.
#[cfg(feature = "_guest")]
pub(crate) type Database = PostgresStore;

/// Opening it blocks, so it has a thread of its own.
pub(super) async fn open(url: String) -> Result<Opened, ClientError> {
    let opened = tokio::task::spawn_blocking(move || PostgresStore::open(&url));
    let opened = opened.await.map_err(|error| ClientError::Invalid(error.to_string()))?;
    let database = Arc::new(opened.map_err(bowline_engine::Error::from)?);
    let engine = Engine::builder(database.clone());
    let joint = Joint {
        #[cfg(feature = "_guest")]
        database: Some(database.clone()),
        ..Joint::default()
    };
    Ok(Opened { store: database, engine, joint })
}
