//! Lists of runs.

use bowline_core::{Name, Namespace, Queue, RunId, SearchValue, Status, Time, WorkflowId};

use crate::Head;

/// Which runs to list. What is unset or empty does not restrict.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// In which namespace.
    pub namespace: Namespace,
    /// In one of these states.
    pub statuses: Vec<Status>,
    /// Of this workflow.
    pub name: Option<Name>,
    /// With this workflow id.
    pub workflow_id: Option<WorkflowId>,
    /// With a workflow id that begins so.
    pub workflow_id_prefix: Option<String>,
    /// Waiting in this queue.
    pub queue: Option<Queue>,
    /// Children of this run.
    pub parent: Option<RunId>,
    /// Begun at this moment or later.
    pub started_from: Option<Time>,
    /// Begun before this moment.
    pub started_before: Option<Time>,
    /// In quarantine, or not.
    pub quarantined: Option<bool>,
    /// With these search attributes.
    pub search: Vec<(String, SearchValue)>,
    /// In which order.
    pub order: Order,
    /// After this run of the page before.
    pub after: Option<(Time, RunId)>,
    /// At most this many.
    pub limit: usize,
}

/// By the moment of beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

/// Some of the runs.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Their heads.
    pub runs: Vec<Head>,
    /// Where the next page begins; unset on the last one.
    pub next: Option<(Time, RunId)>,
}
