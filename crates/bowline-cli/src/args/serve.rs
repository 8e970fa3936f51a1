//! What can be said to `bowline serve`.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use super::Place;

/// Serve Temporal's official SDKs, unmodified, from a store.
///
/// Workers and clients connect to this address as they would to a Temporal server:
///
///     bowline serve --store orders.db
///     # in Python:  client = await Client.connect("localhost:7233")
///
/// On Postgres any number of such servers share one database, behind one address:
///
///     bowline serve --store postgres://bowline@db/bowline --listen 0.0.0.0:7233
///
/// A cancel is pushed to the running activity at once; no heartbeat is needed. Everything that was
/// acknowledged is in the store: after a crash, start it again. It ends on Ctrl-C or SIGTERM: polls
/// are answered, and nothing is lost. Which calls are answered stands in docs/temporal.md.
///
/// There is no encryption and no log-in yet: listen on an address that only friends can reach.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The store. A file is made if it is not there, and belongs to this process while it runs. A
    /// database, as postgres://user:password@host/database, is shared by many.
    #[arg(long, env = "BOWLINE_STORE", default_value = "bowline.db", hide_env_values = true)]
    pub(crate) store: Place,
    /// The address for SDKs. Port 0 takes any free port, and the first line of output names it.
    #[arg(long, env = "BOWLINE_LISTEN", default_value = "127.0.0.1:7233")]
    pub(crate) listen: SocketAddr,
    /// The namespace that all runs live in, as clients must name it.
    #[arg(long, env = "BOWLINE_NAMESPACE", default_value = "default")]
    pub(crate) namespace: String,
    /// Forget closed runs after this many days. Without it they are kept.
    #[arg(long, env = "BOWLINE_KEEP_DAYS", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) keep_days: Option<u16>,
    /// What is written to standard error.
    #[arg(long, env = "BOWLINE_LOG", value_enum, default_value_t = LogLevel::Warn)]
    pub(crate) log: LogLevel,
}

/// How much is told.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogLevel {
    /// Nothing but errors.
    Error,
    /// What somebody should look at.
    Warn,
    /// What happens.
    Info,
    /// What happens, in detail.
    Debug,
}
