//! What a remote worker is handed with a turn or an activity, and must show with its answer.
//!
//! Made of stable parts, so that a notice about an attempt can be made again from the row alone.

use minicbor::{Decode, Encode};

use crate::{
    Blob, EventId, RunId,
    codec::{self, Corrupt},
};

/// Names one attempt of one activity, or of one turn, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Token {
    /// The run.
    #[n(0)]
    pub run: RunId,
    /// The activity's number, or the id of the turn's `TurnScheduled`.
    #[n(1)]
    pub scheduled: EventId,
    /// The attempt, from 1.
    #[n(2)]
    pub attempt: u32,
    /// The id of the turn's `TurnStarted`; 0 for an activity.
    #[n(3)]
    pub started: EventId,
    /// The how-manyth turn of the run that was handed out; 0 for an activity. The ids of a turn
    /// that leaves no trace are used again, this is not.
    #[n(4)]
    pub serial: u64,
}

impl Token {
    /// Names an attempt of an activity.
    pub fn activity(run: RunId, activity: EventId, attempt: u32) -> Self {
        Self { run, scheduled: activity, attempt, started: EventId(0), serial: 0 }
    }

    /// The bytes that are handed out.
    pub fn to_blob(self) -> Blob {
        Blob::from(codec::encode(&self))
    }

    /// Reads what a worker shows.
    ///
    /// # Errors
    /// If these are not bytes that were handed out.
    pub fn from_blob(bytes: &[u8]) -> Result<Self, Corrupt> {
        codec::decode(bytes)
    }
}
