//! The end of an attempt.

use bowline_core::{Ending, EventId, Number, RunId, Rung, Step, Time};

use crate::Proof;

/// What is reported about an attempt.
#[derive(Clone, Debug)]
pub struct Settle {
    /// Its run.
    pub run: RunId,
    /// Its activity.
    pub activity: EventId,
    /// Which attempt.
    pub attempt: u32,
    /// That the reporter is the one who has it.
    pub proof: Proof,
    /// What became of it.
    pub ending: Ending,
    /// How far it had to be pushed.
    pub rung: Option<Rung>,
    /// When word of a cancel reached the worker, if it did.
    pub delivered_at: Option<Time>,
    /// When the running code looked, if it did.
    pub observed_at: Option<Time>,
    /// Now.
    pub now: Time,
}

/// What came of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// What it did to the row.
    pub step: Step,
    /// The message that its run got.
    pub message: Option<Number>,
}
