//! The one place of this crate that names a store.

use std::{path::Path, sync::Arc};

use bowline_engine::{Builder, Engine, Result};
use bowline_sqlite::SqliteStore;

/// Opens the SQLite file at `path`, or makes a new one, and gives an engine on it that waits to be
/// told what to run.
///
/// A small file beside it (`<path>.turns`) names the run that each workflow thread is in, so that
/// a run which keeps taking the process down is found out.
///
/// # Errors
/// If the file cannot be opened, is something else, or belongs to another process: the error says
/// which.
pub fn open(path: impl AsRef<Path>) -> Result<Builder> {
    let path = path.as_ref();
    let store = SqliteStore::open(path)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".turns");
    Ok(Engine::builder(Arc::new(store)).crash_file(beside))
}
