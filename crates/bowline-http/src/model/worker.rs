//! Who works: members of the store, and workers that speak an SDK's protocol.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Moment;

/// One worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkerSummary {
    /// By which it is drained and configured.
    pub id: String,
    /// What it calls itself.
    pub identity: String,
    /// `member` for a process that has the store open, `remote` for a worker of an SDK.
    pub kind: String,
    /// True for the process that answers.
    pub here: bool,
    /// `working`, `draining`, or `silent`.
    pub state: String,
    /// When it was last heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Moment>,
    /// Its host, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its process there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Queues that it works on.
    pub queues: Vec<WorkerQueue>,
}

/// A queue at one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkerQueue {
    /// The queue.
    pub name: String,
    /// How many activities may run at once; unset where only the worker knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u64>,
    /// How many run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<u64>,
    /// How many may begin each second; unset for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<u32>,
}

/// All workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkerList {
    /// The workers, in the order of their ids.
    pub workers: Vec<WorkerSummary>,
    /// There are more than are listed.
    pub truncated: bool,
}
