//! Who waits for a run to change: results, receipts, history polls.
//!
//! A change is a hint: the waiter reads the store again and decides for itself.

use std::{collections::BTreeMap, sync::Arc};

use bowline_core::{Event, EventKind, Payload, RunId};
use bowline_store::Hint;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Error, Result, limits};

/// Everybody who waits.
#[derive(Debug)]
pub(crate) struct Followers {
    state: Arc<Mutex<FollowState>>,
    limit: usize,
}

#[derive(Debug, Default)]
struct FollowState {
    runs: BTreeMap<RunId, Followed>,
    /// How many waiters there are in all.
    count: usize,
}

/// A run that somebody waits for.
#[derive(Debug, Default)]
struct Followed {
    waiters: Vec<FollowWaiter>,
    /// Somebody here is about to end it, and will say how.
    is_closing: bool,
}

#[derive(Debug)]
struct FollowWaiter {
    bell: Arc<RunBell>,
    /// It wants to hear of the run's end, and of nothing before.
    ends_only: bool,
    /// How large an end may be that is handed over; one that is larger must be read.
    bytes_max: u64,
}

/// How a run ended, as whoever ended it tells those who wait.
#[derive(Debug)]
pub(crate) struct ToldEnd {
    /// The event that closed it.
    pub(crate) event: Event,
    /// Nothing goes on in its place.
    pub(crate) is_last: bool,
}

#[derive(Debug, Default)]
struct RunBell {
    changed: Notify,
    /// How a run ended meanwhile.
    ended: Mutex<Option<(RunId, Arc<ToldEnd>)>>,
}

/// One waiter, following some runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Follower {
    bell: Arc<RunBell>,
    runs: Vec<RunId>,
    state: Arc<Mutex<FollowState>>,
}

impl Follower {
    /// Waits for the next change; one that came since the last wait counts.
    pub(crate) async fn changed(&self) {
        self.bell.changed.notified().await;
    }

    /// How a run has ended, if it did so here since it was followed.
    pub(crate) fn ended(&self, run: RunId) -> Option<Arc<ToldEnd>> {
        let ended = self.bell.ended.lock().take();
        ended.filter(|(which, _)| *which == run).map(|(_, ended)| ended)
    }

    /// The answer of a run, if it has completed so, and nothing goes on in its place.
    pub(crate) fn completed(&self, run: RunId) -> Option<Option<Payload>> {
        let ended = self.ended(run).filter(|ended| ended.is_last)?;
        match &ended.event.kind {
            EventKind::WorkflowCompleted(completed) => Some(completed.result.clone()),
            _ => None,
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        for run in &self.runs {
            state.forget(*run, &self.bell);
        }
    }
}

/// The end of a run that was followed from before its beginning: whoever has it hears of that end,
/// whenever it comes.
#[derive(Debug)]
pub struct RunEnd {
    pub(crate) run: RunId,
    pub(crate) follower: Follower,
}

/// Somebody here is about to end a run, until this is dropped. If nobody has said by then how it
/// ended, or whether, everybody looks.
#[derive(Debug)]
pub(crate) struct Closing<'f> {
    followers: &'f Followers,
    run: RunId,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if self.followers.is_closing(self.run) {
            self.followers.tell_end(self.run);
        }
    }
}

impl Default for Followers {
    fn default() -> Self {
        Self::new(limits::FOLLOWS)
    }
}

impl Followers {
    fn new(limit: usize) -> Self {
        Self { state: Arc::default(), limit }
    }

    /// Somebody who follows nothing yet.
    pub(crate) fn follower(&self) -> Follower {
        Follower { bell: Arc::default(), runs: Vec::new(), state: self.state.clone() }
    }

    /// Follows a run too.
    ///
    /// # Errors
    /// If too many runs are followed by too many.
    pub(crate) fn follow(&self, follower: &mut Follower, run: RunId) -> Result<()> {
        let bell = follower.bell.clone();
        let waiter = FollowWaiter { bell, ends_only: false, bytes_max: u64::MAX };
        self.add(follower, run, waiter, self.limit)
    }

