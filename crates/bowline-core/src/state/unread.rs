//! Signals that were acknowledged and not received. They go on with the chain if the run closes and
//! another one goes on in its place, so how much they may be is bounded: `limits::UNREAD_MAX`.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};

use crate::{EventId, Payload, Ranges, Refusal, Signal, WorkflowSignalled, limits};

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

impl UnreadSize {
    /// Whether it must be known how many bytes wait, before a signal is taken: where it is large
    /// itself, and now and then. So weighing costs little, and what slips through is little too.
    pub fn must_weigh(waiting: u64, signal: &Signal) -> bool {
        let is_large = weight(&signal.input) >= limits::UNREAD_LARGE;
        waiting > 0 && (is_large || waiting.is_multiple_of(limits::UNREAD_WEIGHED))
    }

    /// Whether one more signal may be taken, beside what is unread and what waits.
    ///
    /// # Errors
    /// If they are too many, or too large.
    pub fn admit(self, waiting: Self, signal: &Signal) -> Result<(), Refusal> {
        let count = self.count + waiting.count;
        let bytes = self.bytes + waiting.bytes + weight(&signal.input);
        match count < limits::UNREAD_MAX && bytes <= limits::UNREAD_BYTES_MAX {
            true => Ok(()),
            false => Err(Refusal::TooManyUnread(count, bytes)),
        }
    }
}
