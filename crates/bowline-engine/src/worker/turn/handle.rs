//! Where a workflow thread sits: how to reach it, what it holds, and whether it was given up.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bowline_core::{Epoch, Fence, RunId, Time};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    Work,
    room::{Place, Room},
};
use crate::{Result, engine::exchange::TurnDone, limits};

/// How to reach a thread. Clones reach the same one.
#[derive(Clone)]
pub(super) struct ThreadHandle {
    pub(super) mailbox: mpsc::Sender<Work>,
    pub(super) shared: Arc<ThreadShared>,
}

impl ThreadHandle {
    /// Gives the thread something to do. False if it is gone: then it has let go of its runs.
    pub(super) async fn send(&self, work: Work) -> bool {
        tokio::select! {
            biased;
            () = self.shared.gone.cancelled() => false,
            sent = self.mailbox.send(work) => sent.is_ok(),
        }
    }

    /// How many pieces of work wait for the thread.
    pub(super) fn waits(&self) -> usize {
        limits::THREAD_QUEUE - self.mailbox.capacity()
    }

    /// How far the thread is behind, about: a turn that has taken long will take longer.
    pub(super) fn behind(&self, now: Time) -> Duration {
        let busy = *self.shared.busy.lock();
        let busy = busy.map_or(Duration::ZERO, |(_, since)| now.since(since));
        let waits = u32::try_from(self.waits()).unwrap_or(u32::MAX);
        busy.saturating_add(limits::TURN_ABOUT.saturating_mul(waits))
    }

    /// Whether the thread is awake and has nothing to do.
    pub(super) fn is_free(&self) -> bool {
        self.shared.looks.load(Ordering::Relaxed) && self.waits() == 0
    }

    /// Tells the thread what became of a commit. Where nothing follows from that, it is not woken
    /// for it, and reads it before whatever it does next.
    pub(super) async fn answer(
        &self,
        room: &Room,
        run: RunId,
        lease: Fence,
        done: Result<TurnDone>,
    ) {
        let rests = |done: &TurnDone| done.unread.is_empty() && done.state.status.is_open();
        let is_calm = done.as_ref().is_ok_and(rests);
        let answer = (run, lease, Box::new(done));
        if let Some((run, lease, done)) = self.shared.leave(answer, is_calm, room) {
            self.send(Work::Committed(run, lease, done)).await;
        }
    }
}

/// What became of a run's commit under a lease.
type CommitAnswer = (RunId, Fence, Box<Result<TurnDone>>);

/// Answers that the thread was not woken for: one at most for each run that it holds.
#[derive(Default)]
struct Answers {
    left: Vec<CommitAnswer>,
    /// Runs that have their next turn when the answer comes: for those the thread is woken.
    wanted: BTreeSet<RunId>,
}

/// The same for the thread itself: it ends when nobody else can reach it.
#[derive(Clone)]
pub(super) struct OwnThread {
    mailbox: mpsc::WeakSender<Work>,
    pub(super) shared: Arc<ThreadShared>,
}

impl OwnThread {
    pub(super) fn of(handle: &ThreadHandle) -> Self {
        Self { mailbox: handle.mailbox.downgrade(), shared: handle.shared.clone() }
    }

    /// How to reach it; none if nobody does any more.
    pub(super) fn handle(&self) -> Option<ThreadHandle> {
        let mailbox = self.mailbox.upgrade()?;
        Some(ThreadHandle { mailbox, shared: self.shared.clone() })
    }
}

/// What others may see of a thread.
#[derive(Default)]
pub(super) struct ThreadShared {
    /// The run whose code is running, and since when.
    pub(super) busy: Mutex<Option<(RunId, Time)>>,
    /// Whether it is awake, and looks for something to do.
    pub(super) looks: AtomicBool,
    /// Fires when the thread is given up: whatever it still says counts for nothing.
    pub(super) gone: CancellationToken,
    held: Mutex<BTreeMap<RunId, Held>>,
    answers: Mutex<Answers>,
    /// Runs whose inbox has grown, and is on its way to the thread.
    grown: Mutex<BTreeSet<RunId>>,
    /// Runs for which something came while an end was being written, and until when that counts.
    contended: Mutex<BTreeMap<RunId, Time>>,
}

