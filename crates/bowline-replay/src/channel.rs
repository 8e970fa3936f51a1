//! What is sent to a run from outside: signals, and updates that want an answer.
//!
//! Whatever arrives is kept until somebody receives it. History bounds how much that can be.

mod signal;
mod update;

use std::{
    collections::{BTreeMap, VecDeque},
    task::Waker,
};

use bowline_core::EventId;

pub use signal::{Recv, Signals};
pub use update::{Offer, Offered, Request, Requested, Updates};

/// What has arrived under one name, and who waits for it.
pub(crate) struct Mailbox<T> {
    /// Each with the event that brought it.
    letters: VecDeque<(EventId, T)>,
    waiting: BTreeMap<u64, Waker>,
    next_place: u64,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self { letters: VecDeque::new(), waiting: BTreeMap::new(), next_place: 0 }
    }
}

impl<T> Mailbox<T> {
    /// Something arrived: whoever waits is to be woken.
    pub(crate) fn put(&mut self, at: EventId, letter: T) -> impl Iterator<Item = Waker> {
        self.letters.push_back((at, letter));
        std::mem::take(&mut self.waiting).into_values()
    }

    /// The oldest letter; if there is none, the place under which the waker was left.
    fn take(&mut self, place: Option<u64>, waker: &Waker) -> Result<(EventId, T), u64> {
        if let Some(place) = place {
            self.waiting.remove(&place);
        }
        self.pop().ok_or_else(|| {
            let place = place.unwrap_or(self.next_place);
            self.next_place = self.next_place.max(place + 1);
            self.waiting.insert(place, waker.clone());
            place
        })
    }

    /// The oldest letter, if there is one, and the event that brought it.
    fn pop(&mut self) -> Option<(EventId, T)> {
        self.letters.pop_front()
    }

    /// Whether somebody waits for the next letter.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Somebody does not wait any longer.
    fn leave(&mut self, place: u64) {
        self.waiting.remove(&place);
    }
}
