//! A store and an engine on it, wired in one visible place.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use bowline_engine::{Engine, store::Store};
use bowline_sqlite::SqliteStore;
use bowline_temporal::{Door, Listening};
use tokio::runtime::{Builder, Runtime};

use crate::args::{Command, Serve};

/// One thread is enough to look after a file: nothing of the user's runs here. A server has many
/// callers at once.
pub(crate) fn runtime(command: &Command) -> Result<Runtime> {
    let mut builder = match command {
        Command::Serve(_) => Builder::new_multi_thread(),
        _ => Builder::new_current_thread(),
    };
    builder.enable_all().build().context("no runtime could be made")
}

/// Opens a store that is there already.
pub(crate) fn store(path: &Path) -> Result<SqliteStore> {
    if !path.exists() {
        bail!("there is no file {}", path.display());
    }
    Ok(SqliteStore::open(path)?)
}

/// An engine with nothing to run of its own, and a port for those who run workflows elsewhere.
pub(crate) async fn server(args: &Serve) -> Result<(Engine, Listening)> {
    let path = &args.store;
    let store = SqliteStore::open(path)
        .with_context(|| format!("the store {} cannot be opened", path.display()))?;
    let store: Arc<dyn Store> = Arc::new(store);
    let mut builder = Engine::builder(store).identity(format!("bowline-{}", std::process::id()));
    if let Some(days) = args.keep_days {
        builder = builder.retention(Duration::from_secs(u64::from(days) * 24 * 3600));
    }
    let engine = builder.start().await?;
    let door = Door::new(engine.clone(), args.namespace.clone());
    let listening = bowline_temporal::serve(door, args.listen).await?;
    Ok((engine, listening))
}

/// An engine with nothing to run: it answers, and takes messages.
pub(crate) async fn engine(path: &Path) -> Result<Engine> {
    let store: Arc<dyn Store> = Arc::new(store(path)?);
    Ok(Engine::builder(store).identity("bowline").start().await?)
}