/// What holding a run means: the lease, and its place in memory. The place is taken until the
/// lease was given back.
pub(super) struct Held {
    pub(super) fence: Fence,
    pub(super) place: Place,
}

impl ThreadShared {
    /// Leaves an answer; gives it back if the thread must be woken: also because its run is idle
    /// with it, and somebody waits for the place.
    fn leave(&self, answer: CommitAnswer, is_calm: bool, room: &Room) -> Option<CommitAnswer> {
        // Looked at under the lock: whoever waits has the thread look here after having said so.
        let mut answers = self.answers.lock();
        if answers.wanted.remove(&answer.0) || !is_calm || room.is_short() {
            return Some(answer);
        }
        answers.left.push(answer);
        None
    }

    /// The thread has something to do for a run once its commit is answered. True if it is.
    pub(super) fn want_answer(&self, run: RunId) -> bool {
        let mut answers = self.answers.lock();
        let is_there = answers.left.iter().any(|(whose, ..)| *whose == run);
        if !is_there {
            answers.wanted.insert(run);
        }
        is_there
    }

    /// What was left.
    pub(super) fn take_answers(&self) -> Vec<CommitAnswer> {
        std::mem::take(&mut self.answers.lock().left)
    }

    /// An inbox has grown: the thread is about to be told what is in it, or was.
    pub(super) fn expect_mail(&self, run: RunId, is_expected: bool) {
        let mut grown = self.grown.lock();
        match is_expected {
            true => drop(grown.insert(run)),
            false => drop(grown.remove(&run)),
        }
    }

    pub(super) fn expects_mail(&self, run: RunId) -> bool {
        self.grown.lock().contains(&run)
    }

    /// A turn on the end of an attempt was not written, because something had come before it.
    pub(super) fn contend(&self, run: RunId, now: Time) {
        let mut contended = self.contended.lock();
        contended.retain(|_, until| now < *until);
        if contended.len() < limits::CONTENDED_RUNS {
            contended.insert(run, now.after(limits::CONTENDED));
        }
    }

    pub(super) fn is_contended(&self, run: RunId, now: Time) -> bool {
        self.contended.lock().get(&run).is_some_and(|until| now < *until)
    }

    /// The thread will have this run.
    pub(super) fn hold(&self, run: RunId, held: Held) {
        self.held.lock().insert(run, held);
    }

    /// The thread is done with a run; none if it was given up before.
    pub(super) fn take(&self, run: RunId) -> Option<Held> {
        self.held.lock().remove(&run)
    }

    /// The same, of a run that is held by this lease. It may be held by another one since.
    pub(super) fn take_of(&self, run: RunId, fence: Fence) -> Option<Held> {
        let mut held = self.held.lock();
        let is_its = held.get(&run).is_some_and(|held| held.fence == fence);
        is_its.then(|| held.remove(&run)).flatten()
    }

    /// Everything that the thread holds, or is about to.
    pub(super) fn take_all(&self) -> BTreeMap<RunId, Held> {
        std::mem::take(&mut *self.held.lock())
    }

    /// What is held under an epoch, or an older one, is gone.
    pub(super) fn forget(&self, epoch: Epoch) {
        self.held.lock().retain(|_, held| held.fence.epoch > epoch);
    }

    pub(super) fn holds(&self, run: RunId) -> bool {
        self.held.lock().contains_key(&run)
    }

    /// Every run that the thread holds.
    pub(super) fn runs(&self) -> Vec<RunId> {
        self.held.lock().keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a start came late, and said that it had failed. The run had begun all the
    /// same, was let go of, and held again by a newer lease: that one was taken away, and nobody
    /// told the run's thread of anything any more.
    #[test]
    fn late_word_of_a_start_takes_no_newer_lease_away() {
        let (shared, room) = (ThreadShared::default(), Room::new(2));
        let run = RunId::default();
        let lease = |counter| Fence { epoch: Epoch(1), counter };
        let hold = |fence| {
            let place = room.take(1).pop().expect("there is room");
            shared.hold(run, Held { fence, place });
        };
        hold(lease(1));
        drop(shared.take(run));
        hold(lease(2));
        assert!(shared.take_of(run, lease(1)).is_none());
        assert!(shared.holds(run), "it is held by the newer lease");
        assert!(shared.take_of(run, lease(2)).is_some());
        assert!(!shared.holds(run));
    }
}
