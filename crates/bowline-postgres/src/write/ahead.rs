//! Starts that wait for the call that follows them, so that one statement writes both.
//!
//! In:    the start of a run whose first turn is being decided.
//! Out:   the same start, to the lane that takes a call about its run, before that call; or to the
//!        next lane of all, once somebody is in a hurry.
//! Never: lets a call overtake the start of its run: where another lane has the start, the call
//!        waits until that is written.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use bowline_core::RunId;
use bowline_store::stored::Weight;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{
    limits,
    write::{call::Call, tx::Wants},
};

#[derive(Default)]
pub(crate) struct Ahead {
    inner: Mutex<WaitingStarts>,
    written: Notify,
}

#[derive(Default)]
struct WaitingStarts {
    waiting: HashMap<RunId, Box<dyn Call>>,
    /// Those that wait for no call any more.
    late: VecDeque<RunId>,
    /// Those that a lane has.
    taken: HashSet<RunId>,
    is_closed: bool,
}

/// Calls that one lane has taken, in their order.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) calls: Vec<Box<dyn Call>>,
    /// The runs whose starts had waited.
    pub(crate) starts: BTreeSet<RunId>,
    /// Runs whose starts other lanes have.
    pub(crate) after: BTreeSet<RunId>,
    weight: Weight,
}

impl Group {
    /// Whether it has room for more.
    pub(crate) fn fits(&self, more: Weight) -> bool {
        let weight = self.weight.plus(more);
        weight.rows <= limits::GROUP_ROWS && weight.bytes <= limits::GROUP_BYTES
    }

    pub(crate) fn push(&mut self, call: Box<dyn Call>) {
        self.weight = self.weight.plus(call.weight());
        self.calls.push(call);
    }

    fn add(&mut self, run: RunId, start: Box<dyn Call>, taken: &mut HashSet<RunId>) {
        taken.insert(run);
        self.starts.insert(run);
        self.push(start);
    }
}

impl Ahead {
    /// Puts a start off; gives it back if it must not wait here.
    pub(crate) fn put(&self, run: RunId, start: Box<dyn Call>) -> Option<Box<dyn Call>> {
        let mut inner = self.inner.lock();
        let is_full = inner.waiting.len() >= limits::AHEAD_MAX;
        if inner.is_closed || is_full || inner.waiting.contains_key(&run) {
            return Some(start);
        }
        inner.waiting.insert(run, start);
        None
    }

    /// A start waits no longer than until a lane is free; false if it does not wait.
    pub(crate) fn hurry(&self, run: RunId) -> bool {
        let mut inner = self.inner.lock();
        let waits = inner.waiting.contains_key(&run);
        if waits {
            inner.late.push_back(run);
        }
        waits
    }

    /// Nothing waits any longer, and nothing new does; false if nothing did.
    pub(crate) fn hurry_all(&self) -> bool {
        let mut inner = self.inner.lock();
        inner.is_closed = true;
        inner.late = inner.waiting.keys().copied().collect();
        !inner.late.is_empty()
    }

    /// Adds a call to a group, and before it whatever it must not overtake. One thread at a time
    /// does this: so groups wait only for groups that were taken before them.
    pub(crate) fn join(&self, call: Box<dyn Call>, group: &mut Group) {
        let mut inner = self.inner.lock();
        let WaitingStarts { waiting, late, taken, .. } = &mut *inner;
        while group.fits(call.weight())
            && let Some(run) = late.pop_front()
        {
            if let Some(start) = waiting.remove(&run) {
                group.add(run, start, taken);
            }
        }
        if !waiting.is_empty() || !taken.is_empty() {
            let mut wants = Wants::default();
            (0..call.items()).for_each(|item| call.wants(item, &mut wants));
            for run in wants.runs {
                if let Some(start) = waiting.remove(&run) {
                    group.add(run, start, taken);
                } else if taken.contains(&run) && !group.starts.contains(&run) {
                    group.after.insert(run);
                }
            }
        }
        group.push(call);
    }

    /// Whether a start waits for nothing but a lane.
    pub(crate) fn is_late(&self) -> bool {
        !self.inner.lock().late.is_empty()
    }

