//! Where user code runs. Never touches a store: work is claimed and settled through the engine's
//! exchange.

pub mod activity;
pub mod registry;
pub mod slots;

mod attempts;
mod contact;
mod dispatch;
mod drain;
mod local;
mod parked;
mod seen;
mod turn;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Weak},
    time::Duration,
};

use bowline_core::{Identity, Name, Payload, Queue, RunId, Time};

use crate::{
    Error, QueueOptions, Result,
    engine::{
        EngineInner,
        exchange::{LocalWorker, Stop, watch_over},
        run::is_parked,
    },
    limits,
};
use attempts::Attempts;
use registry::{Activities, Workflows};
use slots::{Leaks, Rate, SlotLimits, Slots};
use turn::Threads;

/// From how much given-up code on this worker takes no further activities.
const LEAKS_MAX: usize = 100;

/// What a worker is told once, at its start.
pub(crate) struct Setup {
    pub(crate) identity: Identity,
    pub(crate) queues: BTreeMap<Queue, QueueOptions>,
    pub(crate) workflows: Workflows,
    pub(crate) activities: Activities,
    pub(crate) cached_runs: usize,
    pub(crate) threads: usize,
    pub(crate) stuck_after: Duration,
    pub(crate) crash_file: Option<PathBuf>,
    /// Sees attempts pass points.
    pub(crate) probe: Option<Arc<dyn activity::Probe>>,
}

/// Runs turns on its own threads, and activities on the runtime.
pub(crate) struct Worker {
    inner: Arc<EngineInner>,
    /// For work that outlives a call.
    itself: Weak<Self>,
    identity: Identity,
    workflows: Workflows,
    activities: Activities,
    queues: BTreeMap<Queue, Lane>,
    threads: Threads,
    attempts: Attempts,
    leaks: Leaks,
    dispatch: dispatch::WorkerBells,
    parked: parked::ParkedBell,
}

/// One queue at this worker.
struct Lane {
    slots: Slots,
    bell: dispatch::LaneBell,
    /// Held from a claim until what it took is known here.
    claims: tokio::sync::Mutex<()>,
}

fn slot_limits(options: QueueOptions) -> SlotLimits {
    SlotLimits { count: options.slots, rate: options.rate.map(Rate::per_second) }
}

impl Worker {
    /// Starts the threads and the loops that fetch work.
    pub(crate) async fn start(inner: &Arc<EngineInner>, setup: Setup) -> Result<Arc<Self>> {
        let leaks = Leaks::new(LEAKS_MAX);
        let lane = |options| Lane {
            slots: Slots::new(slot_limits(options), leaks.clone(), inner.clock.clone()),
            bell: dispatch::LaneBell::default(),
            claims: tokio::sync::Mutex::default(),
        };
        let queues = setup.queues.iter().map(|(queue, o)| (queue.clone(), lane(*o))).collect();
        let (attempts, reports) = Attempts::new(inner, &setup)?;
        let threads = Threads::start(inner, &setup)?;
        let patience = setup.stuck_after;
        let worker = Arc::new_cyclic(|itself| Self {
            inner: inner.clone(),
            itself: itself.clone(),
            identity: setup.identity,
            workflows: setup.workflows,
            activities: setup.activities,
            queues,
            threads,
            attempts,
            leaks,
            dispatch: dispatch::WorkerBells::default(),
            parked: parked::ParkedBell::default(),
        });
        let local: Arc<dyn LocalWorker> = worker.clone();
        if !inner.local.take(local) {
            return Err(Error::Invalid("this engine has a worker already".into()));
        }
        inner.background.spawn_on(watch_over(inner.clone()), &inner.runtime);
        worker.park_crashed().await;
        inner.spawn(attempts::run(worker.clone(), reports));
        inner.spawn(dispatch::turns(worker.clone()));
        inner.spawn(dispatch::inboxes(worker.clone()));
        inner.spawn(parked::run(worker.clone()));
        inner.spawn(turn::watchdog::run(worker.clone(), patience));
        for queue in worker.queues.keys() {
            inner.spawn(dispatch::activities(worker.clone(), queue.clone()));
        }
        Ok(worker)
    }

    /// Other limits for a queue, from now on.
    pub(crate) fn configure(&self, queue: &Queue, options: QueueOptions) -> Result<()> {
        let lane = self.queues.get(queue).ok_or_else(|| {
            Error::Invalid(format!("this worker does not work on the queue {queue:?}"))
        })?;
        lane.slots.configure(slot_limits(options));
        Ok(())
    }

    /// Asks a run's code something.
    pub(crate) async fn query(
        &self,
        run: RunId,
        name: Name,
        input: Option<Payload>,
    ) -> Result<Option<Payload>> {
        let head = self.inner.head_of(run).await?;
        let workflow = self
            .workflows
            .find(&head.name)
            .ok_or_else(|| Error::Unregistered { kind: "workflow", name: head.name.to_string() })?;
        if let Some(answer) = self.threads.query(run, name.clone(), input.clone()).await? {
            return answer.map_err(|failure| Error::Query(failure.to_string()));
        }
        let late = |_| Err(Error::TimedOut("the first turn of the run"));
        let begun = tokio::time::timeout(limits::FIRST_TURN, self.inner.begun(run));
        let events = begun.await.unwrap_or_else(late)?;
        let answer = self.threads.query_cold(run, workflow, events, name, input).await?;
        let fault = match answer {
            Ok(answer) => return answer.map_err(|failure| Error::Query(failure.to_string())),
            Err(fault) => fault,
        };
        // It cannot be replayed: where that is known already, there is more to say about it.
        is_parked(&self.inner.head_of(run).await?, Time::MAX)?;
        Err(Error::Query(fault))
    }

    /// Runs that took the whole process down, again and again, are parked.
    async fn park_crashed(&self) {
        for (run, failures) in self.threads.crashed() {
            let reason = format!("its turn took the whole process down {failures} times");
            self.inner.park(run, None, Stop { failures, reason, harms: true }).await;
        }
    }
}
