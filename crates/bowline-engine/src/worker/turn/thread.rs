//! One workflow thread: takes work in order, has turns, sends decisions away.

mod decide;
mod hold;
mod query;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use bowline_core::{Event, Fence, Received, RunId, State, Time};
use bowline_replay::{Fault, Replay};
use tokio::sync::mpsc;

use super::{
    Work,
    cache::{Cache, Cached},
    crash::CrashFile,
    handle::{OwnThread, ThreadHandle},
    offer::Offer,
    room::Room,
    step,
    wait::Waits,
    watchdog::TurnClock,
};
use crate::{
    Error, Result,
    engine::{
        EngineInner,
        exchange::{TurnDone, TurnLease},
    },
    limits,
    worker::registry::Workflows,
};

pub(super) use self::hold::release;

/// What a thread begins with.
pub(super) struct Start {
    pub(super) inner: Arc<EngineInner>,
    pub(super) workflows: Workflows,
    pub(super) room: Arc<Room>,
    pub(super) crash_file: Arc<CrashFile>,
    pub(super) leash: Arc<TurnClock>,
    pub(super) place: usize,
    /// Set if the runtime is to wait for every piece of work, this long at the most.
    pub(super) in_step: Option<Duration>,
}

impl ThreadHandle {
    pub(super) fn start(start: Start) -> Result<Self> {
        let (mailbox, mut work) = mpsc::channel(limits::THREAD_QUEUE);
        let handle = Self { mailbox, shared: Arc::default() };
        let own = OwnThread::of(&handle);
        let next: Next = match start.in_step {
            Some(patience) => step::in_step(&start.inner, work, patience),
            None => {
                let mut waits = Waits::new(handle.shared.clone());
                Box::new(move || waits.next(&mut work))
            }
        };
        std::thread::Builder::new()
            .name(format!("bowline-turns-{}", start.place))
            .spawn(move || run_thread(start, own, next))
            .map_err(|error| Error::Invalid(format!("a thread could not be started: {error}")))?;
        Ok(handle)
    }
}

/// Waits for the next piece of work; none when there will be no more.
pub(super) type Next = Box<dyn FnMut() -> Option<Work> + Send>;

/// Users' panics are caught where their code is called. One that gets here is a mistake of ours:
/// the thread looks stuck to the watchdog then, which starts another one.
fn run_thread(start: Start, handle: OwnThread, next: Next) {
    let (shared, leash) = (handle.shared.clone(), start.leash.clone());
    let (thread, mut next) = (Thread::new(start, handle), next);
    // Asking for work says that all before is done, so it goes after the thread and its runs.
    if catch_unwind(AssertUnwindSafe(|| thread.run(&mut next))).is_err() {
        let mut busy = shared.busy.lock();
        let run = busy.map(|(run, _)| run).unwrap_or_default();
        *busy = Some((run, Time(i64::MIN)));
        drop(busy);
        leash.pull();
    }
}

struct Thread {
    inner: Arc<EngineInner>,
    workflows: Workflows,
    room: Arc<Room>,
    crash_file: Arc<CrashFile>,
    leash: Arc<TurnClock>,
    place: usize,
    /// The run whose code it is in.
    inside: Option<RunId>,
    handle: OwnThread,
    cache: Cache,
    /// How often the turn of a run has failed in a row.
    failures: BTreeMap<RunId, u32>,
}

impl Thread {
    fn new(start: Start, handle: OwnThread) -> Self {
        Self {
            inner: start.inner,
            workflows: start.workflows,
            room: start.room,
            crash_file: start.crash_file,
            leash: start.leash,
            place: start.place,
            inside: None,
            handle,
            cache: Cache::default(),
            failures: BTreeMap::new(),
        }
    }

    fn run(mut self, next: &mut Next) {
        while let Some(work) = next() {
            if self.is_given_up() {
                return;
            }
            self.answered();
            match work {
                Work::Claimed(lease) => self.claimed(*lease),
                Work::Inbox(run, inbox) => self.inbox(run, inbox),
                Work::Ended(run, offer) => self.ended(run, offer),
                Work::Committed(run, fence, done) => self.committed(run, fence, *done),
                Work::Forget(epoch) => self.cache.forget(epoch),
                Work::Closed(run) => self.forget(run),
                Work::Release(run) => drop(self.release_run(run)),
                Work::Intruded(run) => self.intruded(run),
                Work::MakeRoom => {}
                Work::Query(run, name, input, reply) => {
                    // Whoever asked may have gone.
                    let _ = reply.send(self.query(run, &name, input));
                }
                Work::Cold(cold) => self.cold(*cold),
                Work::Stop(done) => {
                    self.stop();
                    let _ = done.send(());
                    return;
                }
            }
            self.make_room();
        }
    }

    fn is_given_up(&self) -> bool {
        self.handle.shared.gone.is_cancelled()
    }

