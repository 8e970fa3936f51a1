//! What the code of a workflow says about itself while it is replayed. A turn that was not written
//! has said something that never happened, so whoever wants to know replays what was written.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::EventId;
use parking_lot::Mutex;

/// What the code of one run has said.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Said>);

/// The same, to be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// Signals that it has received.
    pub(crate) received: BTreeSet<u64>,
    /// Activities that were scheduled inside of a scope that refunds.
    pub(crate) inside: BTreeMap<EventId, u32>,
    /// What the clean-up of a scope was told to have completed.
    pub(crate) refunds: BTreeMap<u32, BTreeSet<EventId>>,
    /// It wants to go on as a new run.
    pub(crate) continues: bool,
    /// Parts that have waited for somebody outside, and may still do.
    pub(crate) awaits: BTreeSet<u32>,
    /// Scopes whose bodies have succeeded.
    pub(crate) succeeded: BTreeSet<u32>,
    /// Parts that wait for something outside of history.
    pub(crate) foreign: BTreeSet<u32>,
    /// Calls that were given the answer to another one.
    pub(crate) swapped: BTreeSet<u32>,
    /// Scopes that had a value, and ended by their deadline.
    pub(crate) robbed: BTreeSet<u32>,
}

impl Notes {
    pub(super) fn say<T>(&self, say: impl FnOnce(&mut Said) -> T) -> T {
        say(&mut self.0.lock())
    }

    pub(crate) fn said(&self) -> Said {
        self.0.lock().clone()
    }
}