    /// Follows a run to its end: that it closes, is parked, or is forgotten.
    ///
    /// # Errors
    /// If too many runs are followed by too many.
    pub(crate) fn follow_end(&self, follower: &mut Follower, run: RunId) -> Result<()> {
        let bell = follower.bell.clone();
        let waiter = FollowWaiter { bell, ends_only: true, bytes_max: u64::MAX };
        self.add(follower, run, waiter, self.limit)
    }

    /// Somebody who follows a run that is about to begin, to its end. Whether anybody is going to
    /// wait for that is not known: half of the room is left for those who do.
    pub(crate) fn follow_new(&self, run: RunId) -> Option<RunEnd> {
        self.follow_small(run, u64::MAX)
    }

    /// The same, where the end is kept for whoever may come: one that is larger must be read.
    pub(crate) fn follow_small(&self, run: RunId, bytes_max: u64) -> Option<RunEnd> {
        let mut follower = self.follower();
        let waiter = FollowWaiter { bell: follower.bell.clone(), ends_only: true, bytes_max };
        self.add(&mut follower, run, waiter, self.limit / 2).ok()?;
        Some(RunEnd { run, follower })
    }

    /// Whether anybody follows a run.
    pub(crate) fn follows(&self, run: RunId) -> bool {
        self.state.lock().runs.contains_key(&run)
    }

    fn add(
        &self,
        follower: &mut Follower,
        run: RunId,
        waiter: FollowWaiter,
        limit: usize,
    ) -> Result<()> {
        let mut state = self.state.lock();
        let is_it = |waiter: &FollowWaiter| Arc::ptr_eq(&waiter.bell, &follower.bell);
        if state.runs.get(&run).is_some_and(|followed| followed.waiters.iter().any(is_it)) {
            return Ok(());
        }
        if state.count >= limit {
            return Err(Error::TooMany { what: "runs that somebody waits for", limit });
        }
        state.count += 1;
        state.runs.entry(run).or_default().waiters.push(waiter);
        follower.runs.push(run);
        Ok(())
    }

    /// Tells those who follow a run that it has changed, and is open still.
    pub(crate) fn tell(&self, run: RunId) {
        let state = self.state.lock();
        let waiting = state.runs.get(&run).into_iter().flat_map(|followed| &followed.waiters);
        for waiter in waiting.filter(|waiter| !waiter.ends_only) {
            waiter.bell.changed.notify_one();
        }
    }

    /// Tells all who follow a run: it has ended, or may have.
    pub(crate) fn tell_end(&self, run: RunId) {
        self.ended(run, |waiter| waiter.bell.changed.notify_one());
    }

    /// Somebody here is about to end a run. What the store says of it meanwhile is not passed on:
    /// it comes before the answer to whoever ends it, and would have everybody read.
    pub(crate) fn closes(&self, run: RunId) -> Closing<'_> {
        if let Some(followed) = self.state.lock().runs.get_mut(&run) {
            followed.is_closing = true;
        }
        Closing { followers: self, run }
    }

    /// The store says that a run has ended, or may have.
    pub(crate) fn hear_end(&self, run: RunId) {
        if !self.is_closing(run) {
            self.tell_end(run);
        }
    }

    /// Whether anybody would look because of a hint at a run.
    pub(crate) fn heed(&self, hint: &Hint) -> bool {
        let state = self.state.lock();
        let heeds = |run, heeds: fn(&Followed) -> bool| state.runs.get(run).is_some_and(heeds);
        match hint {
            Hint::Changed(run) => {
                heeds(run, |followed| followed.waiters.iter().any(|waiter| !waiter.ends_only))
            }
            Hint::Closed(run) => heeds(run, |followed| !followed.is_closing),
            _ => true,
        }
    }

    fn is_closing(&self, run: RunId) -> bool {
        self.state.lock().runs.get(&run).is_some_and(|followed| followed.is_closing)
    }

    /// The same, and how: whoever waits for that need not read it.
    pub(crate) fn tell_ended(&self, run: RunId, ended: &Arc<ToldEnd>) {
        let bytes = ended.event.weight();
        self.ended(run, |waiter| {
            if bytes <= waiter.bytes_max {
                *waiter.bell.ended.lock() = Some((run, ended.clone()));
            }
            waiter.bell.changed.notify_one();
        });
    }

    fn ended(&self, run: RunId, tell: impl Fn(&FollowWaiter)) {
        if let Some(followed) = self.state.lock().runs.get_mut(&run) {
            followed.is_closing = false;
            followed.waiters.iter().for_each(tell);
        }
    }

    /// Tells everybody: after work whose extent is unknown.
    pub(crate) fn tell_all(&self) {
        let state = self.state.lock();
        let all = state.runs.values().flat_map(|followed| &followed.waiters);
        all.for_each(|waiter| waiter.bell.changed.notify_one());
    }
}

