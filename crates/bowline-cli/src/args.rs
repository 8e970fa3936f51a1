//! What can be said on the command line, and nothing else.

mod serve;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use serve::{LogLevel, Serve};

/// Looks after the durable workflows in a Bowline store file.
///
/// A store file belongs to one process at a time: while a program has it open, these commands
/// refuse and name that program.
///
/// Exit codes: 0 done and nothing to report, 1 done and something was found, 2 not done.
#[derive(Debug, Parser)]
#[command(name = "bowline", version)]
pub(crate) struct Args {
    /// One JSON object per line, for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a small fleet of runs on a temporary file, stop them in every way there is, kill the
    /// worker in the middle, and prove that nothing is left; exit code 1 if something is.
    Demo {
        /// Keep the store, in a new directory of this name.
        #[arg(long)]
        keep: Option<PathBuf>,
        /// Be the worker of a demo, on this file, and talk with it over the pipes.
        #[arg(long, hide = true)]
        worker: Option<PathBuf>,
    },
    /// List runs, the newest first.
    List {
        /// The store file.
        store: PathBuf,
        /// Only runs in this state.
        #[arg(long, value_enum)]
        status: Option<Status>,
        /// Only runs of this workflow.
        #[arg(long)]
        workflow: Option<String>,
        /// Only runs that nobody works on because their turn keeps failing.
        #[arg(long)]
        quarantined: bool,
        /// At most this many.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Show one run: where it stands, and its history.
    Show {
        /// The store file.
        store: PathBuf,
        /// The workflow id; its newest run is shown.
        workflow_id: String,
    },
    /// Ask a run to cancel. The request is durable at once, and is carried out, with the run's own
    /// clean-up, by the program that has its code.
    Cancel {
        /// The store file.
        store: PathBuf,
        /// The workflow id; its newest run is meant.
        workflow_id: String,
        /// Why, in words.
        #[arg(long, default_value = "")]
        reason: String,
        /// Who asks.
        #[arg(long, default_value = "bowline")]
        by: String,
    },
    /// Close a run without asking its code; nothing of it cleans up.
    Terminate {
        /// The store file.
        store: PathBuf,
        /// The workflow id; its newest run is meant.
        workflow_id: String,
        /// Why, in words.
        #[arg(long, default_value = "")]
        reason: String,
        /// Who asks.
        #[arg(long, default_value = "bowline")]
        by: String,
    },
    Serve(Serve),
    /// List work that should not be there at all; exit code 1 if there is any.
    Orphans {
        /// The store file.
        store: PathBuf,
    },
    /// Check the file from end to end; exit code 1 if anything is wrong.
    Check {
        /// The store file.
        store: PathBuf,
    },
    /// Copy the store to a new file, consistent as of one moment.
    Backup {
        /// The store file.
        store: PathBuf,
        /// The new file; an existing one is never overwritten.
        to: PathBuf,
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
