//! Commands that look.

use clap::{Args, ValueEnum};

use super::Place;

/// Where the runs are.
#[derive(Clone, Debug, Args)]
pub(crate) struct On {
    /// The store: a file, or postgres://user@host/database.
    pub(crate) store: Place,
    /// The namespace that the runs are in.
    #[arg(long, env = "BOWLINE_NAMESPACE", value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
}

/// One run, and where it is.
#[derive(Clone, Debug, Args)]
pub(crate) struct OneRun {
    #[command(flatten)]
    pub(crate) on: On,
    /// The workflow id, for its newest run, or @ and the id of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

/// List runs, newest first.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) on: On,
    /// Only runs in one of these states, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STATES")]
    pub(crate) status: Vec<Status>,
    /// Only runs of this workflow.
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Only runs whose workflow id begins like this.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Only runs that wait in this queue.
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<String>,
    /// Only children of this run.
    #[arg(long, value_name = "RUN")]
    pub(crate) parent: Option<String>,
    /// Only runs that began at this moment or later, as 2026-11-16T14:00:00Z.
    #[arg(long, value_name = "MOMENT")]
    pub(crate) from: Option<String>,
    /// Only runs that began before this moment.
    #[arg(long, value_name = "MOMENT")]
    pub(crate) before: Option<String>,
    /// Only runs with this search attribute, as KEY:VALUE; several times if need be.
    #[arg(long, value_name = "KEY:VALUE")]
    pub(crate) search: Vec<String>,
    /// Only parked runs, which no process that has tried could continue.
    #[arg(long, conflicts_with = "status")]
    pub(crate) parked: bool,
    /// Oldest first.
    #[arg(long)]
    pub(crate) oldest: bool,
    /// At most this many.
    #[arg(long, value_name = "COUNT", default_value_t = 50,
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) limit: u16,
}

/// A state that a run may be in.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Status {
    /// Running or cancelling.
    Open,
    /// Every other one.
    Closed,
    Running,
    Cancelling,
    Completed,
    Failed,
    Cancelled,
    #[value(alias = "timed-out")]
    TimedOut,
    Terminated,
    #[value(alias = "continued-as-new")]
    ContinuedAsNew,
}

/// Show one run: how it stands, what it waits for, and its history.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) at: OneRun,
    /// Go on telling what happens, until the run is closed.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Only the newest events, this many. 0 shows none.
    #[arg(long, value_name = "COUNT")]
    pub(crate) last: Option<u64>,
    /// Show payloads and failures in full.
    #[arg(long)]
    pub(crate) full: bool,
}

/// List work that should not be there at all.
///
/// There is none after any fault. Exit code 1 if there is some.
#[derive(Debug, Args)]
pub(crate) struct Orphans {
    #[command(flatten)]
    pub(crate) on: On,
}
