//! Signals that were acknowledged and not received. They go on with the chain if the run closes and
//! another one goes on in its place, so how much they may be is bounded: `limits::UNREAD_MAX`.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};

use crate::{EventId, Payload, Ranges, WorkflowSignalled};

/// The signals of a run that its code has not received.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Unread {
    /// By the events that brought them; unset if there is none.
    #[n(0)]
    letters: Option<BTreeMap<EventId, WorkflowSignalled>>,
}

impl Unread {
    pub(super) fn add(&mut self, at: EventId, signal: &WorkflowSignalled) {
        self.letters.get_or_insert_default().insert(at, signal.clone());
    }

    pub(super) fn receive(&mut self, received: &Ranges) {
        let letters = self.letters.get_or_insert_default();
        received.ids().for_each(|id| drop(letters.remove(&id)));
        if letters.is_empty() {
            self.letters = None;
        }
    }

    /// Whether the signal that an event brought waits to be received.
    pub fn contains(&self, at: EventId) -> bool {
        self.letters.as_ref().is_some_and(|letters| letters.contains_key(&at))
    }

    /// All of them, in the order of their arrival.
    pub fn signals(&self) -> impl Iterator<Item = &WorkflowSignalled> {
        self.letters.iter().flat_map(BTreeMap::values)
    }

    /// How many there are, and about how many bytes they take.
    pub fn size(&self) -> UnreadSize {
        let count = self.letters.as_ref().map_or(0, |letters| letters.len() as u64);
        UnreadSize { count, bytes: self.signals().map(|signal| weight(&signal.input)).sum() }
    }
}

/// About how many bytes a signal takes.
pub(crate) fn weight(input: &Option<Payload>) -> u64 {
    input.as_ref().map_or(0, Payload::len) as u64 + 64
}

/// How many signals wait to be received. It stands on the row of the run, so that one too many can
/// be refused before it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct UnreadSize {
    /// How many.
    #[n(0)]
    pub count: u64,
    /// About how many bytes they take.
    #[n(1)]
    pub bytes: u64,
}
