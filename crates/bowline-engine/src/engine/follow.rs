//! Who waits for a run to change: results, receipts, history polls.
//!
//! A change is a hint: the waiter reads the store again and decides for itself.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bowline_core::{Payload, RunId};
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
    runs: BTreeMap<RunId, Vec<Waiter>>,
    /// How many there are in all of the lists, those who have gone included.
    count: usize,
}

#[derive(Debug)]
struct Waiter {
    bell: Weak<Bell>,
    /// It wants to hear of the run's end, and of nothing before.
    ends_only: bool,
}

#[derive(Debug, Default)]
struct Bell {
    changed: Notify,
    /// What a run that completed meanwhile has answered.
    completed: Mutex<Option<(RunId, Option<Payload>)>>,
}

/// One waiter, following some runs until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Follower(Arc<Bell>);

impl Follower {
    /// Waits for the next change; one that came since the last wait counts.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// The answer of a run, if it has completed here since it was followed.
    pub(crate) fn completed(&self, run: RunId) -> Option<Option<Payload>> {
        let completed = self.0.completed.lock().take();
        completed.filter(|(which, _)| *which == run).map(|(_, result)| result)
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
        self.add(follower, run, false)
    }

    /// Follows a run to its end: that it closes, is parked, or is forgotten.
    ///
    /// # Errors
    /// If too many runs are followed by too many.
    pub(crate) fn follow_end(&self, follower: &Follower, run: RunId) -> Result<()> {
        self.add(follower, run, true)
    }

    fn add(&self, follower: &Follower, run: RunId, ends_only: bool) -> Result<()> {
        let mut state = self.state.lock();
        let is_it = |waiter: &Waiter| waiter.bell.as_ptr() == Arc::as_ptr(&follower.0);
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
        let bell = Arc::downgrade(&follower.0);
        state.runs.entry(run).or_default().push(Waiter { bell, ends_only });
        Ok(())
    }

    /// Tells those who follow a run that it has changed, and is open still.
    pub(crate) fn tell(&self, run: RunId) {
        self.each(run, |bell, ends_only| {
            if !ends_only {
                bell.changed.notify_one();
            }
        });
    }

    /// Tells all who follow a run: it has ended, or may have.
    pub(crate) fn tell_end(&self, run: RunId) {
        self.each(run, |bell, _| bell.changed.notify_one());
    }

    /// The same, with its answer: whoever waits for that need not read it.
    pub(crate) fn tell_completed(&self, run: RunId, result: &Option<Payload>) {
        self.each(run, |bell, _| {
            *bell.completed.lock() = Some((run, result.clone()));
            bell.changed.notify_one();
        });
    }

    fn each(&self, run: RunId, tell: impl Fn(&Bell, bool)) {
        let mut state = self.state.lock();
        let State { runs, count } = &mut *state;
        let Some(waiting) = runs.get_mut(&run) else { return };
        *count -= waiting.len();
        waiting.retain(|waiter| match waiter.bell.upgrade() {
            Some(bell) => {
                tell(&bell, waiter.ends_only);
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
        runs.into_iter().for_each(|run| self.tell_end(run));
    }
}

impl State {
    fn forget_gone(&mut self) {
        self.runs.retain(|_, waiting| {
            waiting.retain(|waiter| waiter.bell.strong_count() > 0);
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
    async fn whoever_waits_for_an_end_hears_of_nothing_else() {
        let followers = Followers::new(9);
        let follower = Follower::default();
        followers.follow_end(&follower, run(1)).expect("one");
        followers.tell(run(1));
        tokio::select! {
            biased;
            () = follower.changed() => panic!("it is open still"),
            () = std::future::ready(()) => {}
        }
        followers.tell_end(run(1));
        follower.changed().await;
        assert_eq!(follower.completed(run(1)), None, "how it ended must be read");
        followers.tell_completed(run(1), &None);
        follower.changed().await;
        assert_eq!(follower.completed(run(1)), Some(None));
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
