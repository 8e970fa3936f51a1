//! Runs that change, for those who look on: which ones, in which order, and how far each looker has
//! come.
//!
//! In:    hints of the store, for as long as anybody looks on, and a while longer.
//! Out:   runs to read again. A run that changes often is told of once, as it stands then.
//! Never: grows: past its bound the oldest are forgotten, and whoever needed them begins again.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bowline_core::RunId;
use bowline_engine::{
    Engine,
    store::{Hint, Hints},
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::limits;

/// Everything that has changed of late.
pub(crate) struct Feed(Arc<FeedInner>);

struct FeedInner {
    engine: Engine,
    recent: Mutex<Recent>,
    news: watch::Sender<u64>,
}

#[derive(Default)]
struct Recent {
    /// Tells this listening from every other one.
    boot: u128,
    /// The number of the newest change.
    newest: u64,
    /// What was changed up to here is forgotten.
    floor: u64,
    by_number: BTreeMap<u64, RunId>,
    by_run: BTreeMap<RunId, u64>,
    is_listening: bool,
    lookers: usize,
}

/// A place in the feed: which listening, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    boot: u128,
    number: u64,
}

impl Position {
    /// As the id of an event.
    pub(crate) fn text(self) -> String {
        format!("{:032x}-{}", self.boot, self.number)
    }

    /// An id that somebody brings; none if it is not one of ours.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (boot, number) = text.split_once('-')?;
        let boot = u128::from_str_radix(boot, 16).ok()?;
        Some(Self { boot, number: number.parse().ok()? })
    }
}

/// What has changed since.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// These, in order, with where each of them leads to.
    Runs(Vec<(Position, RunId)>),
    /// Nobody knows any more: begin again from here.
    Unknown(Position),
}

impl Recent {
    fn note(&mut self, run: RunId) {
        self.newest += 1;
        if let Some(before) = self.by_run.insert(run, self.newest) {
            self.by_number.remove(&before);
        }
        self.by_number.insert(self.newest, run);
        while self.by_number.len() > limits::CHANGES_MAX {
            let Some((number, run)) = self.by_number.pop_first() else { break };
            self.by_run.remove(&run);
            self.floor = number;
        }
    }

    /// Something may have happened anywhere.
    fn forget(&mut self) {
        self.newest += 1;
        self.floor = self.newest;
        self.by_number.clear();
        self.by_run.clear();
    }

    fn now(&self) -> Position {
        Position { boot: self.boot, number: self.newest }
    }

    fn since(&self, at: Position, most: usize) -> Since {
        if at.boot != self.boot || at.number < self.floor || at.number > self.newest {
            return Since::Unknown(self.now());
        }
        let later = self.by_number.range(at.number + 1..).take(most);
        let runs = later.map(|(number, run)| (Position { number: *number, ..at }, *run));
        Since::Runs(runs.collect())
    }
}

impl Feed {
    pub(crate) fn new(engine: Engine) -> Self {
        let (recent, news) = (Mutex::default(), watch::Sender::new(0));
        Self(Arc::new(FeedInner { engine, recent, news }))
    }

    /// Somebody looks on, from now on.
    pub(crate) fn look(&self) -> Looker {
        let mut recent = self.0.recent.lock();
        recent.lookers += 1;
        if !recent.is_listening {
            let boot = self.0.engine.draw();
            let lookers = recent.lookers;
            *recent = Recent { boot, is_listening: true, lookers, ..Recent::default() };
            tokio::spawn(listen(Arc::downgrade(&self.0), self.0.engine.changes()));
        }
        Looker { news: self.0.news.subscribe(), feed: self.0.clone() }
    }
}

/// Somebody who looks on.
pub(crate) struct Looker {
    feed: Arc<FeedInner>,
    news: watch::Receiver<u64>,
}

impl Drop for Looker {
    fn drop(&mut self) {
        self.feed.recent.lock().lookers -= 1;
    }
}

impl Looker {
    /// Where the feed is now.
    pub(crate) fn now(&self) -> Position {
        self.feed.recent.lock().now()
    }

    /// What has changed since; what changes after this wakes the next [`Self::changed`].
    pub(crate) fn since(&mut self, at: Position, most: usize) -> Since {
        self.news.mark_unchanged();
        self.feed.recent.lock().since(at, most)
    }

    /// Waits for the next change.
    pub(crate) async fn changed(&mut self) {
        // The sender is kept by the feed, which this has.
        let _ = self.news.changed().await;
    }
}

/// Notes what changes, until nobody has looked on for a while.
async fn listen(feed: Weak<FeedInner>, mut hints: Hints) {
    loop {
        let heard = tokio::time::timeout(limits::LINGER, hints.next()).await;
        let Some(feed) = feed.upgrade() else { return };
        let mut recent = feed.recent.lock();
        let Ok(heard) = heard else {
            if recent.lookers == 0 {
                recent.is_listening = false;
                return;
            }
            continue;
        };
        for hint in heard {
            match hint {
                Hint::Changed(run) | Hint::Closed(run) => recent.note(run),
                _ => recent.forget(),
            }
        }
        let newest = recent.newest;
        drop(recent);
        feed.news.send_replace(newest);
    }
}

#[cfg(test)]
mod tests {
    use bowline_core::Namespace;

    use super::*;

    fn run(uuid: u128) -> RunId {
        RunId { namespace: Namespace(1), uuid }
    }

    fn at(number: u64) -> Position {
        Position { boot: 7, number }
    }

    #[test]
    fn a_run_that_changes_often_is_told_of_once() {
        let mut recent = Recent { boot: 7, ..Recent::default() };
        [1, 2, 1].into_iter().for_each(|uuid| recent.note(run(uuid)));
        assert_eq!(recent.since(at(0), 9), Since::Runs(vec![(at(2), run(2)), (at(3), run(1))]));
        assert_eq!(recent.since(at(0), 1), Since::Runs(vec![(at(2), run(2))]));
        assert_eq!(recent.since(at(3), 9), Since::Runs(vec![]));
        let text = at(3).text();
        assert_eq!(Position::read(&text), Some(at(3)));
        for bad in ["", "7", "7-", "x-3", "7-x"] {
            assert_eq!(Position::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn who_has_missed_something_begins_again() {
        let mut recent = Recent { boot: 7, ..Recent::default() };
        for uuid in 0..=limits::CHANGES_MAX as u128 {
            recent.note(run(uuid));
        }
        assert_eq!(recent.by_run.len(), limits::CHANGES_MAX);
        let now = recent.now();
        assert_eq!(recent.since(at(0), 1), Since::Unknown(now), "one is forgotten");
        assert_eq!(recent.since(at(1), 1), Since::Runs(vec![(at(2), run(1))]));
        assert_eq!(
            recent.since(Position { boot: 8, ..now }, 1),
            Since::Unknown(now),
            "another one"
        );
        assert_eq!(recent.since(at(now.number + 1), 1), Since::Unknown(now), "nobody said that");
        recent.forget();
        assert_eq!(recent.since(now, 1), Since::Unknown(recent.now()));
        assert_eq!(recent.since(recent.now(), 1), Since::Runs(vec![]));
    }
}
