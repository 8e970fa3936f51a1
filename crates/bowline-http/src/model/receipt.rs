//! How far a cancel has come: the tree that it hit, with the time of every hop.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Moment, Why};

/// The receipt of a cancel. It is `clean` only when nothing is left running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Receipt {
    /// Its id.
    pub id: String,
    /// The run that was to be cancelled.
    pub run: String,
    /// How far it has come: `requested`, `decided`, `delivered`, `observed`, `stopped`, `settled`
    /// or `clean`. A later phase implies the earlier ones.
    pub phase: String,
    /// Every run of the tree is closed, and nothing durable can change.
    pub settled: bool,
    /// Settled, and nothing leaked, was lost or was left.
    pub clean: bool,
    /// Why, and by whom.
    pub why: Why,
    /// When it was asked for.
    pub requested_at: Moment,
    /// How long ago that is.
    pub age_ms: u64,
    /// Until when the receipt is kept.
    pub keep_until: Moment,
    /// How long after the request the last thing stopped or closed, once it is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// The target, with what it started below it; further ones are runs of its chain.
    pub tree: Vec<TreeRun>,
    /// Runs in the tree.
    pub runs: u64,
    /// Activities in the tree.
    pub activities: u64,
    /// Of these, so many run.
    pub running: u64,
    /// Cancelled activities that no worker ever had.
    pub never_started: u64,
    /// Activities that wait in queues.
    pub queued: u64,
    /// What keeps it from being clean.
    pub awaited: Vec<Awaited>,
    /// Something was left out of the tree, because there was too much of it.
    pub truncated: bool,
}

/// When each hop of a cancel was taken, counted from its request. A hop that an earlier request had
/// taken already counts as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Hops {
    /// It was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_ms: Option<f64>,
    /// Its worker was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_ms: Option<f64>,
    /// Its code looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_ms: Option<f64>,
    /// Nothing of it ran any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ms: Option<f64>,
    /// Its run was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_ms: Option<f64>,
}

/// One run of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TreeRun {
    /// Its workflow id.
    pub id: String,
    /// The id of the run.
    pub run: String,
    /// The workflow.
    #[serde(rename = "type")]
    pub workflow: String,
    /// Where it stands.
    pub status: String,
    /// The run that started it, if it has a parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Why it was asked to cancel; unset if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// When.
    pub hops: Hops,
    /// It was left alone when its parent closed.
    pub left_alone: bool,
    /// What became of it, in words.
    pub words: String,
    /// Its activities that a worker has, and cancelled ones that one had.
    pub activities: Vec<TreeActivity>,
    /// The runs that it started, and the run that goes on in its place.
    #[schema(no_recursion)]
    pub children: Vec<Self>,
}

/// One activity of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TreeActivity {
    /// Its run.
    pub run: String,
    /// Its number.
    pub number: u64,
    /// The activity.
    pub name: String,
    /// Which attempt.
    pub attempt: u32,
    /// A worker has it now.
    pub running: bool,
    /// Why it was cancelled; unset if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// When.
    pub hops: Hops,
    /// How far it had to be pushed: `signal`, `abort`, `kill`, `abandon`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<String>,
    /// How it ended: `completed`, `failed`, `timed_out` or `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// What became of it, in words.
    pub words: String,
    /// Its worker has no control channel: word of a cancel waits for its next heartbeat.
    pub deaf: bool,
    /// The code of an attempt is known to run on.
    pub leaked: bool,
    /// The worker of an attempt went silent, and nobody saw its code end.
    pub lost: bool,
    /// It succeeded, but too late.
    pub late: bool,
    /// Attempts of it that are over for the run, and that nobody saw end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<UnseenLine>,
}

/// An attempt that nobody saw end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnseenLine {
    /// Which attempt.
    pub attempt: u32,
    /// Who had it.
    pub worker: String,
    /// Since when nothing more is known of it.
    pub since: Moment,
    /// `leaked`, `lost` or `gone`.
    pub state: String,
    /// The same in words.
    pub words: String,
}

/// Something that keeps a tree from being clean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Awaited {
    /// `open` (a run), `running`, `queued`, `unswept`, `leaked`, `lost` or `left`.
    pub kind: String,
    /// Its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The workflow id of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The number of an activity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The workflow or activity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many, where they are only counted.
    pub count: u64,
    /// The same in words.
    pub words: String,
}

/// Whatever should not be there at all; empty after any fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OrphanList {
    /// Runs that outlived a parent which wanted them told.
    pub runs: Vec<TreeRun>,
    /// Work of closed runs that nobody has told to stop.
    pub activities: Vec<TreeActivity>,
    /// How many of both there are here.
    pub count: u64,
    /// There are more.
    pub truncated: bool,
}