impl FollowState {
    fn forget(&mut self, run: RunId, bell: &Arc<RunBell>) {
        let Some(followed) = self.runs.get_mut(&run) else { return };
        let waiting = &mut followed.waiters;
        if let Some(at) = waiting.iter().position(|waiter| Arc::ptr_eq(&waiter.bell, bell)) {
            waiting.swap_remove(at);
            self.count -= 1;
        }
        if waiting.is_empty() {
            self.runs.remove(&run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::{EventId, Namespace, Time};

    fn run(uuid: u128) -> RunId {
        RunId { namespace: Namespace(1), uuid }
    }

    fn completed(is_last: bool) -> Arc<ToldEnd> {
        let kind = EventKind::WorkflowCompleted(Default::default());
        let event = Event { kind, id: EventId(9), time: Time(1), notes: Vec::new(), wire: None };
        Arc::new(ToldEnd { event, is_last })
    }

    #[tokio::test]
    async fn whoever_waits_for_an_end_hears_of_nothing_else() {
        let followers = Followers::new(9);
        let mut follower = followers.follower();
        followers.follow_end(&mut follower, run(1)).expect("one");
        followers.tell(run(1));
        tokio::select! {
            biased;
            () = follower.changed() => panic!("it is open still"),
            () = std::future::ready(()) => {}
        }
        followers.tell_end(run(1));
        follower.changed().await;
        assert_eq!(follower.completed(run(1)), None, "how it ended must be read");
        followers.tell_ended(run(1), &completed(true));
        follower.changed().await;
        assert_eq!(follower.completed(run(1)), Some(None));
    }

    #[tokio::test]
    async fn a_hint_at_an_end_that_is_made_here_is_not_passed_on() {
        let followers = Followers::new(9);
        let follower = followers.follow_new(run(1)).expect("there is room").follower;
        assert!(followers.heed(&Hint::Closed(run(1))));
        assert!(!followers.heed(&Hint::Closed(run(2))), "nobody follows it");
        assert!(!followers.heed(&Hint::Changed(run(1))), "nobody wants to know before its end");
        let closing = followers.closes(run(1));
        assert!(!followers.heed(&Hint::Closed(run(1))), "who ends it says so");
        followers.hear_end(run(1));
        tokio::select! {
            biased;
            () = follower.changed() => panic!("nobody has said how"),
            () = std::future::ready(()) => {}
        }
        followers.tell_ended(run(1), &completed(true));
        follower.changed().await;
        assert_eq!(follower.completed(run(1)), Some(None));
        drop(closing);
        followers.hear_end(run(1));
        follower.changed().await;
        drop(followers.closes(run(1)));
        follower.changed().await;
        assert_eq!(follower.completed(run(1)), None, "whoever was about to end it has gone");
    }

    #[tokio::test]
    async fn there_is_a_bound_that_those_who_have_gone_do_not_count_for() {
        let followers = Followers::new(2);
        let (mut first, mut second) = (followers.follower(), followers.follower());
        followers.follow(&mut first, run(1)).expect("one");
        followers.follow(&mut first, run(1)).expect("the same");
        assert!(followers.follow_new(run(3)).is_none(), "half of the room is for others");
        followers.follow(&mut second, run(1)).expect("two");
        let refused = followers.follow(&mut second, run(2)).expect_err("three");
        assert_eq!(refused.code(), "too_many");
        assert!(refused.to_string().contains("at most 2"), "{refused}");
        drop(first);
        followers.follow(&mut second, run(2)).expect("one has gone");
        followers.tell(run(2));
        second.changed().await;
        drop(second);
        let state = followers.state.lock();
        assert_eq!((state.count, state.runs.len()), (0, 0));
    }
}
