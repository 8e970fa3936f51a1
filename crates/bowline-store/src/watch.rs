//! Hints: that something may have happened, so that nobody has to poll.
//!
//! A hint is never needed for correctness. The mailbox keeps each distinct hint once, and gives
//! up detail instead of growing: past its bound it only says that everything should be looked at.

use std::{
    collections::BTreeSet,
    fmt,
    future::poll_fn,
    sync::{Arc, Weak},
    task::{Poll, Waker},
};

use bowline_core::{AskId, Namespace, Queue, RunId, Time};
use parking_lot::Mutex;

/// How many distinct hints a mailbox keeps.
const HINTS_MAX: usize = 10_000;

/// Something may have happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Hint {
    /// Anything: look everywhere.
    Everything,
    /// A held native run has unread messages.
    Inbox(RunId),
    /// A native run that nobody holds has unread messages, in this queue.
    Turn(Namespace, Queue),
    /// A remote run's turn waits for a worker, in this queue.
    RemoteTurn(Namespace, Queue),
    /// A remote run has unread messages.
    Intake(Namespace),
    /// An activity waits in this queue.
    Activity(Namespace, Queue),
    /// An alarm rings at this moment, perhaps earlier than all others.
    Alarm(Time),
    /// An attempt in a worker's hands was cancelled: renew, to learn which.
    Cancelled,
    /// Rows wait to be swept.
    Sweep,
    /// A question waits.
    Asked,
    /// A question was answered.
    Answered(AskId),
    /// A run changed: whoever follows it may look.
    Changed(RunId),
    /// A run closed, was parked or taken up again, or is forgotten: whoever waits for its
    /// end may look. Told beside [`Changed`](Self::Changed).
    Closed(RunId),
    /// A member could not go on with a run, or has let go of one that is parked: others may try.
    Parked(RunId),
    /// Another member has said something.
    Broadcast(Broadcast),
}

/// What a member says to all others: short, in the engine's own words, and as good as a hint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Broadcast(Vec<u8>);

impl Broadcast {
    /// How long a word may be.
    pub const MAX: usize = 2_560;

    /// A word; none if it is too long for one.
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() <= Self::MAX).then_some(Self(bytes))
    }

    /// What was said.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// One listener's mailbox.
#[derive(Debug, Default)]
pub struct Hints(Arc<Mutex<Mailbox>>);

#[derive(Default)]
struct Mailbox {
    hints: BTreeSet<Hint>,
    waker: Option<Waker>,
    /// What the listener wants to hear of; everything, if unset.
    heeds: Option<Heeds>,
}

/// Whether a hint is worth telling.
type Heeds = Box<dyn Fn(&Hint) -> bool + Send + Sync>;

impl Mailbox {
    /// Keeps hints, and says who must be woken for them.
    fn keep(&mut self, hints: &[Hint]) -> Option<Waker> {
        let Self { hints: kept, waker, heeds } = self;
        let heeded = |hint: &&Hint| heeds.as_ref().is_none_or(|heeds| heeds(hint));
        kept.extend(hints.iter().filter(heeded).cloned());
        if kept.len() > HINTS_MAX {
            *kept = BTreeSet::from([Hint::Everything]);
        }
        waker.take_if(|_| !kept.is_empty())
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("hints", &self.hints).finish_non_exhaustive()
    }
}

impl Hints {
    /// From now on only hints that `heeds` are kept: nobody is woken for the others. It is asked by
    /// whoever tells, in the middle of it, and must be quick.
    pub fn heed(&mut self, heeds: impl Fn(&Hint) -> bool + Send + Sync + 'static) {
        self.0.lock().heeds = Some(Box::new(heeds));
    }

    /// Waits until there is a hint, and takes all there are.
    pub async fn next(&mut self) -> Vec<Hint> {
        poll_fn(|cx| {
            let mut mailbox = self.0.lock();
            if mailbox.hints.is_empty() {
                mailbox.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(std::mem::take(&mut mailbox.hints).into_iter().collect())
        })
        .await
    }

    /// Takes the hints there are, without waiting.
    pub fn take(&mut self) -> Vec<Hint> {
        std::mem::take(&mut self.0.lock().hints).into_iter().collect()
    }
}

/// The store's side: everybody who listens.
#[derive(Debug, Default)]
pub struct Listeners(Mutex<Vec<Weak<Mutex<Mailbox>>>>);

impl Listeners {
    /// A new mailbox.
    pub fn listen(&self) -> Hints {
        let hints = Hints::default();
        self.0.lock().push(Arc::downgrade(&hints.0));
        hints
    }

    /// Puts a hint into every mailbox.
    pub fn tell(&self, hints: &[Hint]) {
        if hints.is_empty() {
            return;
        }
        self.0.lock().retain(|listener| {
            let Some(mailbox) = listener.upgrade() else { return false };
            let waker = mailbox.lock().keep(hints);
            waker.into_iter().for_each(Waker::wake);
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_hears_of_what_it_heeds_and_of_nothing_else() {
        let listeners = Listeners::default();
        let (mut all, mut some) = (listeners.listen(), listeners.listen());
        some.heed(|hint| *hint != Hint::Asked);
        listeners.tell(&[Hint::Asked]);
        assert_eq!((all.take(), some.take()), (vec![Hint::Asked], vec![]));
        listeners.tell(&[Hint::Asked, Hint::Sweep]);
        assert_eq!(some.take(), [Hint::Sweep]);
    }
}
