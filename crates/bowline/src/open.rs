//! The one place of this crate that names a store.

mod sqlite;

use std::sync::Arc;

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
pub(crate) fn open(place: Place) -> Result<Opened, ClientError> {
    match place {
        Place::Store(store) => {
            let engine = Engine::builder(store.clone());
            Ok(Opened { store, engine, transactions: None })
        }
        Place::At(url) if url.to_str().is_some_and(|url| url.contains("://")) => {
            Err(ClientError::Invalid(format!(
                "{url:?} is not a place that a store can be opened at: give the path of a file"
            )))
        }
        Place::At(path) => {
            let store = SqliteStore::open(&path).map_err(bowline_engine::Error::from)?;
            let store = Arc::new(store);
            let engine = Engine::builder(store.clone()).crash_file(crash_file(&path));
            Ok(Opened { store: store.clone(), engine, transactions: Some(store) })
        }
    }
}
