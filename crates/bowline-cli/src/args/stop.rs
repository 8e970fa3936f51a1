//! Commands that stop something, and that show how far it has come; and the one that lets parked
//! runs be tried again.

use clap::{ArgGroup, Args, ValueEnum};

use super::{On, OneRun};

/// How far to wait for a cancel.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Wait {
    /// Wait until it has come so far. Exit code 1 if it cannot, 3 if it has not.
    #[arg(long, value_enum, value_name = "PHASE")]
    pub(crate) wait: Option<Until>,
    /// Wait for so many seconds at most.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) within: Option<u64>,
}

/// How far a cancel has come. A later phase implies the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Until {
    /// It stands in the history of every run that it reaches.
    Decided,
    /// Every worker was told.
    Delivered,
    /// All code has looked.
    Observed,
    /// Nothing runs any more.
    Stopped,
    /// And nothing durable can change.
    Settled,
    /// And nothing leaked, was lost or was left.
    Clean,
}

/// Who wants a run stopped, and why.
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Why, in words.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// Who asks. [default: the user who says it]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

/// Ask a run to cancel, with everything below it.
///
/// The request is durable at once; the program that has the run's code carries it out, with the
/// run's own clean-up.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("one").args(["activity", "timer", "child"]))]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) at: OneRun,
    #[command(flatten)]
    pub(crate) request: Request,
    #[command(flatten)]
    pub(crate) wait: Wait,
    /// Terminate runs that stay open for so many seconds after they were asked.
    #[arg(long, value_name = "SECONDS", conflicts_with = "one")]
    pub(crate) terminate_after: Option<u64>,
    /// Give running activities so many seconds to stop by themselves, whatever they say.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) grace: Option<u64>,
    /// Cancel only this activity of the run, by number or by its own id; the run goes on.
    #[arg(long, value_name = "ACTIVITY", conflicts_with = "wait")]
    pub(crate) activity: Option<String>,
    /// Cancel only this timer.
    #[arg(long, value_name = "TIMER", conflicts_with = "wait")]
    pub(crate) timer: Option<String>,
    /// Cancel only this child, by number or by its workflow id.
    #[arg(long, value_name = "CHILD", conflicts_with = "wait")]
    pub(crate) child: Option<String>,
}

/// Show how far a cancel has come.
///
/// That is the tree that it hit, when each part of it was told and stopped, and what is still
/// awaited.
#[derive(Debug, Args)]
pub(crate) struct ReceiptArgs {
    #[command(flatten)]
    pub(crate) on: On,
    /// The receipt, as `cancel` and `terminate` name it.
    pub(crate) receipt: String,
    /// Watch until nothing can change any more: the tree is drawn again as it changes, or every
    /// step is a line where nobody sees it. Exit code 1 if it is not clean then.
    #[arg(long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

/// Close a run without asking its code.
///
/// No clean-up runs: prefer `cancel`.
#[derive(Debug, Args)]
pub(crate) struct Terminate {
    #[command(flatten)]
    pub(crate) at: OneRun,
    #[command(flatten)]
    pub(crate) request: Request,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

/// Let every process try parked runs again.
///
/// Also those that have tried before; processes with other code do so by themselves.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).multiple(true))]
pub(crate) struct Retry {
    #[command(flatten)]
    pub(crate) on: On,
    /// One run: the workflow id, for its newest run, or @ and the id of a run.
    #[arg(value_name = "RUN", group = "which", conflicts_with_all = ["all", "workflow", "prefix"])]
    pub(crate) run: Option<String>,
    /// Retry every parked run.
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// Retry every parked run of this workflow.
    #[arg(long, value_name = "NAME", group = "which")]
    pub(crate) workflow: Option<String>,
    /// Retry every parked run whose workflow id begins like this.
    #[arg(long, value_name = "TEXT", group = "which")]
    pub(crate) prefix: Option<String>,
}
