//! Queues and namespaces, and how the process is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Moment;

/// A queue, and what waits there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueueSummary {
    /// Its name.
    pub name: String,
    /// Runs that wait for a turn.
    pub turns_waiting: u64,
    /// Since when the oldest of them waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_oldest: Option<Moment>,
    /// Activities that wait and may begin.
    pub activities_waiting: u64,
    /// Since when the oldest of them waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activities_oldest: Option<Moment>,
    /// Activities that workers have.
    pub activities_running: u64,
    /// Slots of the members that work on it, all together; 0 if none does.
    pub slots: u64,
    /// Who works on it.
    pub workers: Vec<String>,
}

/// All queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueueList {
    /// The queues, in the order of their names.
    pub queues: Vec<QueueSummary>,
    /// There are more than are listed.
    pub truncated: bool,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamespaceSummary {
    /// Its name.
    pub name: String,
    /// How long closed runs are kept; unset for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_ms: Option<u64>,
    /// True for the one that native code of this process lives in.
    pub own: bool,
}

/// All namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamespaceList {
    /// The namespaces, in the order of their names.
    pub namespaces: Vec<NamespaceSummary>,
}

/// How the process is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok`, `ready`, or why not.
    pub state: String,
    /// Which Bowline answers.
    pub version: String,
}
