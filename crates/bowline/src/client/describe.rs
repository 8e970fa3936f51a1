//! What a run is doing, and what has happened to it.

use std::time::SystemTime;

use bowline_engine::core::{Cause, Event};

use super::{AnyRun, ClientError, RunSummary};
use crate::moment;

/// Describes a run; see [`AnyRun::describe`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// What lists show of it.
    pub summary: RunSummary,
    /// How many events its history has.
    pub events: u64,
    /// About how many bytes its history takes.
    pub history_bytes: u64,
    /// How many messages it has not read yet.
    pub unread: u64,
    /// Why it was asked to cancel, if it was.
    pub cancel: Option<Cause>,
    /// The id of the run that goes on in its place.
    pub successor: Option<String>,
}

impl Description {
    pub(crate) async fn read(run: &AnyRun) -> Result<Self, ClientError> {
        let head = run.head().await?;
        Ok(Self {
            summary: RunSummary::new(&head),
            events: head.next_event.0.saturating_sub(1),
            history_bytes: head.history_bytes,
            unread: head.inbox.0.saturating_sub(head.consumed.0),
            cancel: head.cancel.as_ref().map(|cancel| cancel.cause.clone()),
            successor: head.successor.map(|run| run.to_string()),
        })
    }
}

/// One event of a history, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryEvent {
    /// Its place, from 1.
    pub id: u64,
    /// When it happened.
    pub time: SystemTime,
    /// What happened: a stable word.
    pub kind: &'static str,
    /// What else is recorded with it.
    pub notes: Vec<String>,
}

impl HistoryEvent {
    pub(crate) fn new(event: &Event) -> Self {
        Self {
            id: event.id.0,
            time: moment(event.time),
            kind: event.kind.name(),
            notes: event.notes.iter().map(|note| format!("{note:?}")).collect(),
        }
    }
}
