//! What can be said on the command line, and nothing else.

mod place;
mod serve;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use place::Place;
pub(crate) use serve::{Http, LogLevel, Options, Payloads, Serve};

/// Serves durable workflows, and looks after them in their store.
///
/// A store is a file, or a Postgres database given as postgres://user@host/database. A file belongs
/// to one process at a time: while a program has it open, these commands refuse and name that
/// program. A database may be open in many processes, these commands included.
///
/// Exit codes: 0 done and nothing to report, 1 done and something was found, 2 not done.
#[derive(Debug, Parser)]
#[command(name = "bowline", version)]
pub(crate) struct Args {
    /// Print one JSON object per line, for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The schema that the tables of a database are in. [default: bowline]
    #[arg(long, global = true, env = "BOWLINE_SCHEMA", value_name = "NAME")]
    pub(crate) schema: Option<String>,
    /// A file with the password of a database, and nothing else. PGPASSWORD may have it too.
    #[arg(long, global = true, env = "BOWLINE_PASSWORD_FILE", value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a small fleet of runs on a temporary file, stop them in every way there is, kill the
    /// worker in the middle, and prove that nothing is left. Exit code 1 if something is.
    Demo {
        /// Keep the store, in a new directory of this name.
        #[arg(long)]
        keep: Option<PathBuf>,
        /// Be the worker of a demo, on this file, and talk with it over the pipes.
        #[arg(long, hide = true)]
        worker: Option<PathBuf>,
    },
    /// List runs, newest first.
    List {
        /// The store: a file, or postgres://user@host/database.
        store: Place,
        /// Show only runs with this status.
        #[arg(long, value_enum)]
        status: Option<Status>,
        /// Show only runs of this workflow.
        #[arg(long)]
        workflow: Option<String>,
        /// Show only parked runs, which no process that has tried could continue.
        #[arg(long)]
        parked: bool,
        /// Show at most this many.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Show one run: its status and its history.
    Show {
        /// The store: a file, or postgres://user@host/database.
        store: Place,
        /// The workflow id; shows its newest run.
        workflow_id: String,
    },
    /// Ask a run to cancel. The request is durable at once; the program that has the run's code
    /// carries it out, with the run's own clean-up.
    Cancel {
        /// The store: a file, or postgres://user@host/database.
        store: Place,
        /// The workflow id; cancels its newest run.
        workflow_id: String,
        /// Why, in words.
        #[arg(long, default_value = "")]
        reason: String,
        /// Who asks.
        #[arg(long, default_value = "bowline")]
        by: String,
    },
    /// Let every process try parked runs again, also those that have tried before. Processes with
    /// other code do so by themselves.
    #[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
    Retry {
        /// The store: a file, or postgres://user@host/database.
        store: Place,
        /// The workflow id; retries its newest run.
        #[arg(group = "which", conflicts_with_all = ["all", "workflow", "prefix"])]
        workflow_id: Option<String>,
        /// Retry every parked run.
        #[arg(long, group = "which")]
        all: bool,
        /// Retry every parked run of this workflow.
        #[arg(long, group = "which")]
        workflow: Option<String>,
        /// Retry every parked run whose workflow id begins like this.
        #[arg(long, group = "which")]
        prefix: Option<String>,
    },
    /// Close a run without asking its code; no clean-up runs.
    Terminate {
        /// The store: a file, or postgres://user@host/database.
        store: Place,
        /// The workflow id; terminates its newest run.
        workflow_id: String,
        /// Why, in words.
        #[arg(long, default_value = "")]
        reason: String,
        /// Who asks.
        #[arg(long, default_value = "bowline")]
        by: String,
    },
    Serve(Box<Serve>),
    /// Say what is known of a process that has a database open.
    #[command(subcommand)]
    Member(Member),
    /// Make, list and revoke the API keys of `bowline serve --keys`.
    #[command(subcommand)]
    Key(Key),
    /// List work that should not be there at all. Exit code 1 if there is any.
    Orphans {
        /// The store: a file, or postgres://user@host/database.
        store: Place,
    },
    /// Check a store file from end to end. Exit code 1 if anything is wrong. A database checks
    /// itself.
    Check {
        /// The store: a file.
        store: Place,
    },
    /// Copy a store file to a new one, consistent as of one moment. Copy a database with its own
    /// tools, such as pg_dump.
    Backup {
        /// The store: a file.
        store: Place,
        /// The new file; an existing one is never overwritten.
        to: PathBuf,
    },
}

/// What may be said of a process.
#[derive(Debug, Subcommand)]
pub(crate) enum Member {
    /// A process that fell silent is gone, and will not come back: its host was taken away, or
    /// somebody has ended it. What it ran counts as over, and receipts name who said so.
    #[command(group = clap::ArgGroup::new("whom").required(true))]
    Gone {
        /// The store: postgres://user@host/database.
        store: Place,
        /// What it calls itself, as receipts name it.
        #[arg(long, group = "whom")]
        identity: Option<String>,
        /// Every process of this host.
        #[arg(long, group = "whom")]
        host: Option<String>,
        /// Who says so.
        #[arg(long)]
        by: String,
        /// How that is known, in words.
        #[arg(long, default_value = "")]
        reason: String,
    },
}

/// What may be done with API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key, and print it. It is printed once: the file has only its hash. A running server
    /// knows it at once.
    New {
        /// The file with the keys; made if it is missing.
        #[arg(long, env = "BOWLINE_KEYS", value_name = "FILE")]
        keys: PathBuf,
        /// Whose key it is, as causes and the audit log will name it. A name may have two live
        /// keys: the one in use, and the one that takes its place.
        name: String,
        /// What it may do, as NAMESPACE:ROLE, several times if need be. Roles are read, worker,
        /// write (all but administer) and admin, or single rights: start, signal, work, cancel,
        /// cancel_others, terminate, bulk, delete, administer. `*` is every namespace.
        #[arg(long = "allow", required = true, value_name = "NAMESPACE:ROLE")]
        allow: Vec<String>,
        /// After how many days it expires. Without it, it does not.
        #[arg(long, value_name = "DAYS")]
        days: Option<u32>,
    },
    /// List the keys of a file, without their secrets.
    List {
        /// The file with the keys.
        #[arg(long, env = "BOWLINE_KEYS", value_name = "FILE")]
        keys: PathBuf,
    },
    /// Forget a key. A running server refuses it at once.
    Revoke {
        /// The file with the keys.
        #[arg(long, env = "BOWLINE_KEYS", value_name = "FILE")]
        keys: PathBuf,
        /// The id of the key, as `list` shows it: what stands between bwl_ and the next _.
        id: String,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Status {
    Running,
    Cancelling,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
    Terminated,
    ContinuedAsNew,
}
