//! What has happened to a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Data, Failed, Moment, Why};

/// One event of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HistoryEvent {
    /// Its place, from 1.
    pub id: u64,
    /// When it happened.
    pub time: Moment,
    /// How long after the run's beginning.
    pub since_start_ms: u64,
    /// What happened: a stable word, as `ActivityScheduled`.
    pub kind: String,
    /// The same in a sentence.
    pub words: String,
    /// The number of the activity, timer or child that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// What that is called: the name of an activity, of a signal, of a child's workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Which attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What it carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// How it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failed>,
    /// Why it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// Another run that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_run: Option<String>,
    /// What else is recorded with it, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What else there is to know, by kind.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[schema(value_type = Object)]
    pub more: Value,
}

/// Some of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HistoryList {
    /// The run whose it is.
    pub run: String,
    /// Events, in the order that was asked for.
    pub events: Vec<HistoryEvent>,
    /// How many there are in all.
    pub total: u64,
    /// True while there may be more.
    pub open: bool,
    /// Give this as `from` for what follows; unset on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}
