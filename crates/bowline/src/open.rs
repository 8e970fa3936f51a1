//! The one place of this crate that names a store.

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
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
    pub(crate) joint: Joint,
}

/// How a store can be part of the application's own transactions, if it can.
#[derive(Clone, Default)]
pub(crate) struct Joint {
    /// It runs them.
    pub(crate) transactions: Option<Arc<dyn Transactions>>,
    /// It takes requests inside of them.
    #[cfg(feature = "_guest")]
    pub(crate) database: Option<Arc<postgres::Database>>,
}

/// The store at a place.
pub(crate) async fn open(place: Place) -> Result<Opened, ClientError> {
    match place {
        Place::Store(store) => {
            let engine = Engine::builder(store.clone());
            Ok(Opened { store, engine, joint: Joint::default() })
        }
        Place::At(place) => match place.to_str() {
            Some(url) if is_postgres(url) => database(url.to_owned()).await,
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
    let joint = Joint {
        transactions: Some(store.clone()),
        #[cfg(feature = "_guest")]
        database: None,
    };
    Ok(Opened { store, engine, joint })
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

#[cfg(feature = "postgres")]
async fn database(url: String) -> Result<Opened, ClientError> {
    postgres::open(url).await
}

#[cfg(not(feature = "postgres"))]
async fn database(_: String) -> Result<Opened, ClientError> {
    Err(ClientError::Invalid(
        "keeping the state in a database needs the feature `postgres` of the crate `bowline`: \
         `cargo add bowline --features postgres`"
            .to_owned(),
    ))
}
