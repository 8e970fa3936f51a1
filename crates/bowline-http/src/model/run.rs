//! A run: as a line of a list, and as a page of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Data, Failed, Moment, TreeRun, Why};

/// What lists show of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunSummary {
    /// The user's name for its chain.
    pub id: String,
    /// The id of this run.
    pub run: String,
    /// The workflow.
    #[serde(rename = "type")]
    pub workflow: String,
    /// Where its turns wait.
    pub queue: String,
    /// Where it stands: `running`, `cancelling`, `completed`, `failed`, `cancelled`, `timed_out`,
    /// `terminated` or `continued_as_new`. Filters are about this.
    pub status: String,
    /// The same for people: `parked` if its code cannot go on, `cancelling` as soon as its cancel
    /// is asked for.
    pub state: String,
    /// `native`, or `remote` for a run of an SDK.
    pub rules: String,
    /// When it began.
    pub started_at: Moment,
    /// When it closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Moment>,
    /// How long it took, or has taken until now.
    pub took_ms: u64,
    /// How many events its history has.
    pub events: u64,
    /// The cancel that was asked of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<CancelState>,
    /// Set while its code cannot go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<ParkedState>,
    /// The run that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRun>,
    /// Search attributes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object)]
    pub search: BTreeMap<String, Value>,
}

/// How far the cancel of one run has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CancelState {
    /// Why, and by whom: the first request.
    pub why: Why,
    /// When it was asked for.
    pub requested_at: Moment,
    /// When it stood in history; unset while nobody has read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Moment>,
}

/// Why a run's code cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ParkedState {
    /// How it failed last.
    pub reason: String,
    /// Since when.
    pub since: Moment,
    /// How often its turn has failed in a row.
    pub failures: u32,
    /// How many processes have tried and given up.
    pub tries: u32,
    /// Not before this moment is it tried by code that may be the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Moment>,
}

/// The run that started another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ParentRun {
    /// Its id.
    pub run: String,
    /// Its event that asked for the child.
    pub event: u64,
}

/// Some runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    /// The runs, newest first unless asked otherwise.
    pub runs: Vec<RunSummary>,
    /// Give this as `cursor`, with the same filter, for what follows; unset on the last page. A
    /// page may have fewer runs than were asked for, or none, and go on nevertheless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// How many runs a filter finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunCount {
    /// How many were found.
    pub count: u64,
    /// False if there are more, which were not counted.
    pub exact: bool,
}

/// Everything about a run but its history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// What lists show of it.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// What it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Data>,
    /// Who started it, as they call themselves.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub started_by: String,
    /// What the user keeps beside it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memo: BTreeMap<String, Data>,
    /// How it ended; unset while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<RunEnded>,
    /// The first run of its chain.
    pub first_run: String,
    /// Which run of its chain it is, from 1.
    pub link: u32,
    /// The run at the top of its tree.
    pub root: String,
    /// The run that goes on in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
    /// About how many bytes its history takes.
    pub history_bytes: u64,
    /// How many messages it has not read.
    pub unread: u64,
    /// Activities without an outcome, the first ones.
    pub activities: Vec<PendingActivity>,
    /// Timers that have not rung, the first ones.
    pub timers: Vec<PendingTimer>,
    /// Children that have not ended, the first ones.
    pub children: Vec<PendingChild>,
    /// How many of each there are: more than are listed, perhaps.
    pub activities_open: u64,
    /// The same of timers.
    pub timers_open: u64,
    /// The same of children.
    pub children_open: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunEnded {
    /// Its last status.
    pub status: String,
    /// What it answered, or left behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Data>,
    /// How it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failed>,
    /// Why it was cancelled or terminated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
}

/// An activity without an outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PendingActivity {
    /// Its number, by which it is cancelled.
    pub number: u64,
    /// The caller's own name for it.
    pub id: String,
    /// The activity.
    pub name: String,
    /// Where it waits.
    pub queue: String,
    /// `waiting`, `running`, `ended`, or `unknown` where its row is not written yet.
    pub state: String,
    /// The number of the newest attempt; 0 before the first.
    pub attempt: u32,
    /// Who has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// When it was scheduled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Moment>,
    /// When the newest attempt began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Moment>,
    /// When a waiting one may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Moment>,
    /// What it was called with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Data>,
    /// What its code said about its progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Data>,
    /// How the attempt before this one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Failed>,
    /// Why it is cancelled, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Why>,
    /// It outlives its run.
    pub detached: bool,
}

/// A timer that has not rung.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PendingTimer {
    /// Its number, by which it is cancelled.
    pub number: u64,
    /// The caller's own name for it.
    pub id: String,
    /// When it rings.
    pub due: Moment,
    /// In how long that is; 0 if it is past.
    pub in_ms: u64,
}

/// A child that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PendingChild {
    /// Its number, by which it is cancelled.
    pub number: u64,
    /// Its workflow id.
    pub id: String,
    /// Its first run.
    pub run: String,
    /// The workflow.
    #[serde(rename = "type")]
    pub workflow: String,
    /// It has begun.
    pub started: bool,
    /// Its cancel is decided.
    pub cancelled: bool,
    /// It outlives its parent.
    pub detached: bool,
    /// What becomes of it when its parent closes: `cancel`, `terminate` or `abandon`.
    pub on_close: String,
}

/// A run and everything below it, as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunTree {
    /// The run, with what it started below it; further ones are runs of its chain.
    pub runs: Vec<TreeRun>,
    /// Activities that wait in queues.
    pub queued: u64,
    /// Something was left out, because there was too much of it.
    pub truncated: bool,
}
