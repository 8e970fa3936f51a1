//! A store and an engine on it, wired in one visible place.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use bowline_engine::{Engine, store::Store};
use bowline_postgres::{PostgresStore, Settings as PostgresSettings};
use bowline_sqlite::SqliteStore;
use bowline_temporal::{Door, Listening};
use tokio::runtime::{Builder, Runtime};

use crate::{
    args::{Command, Place},
    http,
    settings::Settings,
};

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

/// The schema of a database, unless somebody says otherwise.
pub(crate) const SCHEMA: &str = "bowline";

/// Where the runs are that a command is about.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) place: Place,
    /// Of a database: where its tables are.
    pub(crate) schema: String,
    /// Of a database: how many connections calls may use.
    pub(crate) connections: Option<usize>,
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
    pub(crate) async fn open(&self, make: bool) -> Result<Arc<dyn Store>> {
        Ok(match &self.place {
            Place::File(path) if make => Arc::new(SqliteStore::open(path)?),
            Place::File(path) => Arc::new(file(path)?),
            Place::Postgres(url) => {
                let mut settings = PostgresSettings::default();
                settings.schema.clone_from(&self.schema);
                settings.connections = self.connections.unwrap_or(settings.connections);
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

/// A server that listens.
pub(crate) struct Server {
    engine: Engine,
    pub(crate) sdk: Listening,
    /// Where the console, the API and metrics are served, if anywhere.
    pub(crate) http: Option<http::Port>,
}

/// An engine with nothing to run of its own, and ports for those who run workflows elsewhere and
/// those who look after it.
pub(crate) async fn server(settings: &Settings) -> Result<Server> {
    let site = &settings.site;
    let addresses: Vec<_> = settings.http.into_iter().chain([settings.listen]).collect();
    // Before anything is opened: what is wrong with it changes nothing.
    let protection = settings.protect.settle(&addresses).await?;
    let store = site.open(true).await;
    let store = store.with_context(|| format!("the store {} cannot be opened", site.place))?;
    let mut builder = Engine::builder(store).identity(identity()).lease(settings.lease);
    if let Some(kept) = settings.kept {
        builder = builder.retention(kept);
    }
    let engine = builder.start().await?;
    let door = Door::with(engine.clone(), settings.namespace.clone(), settings.limits.clone());
    let http = match settings.http {
        Some(address) => {
            let watched = http::Watched { engine: engine.clone(), door: door.clone() };
            Some(http::serve(watched, address, &protection).await?)
        }
        None => None,
    };
    let sdk = bowline_temporal::serve_protected(door, settings.listen, protection).await?;
    Ok(Server { engine, sdk, http })
}

impl Server {
    /// Takes no more work, lets calls in flight finish, leaves the store, and ends.
    pub(crate) async fn close(self, grace: Duration) -> Result<()> {
        // The port first: what calls in flight have to bring still needs the engine, and what was
        // taken for somebody who is cut off is given back.
        let shut = self.sdk.close(grace).await;
        if let Some(http) = self.http {
            http.close().await;
        }
        let left = self.engine.close(LEAVE).await;
        shut?;
        left?;
        Ok(())
    }
}

/// What this process is called among the members of a store.
pub(crate) fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("bowline-{}@{host}", std::process::id())
}
