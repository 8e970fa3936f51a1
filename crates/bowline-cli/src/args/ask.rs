//! Commands that start runs, and that ask something of their code.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{On, OneRun};

/// A value that is sent: JSON, on the command line or in a file.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Given {
    /// What it is given, as JSON: '{"item": "rope"}', 42, '"a text"'.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// The same from a file, or from standard input if it is `-`.
    #[arg(long, value_name = "FILE")]
    pub(crate) input_file: Option<PathBuf>,
}

/// Start a run.
///
/// It is durable at once; a program that has its code takes it up.
#[derive(Debug, Args)]
pub(crate) struct Start {
    #[command(flatten)]
    pub(crate) on: On,
    /// The workflow.
    pub(crate) workflow: String,
    /// The workflow id: your name for the run.
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) given: Given,
    /// The queue that its turns wait in.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) queue: String,
    /// If a run of that id is open.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "refuse")]
    pub(crate) if_open: IfOpen,
    /// If the last run of that id is closed.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "start")]
    pub(crate) if_closed: IfClosed,
    /// Who asks. [default: the user who says it]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

/// What a start does if a run of its id is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfOpen {
    /// Nothing is started.
    Refuse,
    /// That run serves.
    Use,
    /// That run is terminated, and a new one takes its place.
    Replace,
}

/// What a start does if the last run of its id is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfClosed {
    /// A new run begins.
    Start,
    /// A new run begins unless that one completed.
    UnlessCompleted,
    /// Nothing is started.
    Refuse,
}

/// Send a signal to a run.
///
/// It is durable at once.
#[derive(Debug, Args)]
pub(crate) struct SignalArgs {
    #[command(flatten)]
    pub(crate) at: OneRun,
    /// Which signal.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) given: Given,
    /// Who asks. [default: the user who says it]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

/// Ask a run's code for something that does not change it.
///
/// Only a process that has the code can answer.
#[derive(Debug, Args)]
pub(crate) struct Query {
    #[command(flatten)]
    pub(crate) at: OneRun,
    /// Which query.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) given: Given,
}

/// Ask a run's code for something that changes it, and wait for the answer.
///
/// The request is durable at once. Exit code 1 if the code refuses or fails, 3 if it has not
/// answered.
#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    pub(crate) at: OneRun,
    /// Which update.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) given: Given,
    /// Names the update: ask again under this name to get the same answer.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Wait for the answer for so many seconds, 60 at most. 0 only asks.
    #[arg(long, value_name = "SECONDS", default_value_t = 20,
          value_parser = clap::value_parser!(u64).range(0..=60))]
    pub(crate) within: u64,
    /// Who asks. [default: the user who says it]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}