    fn claimed(&mut self, lease: TurnLease) {
        let run = lease.run;
        let Some(workflow) = self.workflows.find(&lease.name) else {
            self.release_run(run);
            return;
        };
        self.enter(run);
        let mut replay = Replay::new(workflow, run);
        replay.guard(self.alarm(run));
        let mut state = State::new(run);
        let mut fault = None;
        for event in &lease.events {
            state.evolve(event);
            if let Err(error) = replay.feed(event) {
                fault = Some(error);
                break;
            }
            self.go_on(run, event);
        }
        let mut cached = Cached::new(replay, state, &lease);
        cached.receive(lease.inbox);
        self.cache.insert(run, cached);
        match fault {
            Some(fault) => {
                self.leave();
                self.failed(run, &fault.to_string(), lasts(&fault));
            }
            // Most have their turn now.
            None => {
                self.turn(run);
                self.leave();
            }
        }
    }

    fn inbox(&mut self, run: RunId, inbox: Vec<Received>) {
        self.handle.shared.expect_mail(run, false);
        if let Some(cached) = self.cache.touch(run) {
            cached.receive(inbox);
            self.turn(run);
        }
    }

    fn ended(&mut self, run: RunId, offer: Offer) {
        if let Some(cached) = self.cache.touch(run) {
            cached.offers.push(offer);
            self.turn(run);
        }
    }

    /// Reads the answers that nobody has woken this thread for.
    fn answered(&mut self) {
        for (run, fence, done) in self.handle.shared.take_answers() {
            self.committed(run, fence, *done);
        }
    }

    fn committed(&mut self, run: RunId, fence: Fence, done: Result<TurnDone>) {
        // An answer that was under way while the run was lost, and claimed again, is not about what
        // is held now.
        let is_its = |cached: &&mut Cached| cached.fence == fence;
        let Some(cached) = self.cache.touch(run).filter(is_its) else { return };
        match done {
            Ok(done) => {
                cached.committed(done);
                self.failures.remove(&run);
                self.crash_file.survived(run);
                let open = cached.state.as_ref().is_some_and(|state| state.status.is_open());
                match open {
                    true => {
                        self.intruded(run);
                        self.turn(run);
                    }
                    false => self.forget(run),
                }
            }
            // It was about to begin with this turn, and has not: or somebody will find it later.
            Err(Error::NotFound(_)) => {
                self.release_run(run);
            }
            // The store has refused it for a reason that will not go away by itself.
            Err(error) if !error.is_race() && !self.inner.stopping.is_cancelled() => {
                self.failed(run, &error.to_string(), false);
            }
            // What the code did in memory is not what history says: only a replay can tell.
            Err(error) => {
                if cached.carries {
                    self.handle.shared.contend(run, self.inner.now());
                }
                tracing::debug!(%run, %error, "the turn was not written; it is replayed");
                self.release_run(run);
            }
        }
    }

    /// What is called when a run's code is woken by something that is in no history. It may be kept
    /// by whoever has the waker, for as long as they like: it holds nobody.
    fn alarm(&self, run: RunId) -> impl Fn() + Send + Sync + 'static {
        let (inner, handle) = (Arc::downgrade(&self.inner), self.handle.clone());
        move || {
            let (Some(inner), Some(handle)) = (inner.upgrade(), handle.handle()) else { return };
            inner.spawn(async move {
                let _ = handle.send(Work::Intruded(run)).await;
            });
        }
    }

    /// Parks a run whose code was woken by something that is in no history: nobody would wake it
    /// after a restart. While a commit is on its way, its answer is waited for.
    fn intruded(&mut self, run: RunId) {
        let Some(cached) = self.cache.find(run) else { return };
        let Err(fault) = cached.replay.settle() else { return };
        match cached.state.is_some() {
            true => self.failed(run, &fault.to_string(), lasts(&fault)),
            false if self.handle.shared.want_answer(run) => self.answered(),
            false => {}
        }
    }

    /// The code of a run is about to be called; a thread that is in it already stays there.
    fn enter(&mut self, run: RunId) {
        *self.handle.shared.busy.lock() = Some((run, self.inner.now()));
        self.leash.pull();
        if self.inside.replace(run) != Some(run) {
            self.crash_file.enter(self.place, run);
        }
    }

    /// It has returned, if it was called.
    fn leave(&mut self) {
        if self.is_given_up() || self.inside.take().is_none() {
            return;
        }
        *self.handle.shared.busy.lock() = None;
        self.crash_file.leave(self.place);
    }

    /// A long history takes its time; code that comes from one event to the next is not stuck.
    fn go_on(&self, run: RunId, event: &Event) {
        if event.id.0.is_multiple_of(limits::REPLAY_LOOKS) && !self.is_given_up() {
            *self.handle.shared.busy.lock() = Some((run, self.inner.now()));
        }
    }
}

/// Whether trying again cannot help: only another process can, which has other code or more of it.
fn lasts(fault: &Fault) -> bool {
    match fault {
        Fault::Panicked(failure) => failure.kind == bowline_replay::UNFIT,
        _ => true,
    }
}
