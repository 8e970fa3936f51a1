//! The workflow threads: plain threads outside any runtime, each with the runs that are pinned to
//! it. A run's futures never leave their thread, so they need not be `Send`.
//!
//! In:    leases, messages, answers to commits, queries.
//! Out:   decisions, on their way to the exchange.
//! Never: waits for a store if anything else is there to be done: while one run's commit is on its
//!        way, others have their turns.

mod cache;
mod crash;
mod handle;
mod offer;
mod room;
mod step;
mod thread;
mod wait;
pub(super) mod watchdog;

use std::{sync::Arc, time::Duration};

use bowline_core::{Epoch, Event, Failure, Fence, Name, Payload, Received, RunId};
use bowline_replay::Workflow;
use parking_lot::RwLock;
use tokio::sync::oneshot;

use super::{Setup, registry::Workflows};
use crate::{
    Error, Result,
    engine::{
        EngineInner,
        exchange::{TurnDone, TurnLease},
    },
    limits,
};
use crash::CrashFile;
use handle::{Held, ThreadHandle};
use offer::Offer;
use room::Room;
use watchdog::TurnClock;

pub(super) use room::Place;

/// What a query is answered with.
pub(super) type NativeAnswer = std::result::Result<Option<Payload>, Failure>;

/// The same of a run that had to be replayed for it; or why that cannot be done.
pub(super) type ColdAnswer = std::result::Result<NativeAnswer, String>;

/// Something for one workflow thread to do.
pub(super) enum Work {
    /// A run is held now: replay it and have its turn.
    Claimed(Box<TurnLease>),
    /// A held run has these messages.
    Inbox(RunId, Vec<Received>),
    /// An attempt of a held run has ended, and nobody knows yet.
    Ended(RunId, Offer),
    /// A turn's commit under this lease is answered.
    Committed(RunId, Fence, Box<Result<TurnDone>>),
    /// Runs that are held under this epoch, or an older one, belong to others by now.
    Forget(Epoch),
    /// A held run was closed by somebody else.
    Closed(RunId),
    /// Nobody knows whether a run that is held is stored as it is known here.
    Release(RunId),
    /// A held run's code was woken by something that is in no history.
    Intruded(RunId),
    /// A query of a run, if it is held here.
    Query(RunId, Name, Option<Payload>, oneshot::Sender<Option<NativeAnswer>>),
    /// A query of a run that is held nowhere.
    Cold(Box<Cold>),
    /// Somebody waits for the place of an idle run.
    MakeRoom,
    /// Let go of everything, and end.
    Stop(oneshot::Sender<()>),
}

/// A query that needs a replay of its own.
pub(super) struct Cold {
    run: RunId,
    workflow: Arc<dyn Workflow>,
    events: Vec<Event>,
    name: Name,
    input: Option<Payload>,
    reply: oneshot::Sender<ColdAnswer>,
}

/// All workflow threads. A run always goes to the same place; a thread that is stuck is replaced.
pub(super) struct Threads {
    inner: Arc<EngineInner>,
    workflows: Workflows,
    room: Arc<Room>,
    handles: Vec<RwLock<ThreadHandle>>,
    crash_file: Arc<CrashFile>,
    leash: Arc<TurnClock>,
    in_step: Option<Duration>,
}

impl Threads {
    pub(super) fn start(inner: &Arc<EngineInner>, setup: &Setup) -> Result<Self> {
        let crash_file = CrashFile::open(setup.crash_file.as_deref(), setup.threads)?;
        let mut threads = Self {
            inner: inner.clone(),
            workflows: setup.workflows.clone(),
            room: Arc::new(Room::new(setup.cached_runs)),
            handles: Vec::with_capacity(setup.threads),
            crash_file: Arc::new(crash_file),
            leash: Arc::default(),
            in_step: inner.settings.in_step.then_some(setup.stuck_after),
        };
        for place in 0..setup.threads {
            let handle = threads.handle(inner, place)?;
            threads.handles.push(RwLock::new(handle));
        }
        Ok(threads)
    }

