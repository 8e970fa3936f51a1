//! The workflow threads: plain threads outside any runtime, each with the runs that are pinned to
//! it. A run's futures never leave their thread, so they need not be `Send`.
//!
//! In:    leases, messages, answers to commits, queries.
//! Out:   decisions, on their way to the desk.
//! Never: waits for a store if anything else is there to be done: while one run's commit is on its
//!        way, others have their turns.

mod cache;
mod crash;
mod offer;
mod room;
mod seat;
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
        Core,
        desk::{TurnDone, TurnLease},
    },
    limits,
};
use crash::CrashFile;
use offer::Offer;
use room::Room;
use seat::{Held, Seat};
use watchdog::Leash;

pub(super) use room::Place;

/// What a query is answered with.
pub(super) type Answer = std::result::Result<Option<Payload>, Failure>;

/// The same of a run that had to be replayed for it; or why that cannot be done.
pub(super) type ColdAnswer = std::result::Result<Answer, String>;

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
    LetGo(RunId),
    /// A held run's code was woken by something that is in no history.
    Intruded(RunId),
    /// A query of a run, if it is held here.
    Query(RunId, Name, Option<Payload>, oneshot::Sender<Option<Answer>>),
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
    core: Arc<Core>,
    workflows: Workflows,
    room: Arc<Room>,
    seats: Vec<RwLock<Seat>>,
    crash_file: Arc<CrashFile>,
    leash: Arc<Leash>,
    in_step: Option<Duration>,
}

impl Threads {
    pub(super) fn start(core: &Arc<Core>, setup: &Setup) -> Result<Self> {
        let crash_file = CrashFile::open(setup.crash_file.as_deref(), setup.threads)?;
        let mut threads = Self {
            core: core.clone(),
            workflows: setup.workflows.clone(),
            room: Arc::new(Room::new(setup.cached_runs)),
            seats: Vec::with_capacity(setup.threads),
            crash_file: Arc::new(crash_file),
            leash: Arc::default(),
            in_step: core.settings.in_step.then_some(setup.stuck_after),
        };
        for place in 0..setup.threads {
            let seat = threads.seat(core, place)?;
            threads.seats.push(RwLock::new(seat));
        }
        Ok(threads)
    }

