//! The one place of this crate that names a store.

mod sqlite;

use std::{path::Path, sync::Arc};

use bowline_engine::{Builder, Engine, store::Store};
use bowline_sqlite::SqliteStore;

use crate::{
    ClientError,
    builder::{Place, crash_file},
    transaction::Transactions,
};

/// A store that is open, and an engine on it.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Builder,
    /// Set if the store runs transactions of the application's own.
    pub(crate) transactions: Option<Arc<dyn Transactions>>,
}

/// The store at a place.
pub(crate) async fn open(place: Place) -> Result<Opened, ClientError> {
    match place {
        Place::Store(store) => {
            let engine = Engine::builder(store.clone());
            Ok(Opened { store, engine, transactions: None })
        }
        Place::At(place) => match place.to_str() {
            Some(url) if is_postgres(url) => postgres(url.to_owned()).await,
            Some(url) if url.contains("://") => Err(ClientError::Invalid(format!(
                "{url:?} is not a place that a store can be opened at: give the path of a file, \
                 or postgres://user@host/database"
            ))),
            _ => sqlite(&place),
        },
    }
}

/// The store in a file.
fn sqlite(path: &Path) -> Result<Opened, ClientError> {
    let store = SqliteStore::open(path).map_err(bowline_engine::Error::from)?;
    let store = Arc::new(store);
    let engine = Engine::builder(store.clone()).crash_file(crash_file(path));
    Ok(Opened { store: store.clone(), engine, transactions: Some(store) })
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

/// The store in a database. Opening it blocks, so it has a thread of its own.
#[cfg(feature = "postgres")]
async fn postgres(url: String) -> Result<Opened, ClientError> {
    let opened = tokio::task::spawn_blocking(move || bowline_postgres::PostgresStore::open(&url));
    let opened = opened.await.map_err(|error| ClientError::Invalid(error.to_string()))?;
    let store: Arc<dyn Store> = Arc::new(opened.map_err(bowline_engine::Error::from)?);
    Ok(Opened { engine: Engine::builder(store.clone()), store, transactions: None })
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_: String) -> Result<Opened, ClientError> {
    Err(ClientError::Invalid(
        "a database is a place for state only with the feature `postgres` of the crate `bowline`: \
         `cargo add bowline --features postgres`"
            .to_owned(),
    ))
}