    /// A new thread for a place.
    fn handle(&self, inner: &Arc<EngineInner>, place: usize) -> Result<ThreadHandle> {
        ThreadHandle::start(thread::Start {
            inner: inner.clone(),
            workflows: self.workflows.clone(),
            room: self.room.clone(),
            crash_file: self.crash_file.clone(),
            leash: self.leash.clone(),
            place,
            in_step: self.in_step,
        })
    }

    fn place(&self, run: RunId) -> usize {
        let mixed = (run.uuid ^ (run.uuid >> 64)) as u64;
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % self.handles.len()
    }

    /// Where a run's thread sits now.
    fn handle_of(&self, run: RunId) -> ThreadHandle {
        self.handles[self.place(run)].read().clone()
    }

    /// Takes places for runs that are about to be claimed: one at least, `most` at the most. Runs
    /// that wait for nothing but messages make room for them.
    pub(super) async fn make_room(&self, most: usize) -> Vec<Place> {
        let places = self.room.take(most);
        if !places.is_empty() {
            return places;
        }
        let waiter = self.room.want();
        for handle in &self.handles {
            // A thread with a full mailbox looks after each piece of work anyway.
            let _ = handle.read().mailbox.try_send(Work::MakeRoom);
        }
        let first = waiter.wait().await;
        first.into_iter().chain(self.room.take(most - 1)).collect()
    }

    /// A run was claimed; its thread has it from now on.
    pub(super) async fn claimed(&self, lease: TurnLease, place: Place) {
        let held = Held { fence: lease.fence, place };
        let handle = {
            // Nobody can give this thread up before it is known to hold the run.
            let handle = self.handles[self.place(lease.run)].read();
            handle.shared.hold(lease.run, held);
            handle.clone()
        };
        handle.send(Work::Claimed(Box::new(lease))).await;
    }

    /// Draws a run that is about to begin. A run's thread follows from its id, so one that is
    /// awake with nothing to do, or at least not much further behind than others, is found by
    /// drawing again.
    pub(super) fn choose(&self, draw: &mut dyn FnMut() -> RunId) -> RunId {
        let now = self.inner.now();
        let look =
            |handle: &RwLock<ThreadHandle>| (handle.read().behind(now), handle.read().is_free());
        let looks: Vec<_> = self.handles.iter().map(look).collect();
        let least = looks.iter().map(|(behind, _)| *behind).min().unwrap_or_default();
        let bound = least.saturating_add(limits::BEHIND_MORE);
        let any_free = looks.iter().any(|(behind, free)| *free && *behind <= bound);
        let mut run = draw();
        for _ in 0..limits::DRAWS * looks.len() {
            let (behind, is_free) = looks[self.place(run)];
            if behind <= bound && (is_free || !any_free) {
                break;
            }
            run = draw();
        }
        run
    }

    /// Keeps a place for a run that is about to begin, if there is a free one and its thread is
    /// not far behind. The run counts as held from now on.
    pub(super) fn expect(&self, run: RunId) -> Option<Fence> {
        let handle = self.handles[self.place(run)].read();
        if handle.waits() > limits::EXPECTED_BEHIND {
            return None;
        }
        let place = self.room.take(1).pop()?;
        let fence = self.inner.new_fence();
        handle.shared.hold(run, Held { fence, place });
        Some(fence)
    }

    /// Whether the thread of a run that is expected comes to it in a moment.
    pub(super) fn is_prompt(&self, run: RunId) -> bool {
        let handle = self.handles[self.place(run)].read();
        handle.behind(self.inner.now()) <= limits::AHEAD
    }

    /// A run that was expected has begun. If its thread was given up meanwhile, anybody may have
    /// the run.
    pub(super) async fn begun(&self, lease: TurnLease) {
        let (run, fence, handle) = (lease.run, lease.fence, self.handle_of(lease.run));
        let sent = handle.shared.holds(run) && handle.send(Work::Claimed(Box::new(lease))).await;
        if !sent && let Err(error) = self.inner.release(run, fence).await {
            tracing::error!(%run, %error, "the run could not be let go of");
        }
    }

