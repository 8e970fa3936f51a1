//! A run that is held: its code between two turns, and what it has been told.

use std::collections::BTreeMap;

use bowline_core::{Epoch, Fence, Number, Received, RunId, State, Time, TurnRecord, Version};
use bowline_replay::Replay;

use super::offer::{Offer, TakenEnds};
use crate::engine::exchange::{TurnDone, TurnLease};

/// A run that this thread holds.
pub(super) struct Cached {
    pub(super) replay: Replay,
    pub(super) fence: Fence,
    pub(super) version: Version,
    pub(super) consumed: Number,
    pub(super) record: TurnRecord,
    /// Unset while a commit is on its way: then nobody knows yet what the state will be.
    pub(super) state: Option<State>,
    /// What else will be if the commit that is on its way is done.
    pub(super) next: Option<(TurnRecord, Number)>,
    /// Messages that no turn has seen.
    pub(super) unread: BTreeMap<Number, Received>,
    /// Ends of attempts that no turn has seen.
    pub(super) offers: Vec<Offer>,
    /// Whether the commit that is on its way carries such ends.
    pub(super) carries: bool,
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
            offers: Vec::new(),
            carries: false,
            used: 0,
        }
    }

    /// Remembers messages; what a turn has seen already is not new.
    pub(super) fn receive(&mut self, inbox: Vec<Received>) {
        let seen = self.next.as_ref().map_or(self.consumed, |(_, consumed)| *consumed);
        let new = inbox.into_iter().filter(|received| received.number > seen);
        self.unread.extend(new.map(|received| (received.number, received)));
    }

    /// The newest message that is known here.
    pub(super) fn seen(&self) -> Number {
        self.unread.keys().next_back().copied().unwrap_or(self.consumed)
    }

    /// Whether it can have a turn now.
    pub(super) fn is_ready(&self) -> bool {
        self.state.is_some() && !(self.unread.is_empty() && self.offers.is_empty())
    }

    /// Whether it could have a turn if the answer to its commit were there.
    pub(super) fn is_waiting(&self) -> bool {
        self.state.is_none() && !(self.unread.is_empty() && self.offers.is_empty())
    }

    /// Whether nothing would be lost by letting go of it.
    pub(super) fn is_idle(&self) -> bool {
        self.state.is_some() && self.unread.is_empty() && self.offers.is_empty()
    }

    /// Everything that the next turn is about. Where mail is on its way, ends of attempts wait for
    /// it: they come after it.
    pub(super) fn take_news(
        &mut self,
        now: Time,
        expects_mail: bool,
    ) -> (Vec<Received>, TakenEnds) {
        let mut inbox: Vec<Received> = std::mem::take(&mut self.unread).into_values().collect();
        let last = inbox.last().map_or(self.consumed, |received| received.number);
        let taken = match expects_mail {
            true => TakenEnds::default(),
            false => TakenEnds::of(std::mem::take(&mut self.offers)),
        };
        self.carries = !taken.ended.is_empty();
        inbox.extend(taken.received(last, now));
        (inbox, taken)
    }

    /// The commit is done: what would be, is.
    pub(super) fn committed(&mut self, done: TurnDone) {
        if let Some((record, consumed)) = self.next.take() {
            self.record = record;
            self.consumed = consumed;
        }
        self.state = Some(done.state);
        self.version = done.version;
        self.receive(done.unread);
    }
}

/// The runs of one thread, the least recently used of which goes first.
#[derive(Default)]
pub(super) struct Cache {
    runs: BTreeMap<RunId, Box<Cached>>,
    /// By when they were used.
    order: BTreeMap<u64, RunId>,
    clock: u64,
}

impl Cache {
    pub(super) fn insert(&mut self, run: RunId, cached: Cached) {
        self.remove(run);
        self.runs.insert(run, Box::new(cached));
        self.touch(run);
    }

    pub(super) fn remove(&mut self, run: RunId) {
        if let Some(cached) = self.runs.remove(&run) {
            self.order.remove(&cached.used);
        }
    }

    pub(super) fn find(&mut self, run: RunId) -> Option<&mut Cached> {
        self.runs.get_mut(&run).map(|cached| &mut **cached)
    }

    /// Marks a run as just used.
    pub(super) fn touch(&mut self, run: RunId) -> Option<&mut Cached> {
        let cached = self.runs.get_mut(&run)?;
        self.clock += 1;
        self.order.remove(&cached.used);
        self.order.insert(self.clock, run);
        cached.used = self.clock;
        Some(cached)
    }

    /// The idle run that was used longest ago.
    pub(super) fn oldest(&self) -> Option<RunId> {
        let mut oldest = self.order.values();
        oldest.find(|run| self.runs.get(run).is_some_and(|cached| cached.is_idle())).copied()
    }

    /// What is held under an epoch, or an older one, goes.
    pub(super) fn forget(&mut self, epoch: Epoch) {
        let lost = self.runs.iter().filter(|(_, cached)| cached.fence.epoch <= epoch);
        let lost: Vec<RunId> = lost.map(|(run, _)| *run).collect();
        lost.into_iter().for_each(|run| self.remove(run));
    }

    pub(super) fn runs(&self) -> Vec<RunId> {
        self.runs.keys().copied().collect()
    }
}
