//! Who waits for a run to change: results, receipts, history polls.
//!
//! A change is a hint: the waiter reads the store again and decides for itself.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bowline_core::RunId;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Error, Result, limits};

/// Everybody who waits.
#[derive(Debug)]
pub(crate) struct Followers {
    state: Mutex<State>,
    limit: usize,
}

#[derive(Debug, Default)]
struct State {
    runs: BTreeMap<RunId, Vec<Weak<Notify>>>,
    /// How many there are in all of the lists, those who have gone included.
    count: usize,
}

/// One waiter, following some runs until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    changed: Arc<Notify>,
}

impl Follower {
    /// Waits for the next change; one that came since the last wait counts.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Default for Followers {
    fn default() -> Self {
        Self::new(limits::FOLLOWS)
    }
}

impl Followers {
    fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit }
    }

    /// Follows a run too.
    ///
    /// # Errors
    /// If too many runs are followed by too many.
    pub(crate) fn follow(&self, follower: &Follower, run: RunId) -> Result<()> {
        let mut state = self.state.lock();
        let is_it = |waiter: &Weak<Notify>| waiter.as_ptr() == Arc::as_ptr(&follower.changed);
        if state.runs.get(&run).is_some_and(|waiting| waiting.iter().any(is_it)) {
            return Ok(());
        }
        if state.count >= self.limit {
            state.forget_gone();
        }
        if state.count >= self.limit {
            return Err(Error::TooMany { what: "runs that somebody waits for", limit: self.limit });
        }
        state.count += 1;
        state.runs.entry(run).or_default().push(Arc::downgrade(&follower.changed));
        Ok(())
    }

    /// Tells those who follow a run.
    pub(crate) fn tell(&self, run: RunId) {
        let mut state = self.state.lock();
        let State { runs, count } = &mut *state;
        let Some(waiting) = runs.get_mut(&run) else { return };
        *count -= waiting.len();
        waiting.retain(|waiter| match waiter.upgrade() {
            Some(changed) => {
                changed.notify_one();
                true
            }
            None => false,
        });
        *count += waiting.len();
        if waiting.is_empty() {
            runs.remove(&run);
        }
    }

    /// Tells everybody: after work whose extent is unknown.
    pub(crate) fn tell_all(&self) {
        let runs: Vec<_> = self.state.lock().runs.keys().copied().collect();
        runs.into_iter().for_each(|run| self.tell(run));
    }
}

impl State {
    fn forget_gone(&mut self) {
        self.runs.retain(|_, waiting| {
            waiting.retain(|waiter| waiter.strong_count() > 0);
            !waiting.is_empty()
        });
        self.count = self.runs.values().map(Vec::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::Namespace;

    fn run(uuid: u128) -> RunId {
        RunId { namespace: Namespace(1), uuid }
    }

    #[tokio::test]
    async fn there_is_a_bound_that_those_who_have_gone_do_not_count_for() {
        let followers = Followers::new(2);
        let (first, second) = (Follower::default(), Follower::default());
        followers.follow(&first, run(1)).expect("one");
        followers.follow(&first, run(1)).expect("the same");
        followers.follow(&second, run(1)).expect("two");
        let refused = followers.follow(&second, run(2)).expect_err("three");
        assert_eq!(refused.code(), "too_many");
        assert!(refused.to_string().contains("at most 2"), "{refused}");
        drop(first);
        followers.follow(&second, run(2)).expect("one has gone");
        followers.tell(run(2));
        second.changed().await;
        drop(second);
        followers.tell_all();
        let state = followers.state.lock();
        assert_eq!((state.count, state.runs.len()), (0, 0));
    }
}
