//! A run that is held: its code between two turns, and what it has been told.

use std::collections::BTreeMap;

use bowline_core::{Fence, Number, Received, RunId, State, TurnRecord, Version};
use bowline_replay::Replay;

use crate::engine::desk::{TurnDone, TurnLease};

/// A run that this thread holds.
pub(super) struct Cached {
    pub(super) replay: Replay,
    pub(super) fence: Fence,
    pub(super) version: Version,
    pub(super) consumed: Number,
    pub(super) record: TurnRecord,
    /// Unset while a commit is on its way: then nobody knows yet what the state will be.
    pub(super) state: Option<State>,
    /// What the state will be if the commit that is on its way is done.
    pub(super) next: Option<(State, TurnRecord, Number)>,
    /// Messages that no turn has seen.
    pub(super) unread: BTreeMap<Number, Received>,
    /// When it was last used, by the thread's own count.
    pub(super) used: u64,
}

impl Cached {
    pub(super) fn new(replay: Replay, state: State, lease: &TurnLease) -> Self {
        Self {
            replay,
            fence: lease.fence,
            version: lease.version,
            consumed: lease.consumed,
            record: lease.record.clone(),
            state: Some(state),
            next: None,
            unread: BTreeMap::new(),
            used: 0,
        }
    }

    /// Remembers messages; what a turn has seen already is not new.
    pub(super) fn receive(&mut self, inbox: Vec<Received>) {
        let seen = self.next.as_ref().map_or(self.consumed, |(_, _, consumed)| *consumed);
        let new = inbox.into_iter().filter(|received| received.number > seen);
        self.unread.extend(new.map(|received| (received.number, received)));
    }

    /// Whether it can have a turn now.
    pub(super) fn is_ready(&self) -> bool {
        self.state.is_some() && !self.unread.is_empty()
    }

    /// Whether nothing would be lost by letting go of it.
    pub(super) fn is_idle(&self) -> bool {
        self.state.is_some() && self.unread.is_empty()
    }

    /// The commit is done: what would be, is.
    pub(super) fn committed(&mut self, done: TurnDone) {
        if let Some((state, record, consumed)) = self.next.take() {
            self.state = Some(state);
            self.record = record;
            self.consumed = consumed;
        }
        self.version = done.version;
        self.receive(done.unread);
    }
}

/// The runs of one thread, the least recently used of which goes first.
#[derive(Default)]
pub(super) struct Cache {
    pub(super) runs: BTreeMap<RunId, Cached>,
    clock: u64,
}

impl Cache {
    /// Marks a run as just used.
    pub(super) fn touch(&mut self, run: RunId) -> Option<&mut Cached> {
        self.clock += 1;
        let cached = self.runs.get_mut(&run)?;
        cached.used = self.clock;
        Some(cached)
    }

    /// The idle run that was used longest ago.
    pub(super) fn oldest(&self) -> Option<RunId> {
        let idle = self.runs.iter().filter(|(_, cached)| cached.is_idle());
        idle.min_by_key(|(_, cached)| cached.used).map(|(run, _)| *run)
    }
}
