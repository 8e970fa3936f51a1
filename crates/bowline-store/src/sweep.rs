//! What happens by itself: alarms, and the work that decisions left for later.

use std::time::Duration;

use bowline_core::{Epoch, Namespace, RunId, Time};

use crate::AttemptHit;

/// What rang.
#[derive(Clone, Debug, Default)]
pub struct Fired {
    /// How many alarms.
    pub rang: usize,
    /// Runs that got a message.
    pub runs: Vec<RunId>,
    /// Remote attempts that passed a limit, and should be told to stop.
    pub hits: Vec<AttemptHit>,
    /// When the next alarm rings, or a retry that waits becomes due: look again then.
    pub next: Option<Time>,
}

/// Do some of the work that was left.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Who sweeps.
    pub epoch: Epoch,
    /// Now.
    pub now: Time,
    /// At most this many rows.
    pub limit: usize,
    /// How long closed runs of these namespaces are kept; those of others are kept for ever.
    pub retention: Vec<(Namespace, Duration)>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many rows were touched.
    pub rows: usize,
    /// Whether some work is left.
    pub more: bool,
    /// When the next receipt expires; what it kept may go then.
    pub next: Option<Time>,
}
