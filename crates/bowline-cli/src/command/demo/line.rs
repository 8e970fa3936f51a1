//! What the demo and its worker say to each other: one JSON object per line, over the pipes.
//!
//! The worker owns the store file; whoever wants to know what is in it asks the worker, until it
//! is gone.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::workflow::Kind;

/// What the worker is asked. Each is answered by one line, but for the last.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    Start { kind: Kind, id: String },
    Cancel { id: String, reason: String, by: String },
    CancelOne { id: String, activity: String, reason: String },
    Terminate { id: String, reason: String },
    Look,
    Quit,
}

/// What the worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// The store is open, and work has begun.
    Ready,
    Started {
        run: String,
    },
    /// What was asked is durable; runs come with a receipt.
    Asked {
        receipt: Option<String>,
    },
    Seen(Vec<Seen>),
    Failed(String),
    /// Said unasked: an activity has started a process.
    Process {
        id: String,
        attempt: u32,
        pid: u32,
        group: i32,
    },
}

/// Where a run stands, as the store has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) id: String,
    pub(super) status: String,
    pub(super) is_open: bool,
    /// The activities that run now, with the number of the attempt.
    pub(super) running: Vec<(String, u32)>,
    /// For a run that nobody started but we: nothing of its tree is left.
    pub(super) is_clean: Option<bool>,
}

impl Seen {
    pub(super) fn runs(&self, activity: &str) -> bool {
        self.running.iter().any(|(name, _)| name == activity)
    }
}

/// Says a line to whoever started this process.
pub(super) fn say(said: &Said) -> io::Result<()> {
    let mut line = serde_json::to_string(said)?;
    line.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}
