//! What happens by itself: alarms, and the work that decisions left for later.

use std::time::Duration;

use bowline_core::{Epoch, Namespace, RunId, Time};

use crate::{AttemptHit, SilentMember};

/// What rang.
#[derive(Clone, Debug, Default)]
pub struct Fired {
    /// How many alarms.
    pub rang: usize,
    /// Runs that got a message.
    pub runs: Vec<RunId>,
    /// Remote attempts that passed a limit, and should be told to stop.
    pub hits: Vec<AttemptHit>,
    /// Runs that were set aside, because something of them does not read.
    pub damaged: Vec<DamagedRun>,
    /// When the next alarm rings, or a retry that waits becomes due: look again then.
    pub next: Option<Time>,
}

/// A run was set aside, so that nobody else waits for it: bytes of it do not read. It is
/// parked, if its own row reads. Alarms of it are looked at again after an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRun {
    /// Which run.
    pub run: RunId,
    /// What is wrong with it.
    pub reason: String,
}

impl DamagedRun {
    /// How long it takes until an alarm is looked at again that could not be rung.
    pub const PAUSE: Duration = Duration::from_secs(3_600);
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
    /// Attempts whose workers have been silent since then are presumed dead; unset, nobody is.
    pub presume: Option<Time>,
}

impl Sweep {
    /// Whether a run that closed then has been kept for long enough.
    pub fn is_past(&self, run: RunId, closed: Time) -> bool {
        let own = self.retention.iter().find(|(space, _)| *space == run.namespace);
        own.is_some_and(|(_, kept)| closed.after(*kept) <= self.now)
    }
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many rows were touched.
    pub rows: usize,
    /// Whether some work is left.
    pub more: bool,
    /// Runs that were set aside, because something of them does not read.
    pub damaged: Vec<DamagedRun>,
    /// When the next receipt expires; what it kept may go then.
    pub next: Option<Time>,
    /// Members of which nobody has seen the end: some of them, if there are many.
    pub silent: Vec<SilentMember>,
    /// Since when the oldest attempt has been silent that is not presumed dead.
    pub silent_since: Option<Time>,
}