    /// A new thread for a place.
    fn seat(&self, core: &Arc<Core>, place: usize) -> Result<Seat> {
        Seat::start(thread::Start {
            core: core.clone(),
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
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % self.seats.len()
    }

    /// Where a run's thread sits now.
    fn seat_of(&self, run: RunId) -> Seat {
        self.seats[self.place(run)].read().clone()
    }

    /// Takes places for runs that are about to be claimed: one at least, `most` at the most. Runs
    /// that wait for nothing but messages make room for them.
    pub(super) async fn make_room(&self, most: usize) -> Vec<Place> {
        let places = self.room.take(most);
        if !places.is_empty() {
            return places;
        }
        let waiter = self.room.want();
        for seat in &self.seats {
            // A thread with a full mailbox looks after each piece of work anyway.
            let _ = seat.read().mailbox.try_send(Work::MakeRoom);
        }
        let first = waiter.wait().await;
        first.into_iter().chain(self.room.take(most - 1)).collect()
    }

    /// A run was claimed; its thread has it from now on.
    pub(super) async fn claimed(&self, lease: TurnLease, place: Place) {
        let held = Held { fence: lease.fence, place };
        let seat = {
            // Nobody can give this thread up before it is known to hold the run.
            let seat = self.seats[self.place(lease.run)].read();
            seat.shared.hold(lease.run, held);
            seat.clone()
        };
        seat.send(Work::Claimed(Box::new(lease))).await;
    }

    /// Draws a run that is about to begin. A run's thread follows from its id, so one that is
    /// awake with nothing to do, or at least not much further behind than others, is found by
    /// drawing again.
    pub(super) fn choose(&self, draw: &mut dyn FnMut() -> RunId) -> RunId {
        let now = self.core.now();
        let look = |seat: &RwLock<Seat>| (seat.read().behind(now), seat.read().is_free());
        let looks: Vec<_> = self.seats.iter().map(look).collect();
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
        let seat = self.seats[self.place(run)].read();
        if seat.waits() > limits::EXPECTED_BEHIND {
            return None;
        }
        let place = self.room.take(1).pop()?;
        let fence = self.core.new_fence();
        seat.shared.hold(run, Held { fence, place });
        Some(fence)
    }

    /// Whether the thread of a run that is expected comes to it in a moment.
    pub(super) fn is_prompt(&self, run: RunId) -> bool {
        let seat = self.seats[self.place(run)].read();
        seat.behind(self.core.now()) <= limits::AHEAD
    }

    /// A run that was expected has begun. If its thread was given up meanwhile, anybody may have
    /// the run.
    pub(super) async fn begun(&self, lease: TurnLease) {
        let (run, fence, seat) = (lease.run, lease.fence, self.seat_of(lease.run));
        let sent = seat.shared.holds(run) && seat.send(Work::Claimed(Box::new(lease))).await;
        if !sent && let Err(error) = self.core.release(run, fence).await {
            tracing::error!(%run, %error, "the run could not be let go of");
        }
    }

    /// A run that was expected under a lease has not begun. What is held by another one stays.
    pub(super) fn unexpect(&self, run: RunId, fence: Fence) {
        drop(self.seat_of(run).shared.take_of(run, fence));
    }

    /// An inbox has grown, and is about to be read: ends of attempts come after what is in it.
    pub(super) fn inbox_grew(&self, run: RunId) {
        let shared = self.seat_of(run).shared;
        if shared.holds(run) {
            shared.expect_mail(run, true);
        }
    }

    pub(super) async fn inbox(&self, run: RunId, inbox: Vec<Received>) {
        self.seat_of(run).send(Work::Inbox(run, inbox)).await;
    }

    /// An inbox could not be read.
    pub(super) fn no_inbox(&self, run: RunId) {
        self.seat_of(run).shared.expect_mail(run, false);
    }

    /// A run is closed: its code is not needed any more. If the thread is too busy to hear it now,
    /// the run goes when room is needed.
    pub(super) fn closed(&self, run: RunId) {
        let _ = self.seat_of(run).mailbox.try_send(Work::Closed(run));
    }

    /// Asks a run that is held here; none if it is not.
    pub(super) async fn query(
        &self,
        run: RunId,
        name: Name,
        input: Option<Payload>,
    ) -> Result<Option<Answer>> {
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
        let seat = self.seat_of(run);
        let answered = async {
            seat.send(work).await;
            let late = Error::TimedOut("the answer to the query");
            tokio::select! {
                biased;
                answer = answer => answer.map_err(|_| Error::ShuttingDown),
                () = seat.shared.gone.cancelled() => Err(late),
            }
        };
        let late = |_| Err(Error::TimedOut("the answer to the query"));
        tokio::time::timeout(limits::QUERY, answered).await.unwrap_or_else(late)
    }

    /// Lets go of what is held under an epoch, or an older one, without a word: it is somebody
    /// else's. A thread that is too busy to hear it learns from the answers to its commits.
    pub(super) fn forget(&self, epoch: Epoch) {
        for seat in &self.seats {
            let seat = seat.read();
            seat.shared.forget(epoch);
            let _ = seat.mailbox.try_send(Work::Forget(epoch));
        }
    }

    /// Lets go of every run that is held now.
    pub(super) async fn let_go_of_all(&self) {
        for run in self.held() {
            self.seat_of(run).send(Work::LetGo(run)).await;
        }
    }

    /// Whether a run is held here.
    pub(super) fn holds(&self, run: RunId) -> bool {
        self.seats[self.place(run)].read().shared.holds(run)
    }

    /// Every run that is held here.
    pub(super) fn held(&self) -> Vec<RunId> {
        self.seats.iter().flat_map(|seat| seat.read().shared.runs()).collect()
    }

    /// Runs that were in the middle of a turn when the process died, too often.
    pub(super) fn crashed(&self) -> Vec<(RunId, u32)> {
        self.crash_file.crashed()
    }

    /// Lets go of every run and ends the threads.
    pub(super) async fn stop(&self) {
        let seats: Vec<_> = self.seats.iter().map(|seat| seat.read().clone()).collect();
        for seat in seats {
            let (done, ended) = oneshot::channel();
            if seat.send(Work::Stop(done)).await {
                // A thread that is stuck in user code does not answer; nobody waits for it.
                let _ = tokio::time::timeout(limits::QUERY, ended).await;
            }
        }
    }
}
