//! A store and an engine on it, wired in one visible place.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use bowline_engine::{Engine, store::Store};
use bowline_postgres::{PostgresStore, Settings};
use bowline_sqlite::SqliteStore;
use bowline_temporal::{Door, Listening};
use tokio::runtime::{Builder, Runtime};

use crate::args::{Command, Place, Serve};

/// How long leaving a store may take.
const LEAVE: Duration = Duration::from_secs(5);

/// One thread is enough to look after a file: nothing of the user's runs here. A server has many
/// callers at once.
pub(crate) fn runtime(command: &Command) -> Result<Runtime> {
    let mut builder = match command {
        Command::Serve(_) => Builder::new_multi_thread(),
        _ => Builder::new_current_thread(),
    };
    builder.enable_all().build().context("no runtime could be made")
}

/// Where the runs are that a command is about.
pub(crate) struct Site {
    pub(crate) place: Place,
    /// Of a database: where its tables are.
    pub(crate) schema: String,
}

impl Site {
    /// The store file, for what only a file can do.
    pub(crate) fn file(&self, instead: &str) -> Result<SqliteStore> {
        match &self.place {
            Place::File(path) => file(path),
            Place::Postgres(_) => bail!("{} is a database, not a file: {instead}", self.place),
        }
    }

    /// Opens the store. A file must be there already, unless it may be made.
    async fn open(&self, make: bool) -> Result<Arc<dyn Store>> {
        Ok(match &self.place {
            Place::File(path) if make => Arc::new(SqliteStore::open(path)?),
            Place::File(path) => Arc::new(file(path)?),
            Place::Postgres(url) => {
                let mut settings = Settings::default();
                settings.schema.clone_from(&self.schema);
                let url = url.clone();
                // It waits for the database.
                let opening = move || PostgresStore::open_with(&url, settings);
                Arc::new(tokio::task::spawn_blocking(opening).await??)
            }
        })
    }
}

/// Opens a store file that is there already.
pub(crate) fn file(path: &Path) -> Result<SqliteStore> {
    if !path.exists() {
        bail!("there is no file {}", path.display());
    }
    Ok(SqliteStore::open(path)?)
}

/// An engine with nothing to run of its own, and a port for those who run workflows elsewhere.
pub(crate) async fn server(site: &Site, args: &Serve) -> Result<(Engine, Listening)> {
    let store = site.open(true).await;
    let store = store.with_context(|| format!("the store {} cannot be opened", site.place))?;
    let mut builder = Engine::builder(store).identity(identity());
    if let Some(days) = args.keep_days {
        builder = builder.retention(Duration::from_secs(u64::from(days) * 24 * 3600));
    }
    let engine = builder.start().await?;
    let door = Door::new(engine.clone(), args.namespace.clone());
    let listening = bowline_temporal::serve(door, args.listen).await?;
    Ok((engine, listening))
}

/// What this process is called among the members of a store.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("bowline-{}@{host}", std::process::id())
}

/// Asks something of an engine with nothing to run, which then leaves the store as it found it.
pub(crate) async fn asking<T>(
    site: &Site,
    ask: impl AsyncFnOnce(&Engine) -> Result<T>,
) -> Result<T> {
    let store = site.open(false).await?;
    let engine = Engine::builder(store).identity(identity()).start().await?;
    let answer = ask(&engine).await;
    let closed = engine.close(LEAVE).await;
    let answer = answer?;
    closed?;
    Ok(answer)
}
