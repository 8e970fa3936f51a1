//! A store and an engine on it, wired in one visible place.

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result, bail};
use bowline_engine::{Engine, store::Store};
use bowline_sqlite::SqliteStore;
use tokio::runtime::{Builder, Runtime};

/// One thread is enough: nothing of the user's runs here.
pub(crate) fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("no runtime could be made")
}

/// Opens a store that is there already.
pub(crate) fn store(path: &Path) -> Result<SqliteStore> {
    if !path.exists() {
        bail!("there is no file {}", path.display());
    }
    Ok(SqliteStore::open(path)?)
}

/// An engine with nothing to run: it answers, and takes messages.
pub(crate) async fn engine(path: &Path) -> Result<Engine> {
    let store: Arc<dyn Store> = Arc::new(store(path)?);
    Ok(Engine::builder(store).identity("bowline").start().await?)
}