    /// Waits until other lanes have written these starts.
    pub(crate) async fn wait(&self, starts: &BTreeSet<RunId>) {
        loop {
            let written = self.written.notified();
            tokio::pin!(written);
            written.as_mut().enable();
            let waits = |inner: &WaitingStarts| starts.iter().any(|run| inner.taken.contains(run));
            if starts.is_empty() || !waits(&self.inner.lock()) {
                return;
            }
            written.await;
        }
    }

    /// These starts are written, or have come to nothing.
    pub(crate) fn written(&self, starts: &BTreeSet<RunId>) {
        if starts.is_empty() {
            return;
        }
        let mut inner = self.inner.lock();
        inner.taken.retain(|run| !starts.contains(run));
        drop(inner);
        self.written.notify_waiters();
    }

    /// Nobody will take what waits.
    pub(crate) fn close(&self) {
        let mut inner = self.inner.lock();
        inner.is_closed = true;
        // They are answered when they are dropped, and what is told then may come back here.
        let dropped = std::mem::take(&mut inner.waiting);
        drop(inner);
        drop(dropped);
    }
}

#[cfg(test)]
mod tests {
    use bowline_core::Namespace;
    use bowline_store::Error;
    use futures_util::future::{BoxFuture, FutureExt};

    use super::*;
    use crate::{connection::db::Outcome, write::tx::Tx};

    /// A call about a run, known by how many rows it writes.
    struct About(RunId, usize);

    impl Call for About {
        fn weight(&self) -> Weight {
            Weight { rows: self.1, bytes: 0 }
        }

        fn items(&self) -> usize {
            1
        }

        fn wants(&self, _: usize, wants: &mut Wants) {
            wants.runs.insert(self.0);
        }

        fn run<'t>(&'t mut self, _: usize, _: &'t mut Tx<'_>) -> BoxFuture<'t, Outcome<()>> {
            Box::pin(async { Ok(()) })
        }

        fn fail(&mut self, _: usize, _: Error) {}

        fn answer(self: Box<Self>) {}
    }

    fn id(uuid: u128) -> RunId {
        RunId { namespace: Namespace(1), uuid }
    }

    fn take(ahead: &Ahead, call: About) -> Group {
        let mut group = Group::default();
        ahead.join(Box::new(call), &mut group);
        group
    }

    fn rows(group: &Group) -> Vec<usize> {
        group.calls.iter().map(|call| call.weight().rows).collect()
    }

    #[test]
    fn a_start_goes_with_the_call_about_its_run() {
        let ahead = Ahead::default();
        assert!(ahead.put(id(1), Box::new(About(id(1), 10))).is_none());
        assert!(ahead.put(id(1), Box::new(About(id(1), 99))).is_some(), "there is one");
        assert_eq!(rows(&take(&ahead, About(id(2), 2))), [2]);
        let group = take(&ahead, About(id(1), 1));
        assert_eq!(rows(&group), [10, 1]);
        assert!(group.after.is_empty(), "nobody waits for the own lane");
        assert!(!ahead.hurry(id(1)), "it waits no longer");
    }

    #[test]
    fn nobody_overtakes_a_start_that_went_in_a_hurry() {
        let ahead = Ahead::default();
        assert!(ahead.put(id(1), Box::new(About(id(1), 10))).is_none());
        assert!(ahead.put(id(2), Box::new(About(id(2), 20))).is_none());
        assert!(ahead.hurry(id(1)));
        let first = take(&ahead, About(id(3), 3));
        assert_eq!(rows(&first), [10, 3], "the other one waits on");
        let second = take(&ahead, About(id(1), 1));
        assert_eq!((rows(&second), &second.after), (vec![1], &BTreeSet::from([id(1)])));
        assert!(ahead.wait(&second.after).now_or_never().is_none());
        ahead.written(&first.starts);
        assert!(ahead.wait(&second.after).now_or_never().is_some());
        assert!(take(&ahead, About(id(1), 1)).after.is_empty());
    }

    #[test]
    fn whoever_closes_keeps_nobody_waiting() {
        let ahead = Ahead::default();
        assert!(ahead.put(id(1), Box::new(About(id(1), 10))).is_none());
        assert!(ahead.hurry_all());
        assert!(ahead.put(id(2), Box::new(About(id(2), 20))).is_some(), "nothing new waits");
        assert_eq!(rows(&take(&ahead, About(id(3), 3))), [10, 3]);
        assert!(!ahead.hurry_all());
    }
}
