//! What is asked, and what a request met.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Data, Failed};

/// Starts a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartBody {
    /// The workflow.
    #[serde(rename = "type")]
    pub workflow: String,
    /// The workflow id.
    pub id: String,
    /// Where its turns wait.
    pub queue: String,
    /// What it is started with: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<Value>,
    /// `native` or `remote`; unset for what this process usually has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// Search attributes: texts, numbers, booleans, lists of texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object)]
    pub search: BTreeMap<String, Value>,
    /// What to keep beside it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object)]
    pub memo: BTreeMap<String, Value>,
    /// What happens if a run of that id is open: `refuse` (usually), `use_existing` or
    /// `terminate_existing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<String>,
    /// Whether the id may be used again after a run of it closed: `allow` (usually),
    /// `allow_unless_completed` or `refuse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<String>,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_timeout_ms: Option<u64>,
    /// Who asks, where nobody is logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The run that serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartedRun {
    /// The workflow id.
    pub id: String,
    /// The run.
    pub run: String,
    /// `started`, or `again` if it was there already.
    pub met: String,
}

/// Sends a signal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalBody {
    /// Which.
    pub name: String,
    /// What it carries: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<Value>,
    /// Who asks, where nobody is logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The run that has the signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Signalled {
    /// The run.
    pub run: String,
}

/// Asks a run's code for something that does not change it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryBody {
    /// Which.
    pub name: String,
    /// What it carries: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<Value>,
}

/// What the code answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueryAnswered {
    /// The run that answered.
    pub run: String,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Data>,
}

/// Asks a run's code for something that changes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateBody {
    /// Which.
    pub name: String,
    /// What it carries: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<Value>,
    /// Names the update, so that it counts once; the `Idempotency-Key` does the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
    /// How long to wait for the answer: 20 seconds, unless said otherwise; a minute at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
    /// Who asks, where nobody is logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// How far an update has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdateAnswered {
    /// The run that has it.
    pub run: String,
    /// By which it can be asked for again.
    pub update: String,
    /// `asked` (nobody has looked yet), `accepted`, `rejected`, `completed`, `failed` or
    /// `unanswered` (the run closed before it was answered).
    pub stage: String,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Data>,
    /// Why it was refused, or how it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failed>,
}

/// Asks a run to cancel, with everything below it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelBody {
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Runs that stay open for so long after they were asked are terminated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminate_after_ms: Option<u64>,
    /// How running activities are stopped, whatever they say themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<LadderBody>,
    /// Who asks, where nobody is logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What is done to an activity that was told to stop and does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LadderBody {
    /// How long it has after it was told; 10 seconds, unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// How long each further rung has; 5 seconds, unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ms: Option<u64>,
    /// Neither abort nor kill it: after the grace period it is given up.
    #[serde(default)]
    pub detach: bool,
}

/// What a request met. All of them are a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    /// It is open, and is asked.
    Asked,
    /// It was asked before: the first cause stays, and it may be pushed harder.
    Again,
    /// It was over already.
    Over,
    /// Its run was closed, and it went with that.
    Closed,
}

/// A cancel, termination or deletion that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Asked {
    /// The workflow id.
    pub id: String,
    /// The run.
    pub run: String,
    /// The receipt, by which its end can be waited for; unset where nothing was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// What the request met.
    pub met: Met,
    /// Where the run stood then.
    pub status: String,
}

/// Closes a run without asking its code, or deletes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TerminateBody {
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Who asks, where nobody is logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Cancels one activity, timer or child.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelOneBody {
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How it is stopped, whatever it says itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<LadderBody>,
    /// Who asks, where nobody is logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelledTarget {
    /// The run.
    pub run: String,
    /// Its number.
    pub number: u64,
    /// What the request met.
    pub met: Met,
}

/// Which runs. What is unset does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunFilter {
    /// Of this workflow.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Waiting in this queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// In one of these states; `open`, `closed` and `parked` are words too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<String>,
    /// With this workflow id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// With a workflow id that begins so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_prefix: Option<String>,
    /// Children of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Begun at this moment or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_from: Option<String>,
    /// Begun before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_before: Option<String>,
    /// With these search attributes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object)]
    pub search: BTreeMap<String, Value>,
}

/// Lets parked runs be tried again, all that a filter finds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryAllBody {
    /// Which ones.
    #[serde(default)]
    pub filter: RunFilter,
}

/// How many runs are tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Retried {
    /// So many were parked.
    pub retried: u64,
}

/// Says that a worker shall take no more work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainBody {
    /// How long what it has may take; 30 seconds, unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Who asks, where nobody is logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Changes how much a worker does at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigureBody {
    /// Of which queue.
    pub queue: String,
    /// How many activities may run at once.
    pub slots: u64,
    /// How many may begin each second; unset for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<u32>,
    /// Who asks, where nobody is logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Says that processes are gone which had fallen silent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GoneBody {
    /// All that call themselves so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// All of this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Who says so, where nobody is logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A member of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoneMember {
    /// Which opening of the store it is.
    pub epoch: u64,
    /// What it calls itself.
    pub identity: String,
}

/// What was found under that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GoneMembers {
    /// These had fallen silent, and count as gone now.
    pub gone: Vec<GoneMember>,
    /// These are in touch, so nobody is believed who says that they are gone.
    pub alive: Vec<GoneMember>,
}
