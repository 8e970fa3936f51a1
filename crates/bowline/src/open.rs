//! The one place of this crate that names a store.

use std::{path::Path, sync::Arc};

use bowline_engine::{Builder, Engine, store::Store};
use bowline_sqlite::SqliteStore;

use crate::{
    ClientError,
    builder::{Place, crash_file},
};

/// The store at a place, and an engine on it.
pub(crate) fn engine(place: Place) -> Result<(Arc<dyn Store>, Builder), ClientError> {
    match place {
        Place::Store(store) => Ok((store.clone(), Engine::builder(store))),
        Place::Url(url) if url.contains("://") => Err(ClientError::Invalid(format!(
            "{url:?} is not a place that a store can be opened at: give the path of a file"
        ))),
        Place::Url(path) => {
            let path = Path::new(&path);
            let store = SqliteStore::open(path).map_err(bowline_engine::Error::from)?;
            let store: Arc<dyn Store> = Arc::new(store);
            Ok((store.clone(), Engine::builder(store).crash_file(crash_file(path))))
        }
    }
}