    /// A run that was expected under a lease has not begun. What is held by another one stays.
    pub(super) fn unexpect(&self, run: RunId, fence: Fence) {
        drop(self.handle_of(run).shared.take_of(run, fence));
    }

    /// An inbox has grown, and is about to be read: ends of attempts come after what is in it.
    pub(super) fn inbox_grew(&self, run: RunId) {
        let shared = self.handle_of(run).shared;
        if shared.holds(run) {
            shared.expect_mail(run, true);
        }
    }

    pub(super) async fn inbox(&self, run: RunId, inbox: Vec<Received>) {
        self.handle_of(run).send(Work::Inbox(run, inbox)).await;
    }

    /// An inbox could not be read.
    pub(super) fn no_inbox(&self, run: RunId) {
        self.handle_of(run).shared.expect_mail(run, false);
    }

    /// A run is closed: its code is not needed any more. If the thread is too busy to hear it now,
    /// the run goes when room is needed.
    pub(super) fn closed(&self, run: RunId) {
        let _ = self.handle_of(run).mailbox.try_send(Work::Closed(run));
    }

    /// Asks a run that is held here; none if it is not.
    pub(super) async fn query(
        &self,
        run: RunId,
        name: Name,
        input: Option<Payload>,
    ) -> Result<Option<NativeAnswer>> {
        let (reply, answer) = oneshot::channel();
        self.ask(run, Work::Query(run, name, input, reply), answer).await
    }

    /// Replays a run that is held nowhere, and asks it.
    pub(super) async fn query_cold(
        &self,
        run: RunId,
        workflow: Arc<dyn Workflow>,
        events: Vec<Event>,
        name: Name,
        input: Option<Payload>,
    ) -> Result<ColdAnswer> {
        let (reply, answer) = oneshot::channel();
        let cold = Cold { run, workflow, events, name, input, reply };
        self.ask(run, Work::Cold(Box::new(cold)), answer).await
    }

    async fn ask<T>(&self, run: RunId, work: Work, answer: oneshot::Receiver<T>) -> Result<T> {
        let handle = self.handle_of(run);
        let answered = async {
            handle.send(work).await;
            let late = Error::TimedOut("the answer to the query");
            tokio::select! {
                biased;
                answer = answer => answer.map_err(|_| Error::ShuttingDown),
                () = handle.shared.gone.cancelled() => Err(late),
            }
        };
        let late = |_| Err(Error::TimedOut("the answer to the query"));
        tokio::time::timeout(limits::QUERY, answered).await.unwrap_or_else(late)
    }

    /// Lets go of what is held under an epoch, or an older one, without a word: it is somebody
    /// else's. A thread that is too busy to hear it learns from the answers to its commits.
    pub(super) fn forget(&self, epoch: Epoch) {
        for handle in &self.handles {
            let handle = handle.read();
            handle.shared.forget(epoch);
            let _ = handle.mailbox.try_send(Work::Forget(epoch));
        }
    }

    /// Lets go of every run that is held now.
    pub(super) async fn release_all(&self) {
        for run in self.held() {
            self.handle_of(run).send(Work::Release(run)).await;
        }
    }

    /// Whether a run is held here.
    pub(super) fn holds(&self, run: RunId) -> bool {
        self.handles[self.place(run)].read().shared.holds(run)
    }

    /// Every run that is held here.
    pub(super) fn held(&self) -> Vec<RunId> {
        self.handles.iter().flat_map(|handle| handle.read().shared.runs()).collect()
    }

    /// Runs that were in the middle of a turn when the process died, too often.
    pub(super) fn crashed(&self) -> Vec<(RunId, u32)> {
        self.crash_file.crashed()
    }

    /// Lets go of every run and ends the threads.
    pub(super) async fn stop(&self) {
        let handles: Vec<_> = self.handles.iter().map(|handle| handle.read().clone()).collect();
        for handle in handles {
            let (done, ended) = oneshot::channel();
            if handle.send(Work::Stop(done)).await {
                // A thread that is stuck in user code does not answer; nobody waits for it.
                let _ = tokio::time::timeout(limits::THREAD_STOPS, ended).await;
            }
        }
    }
}
