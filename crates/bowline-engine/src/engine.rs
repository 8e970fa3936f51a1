//! The half of the house that never runs user code: it reads, decides, writes and tells.
//!
//! One [`EngineInner`] is shared by the doors, which ask, and by the worker, which claims and
//! settles.

mod ahead;
pub(crate) mod alarm;
pub(crate) mod control;
pub(crate) mod exchange;
pub(crate) mod fence;
pub(crate) mod follow;
pub(crate) mod intake;
pub(crate) mod killable;
pub(crate) mod member;
pub(crate) mod net;
pub(crate) mod parked;
pub(crate) mod peer;
pub(crate) mod receipt;
pub(crate) mod recover;
pub(crate) mod remote;
mod replace;
pub(crate) mod run;
pub(crate) mod space;
pub(crate) mod submit;
pub(crate) mod sweep;
pub(crate) mod update;
pub(crate) mod watch;

use std::{
    sync::{Arc, OnceLock, atomic::AtomicU64},
    time::Duration,
};

use bowline_core::{CommitId, Epoch, Fence, Identity, Namespace, RunId, Time};
use bowline_store::{Join, Store};
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{Result, Schedules, clock::Clock, host::Host, ids::Ids, metrics::Meter};

/// What the whole engine shares.
pub(crate) struct EngineInner {
    /// Private: the other half of the house never touches a store.
    store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) settings: Settings,
    /// Who this process is in the store.
    pub(crate) standing: member::Standing,
    /// Where background work runs.
    pub(crate) runtime: Handle,
    /// Background work that a close waits for.
    pub(crate) background: TaskTracker,
    /// Fires when the engine shuts down.
    pub(crate) stopping: CancellationToken,
    /// Set if this engine can be killed.
    pub(crate) killable: Option<killable::Killable>,
    /// Who waits for runs to change.
    pub(crate) followers: Arc<follow::Followers>,
    /// Who waits for updates to be answered.
    pub(crate) updates: Arc<update::Waiters>,
    /// How cancels and stops reach workers.
    pub(crate) control: control::Control,
    /// The local worker, if there is one.
    pub(crate) local: exchange::WorkerLink,
    /// Remote workers that wait for turns, activities or notices.
    pub(crate) polls: remote::Polls,
    /// Remote runs that began here lately, followed to their ends.
    pub(crate) new_runs: remote::NewRuns,
    /// Remote runs that were decided about lately.
    pub(crate) known_runs: remote::KnownRuns,
    /// What is known of remote workers.
    pub(crate) workers: remote::RemoteWorkers,
    /// Questions to runs whose code is at remote workers.
    pub(crate) queries: remote::Queries,
    /// Wakes the loops below.
    pub(crate) bells: watch::EngineBells,
    /// What is looked at even if every hint was lost.
    pub(crate) net: net::Net,
    /// What reads schedules, once a door has brought it.
    pub(crate) schedules: OnceLock<Arc<dyn Schedules>>,
    /// The namespaces that are looked after here.
    pub(crate) spaces: space::Spaces,
    /// What is counted.
    pub(crate) meter: Meter,
    fences: fence::Fences,
    /// Which past of the store is known here.
    past: AtomicU64,
}

/// Who waits at the doors. Engines whose doors are shared tell each other's waiters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doors {
    pub(crate) followers: Arc<follow::Followers>,
    pub(crate) updates: Arc<update::Waiters>,
}

/// What the engine was told once, at its start.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) identity: Identity,
    pub(crate) namespace: Namespace,
    pub(crate) lease: Duration,
    pub(crate) retention: Option<Duration>,
    pub(crate) receipts_kept: Duration,
    pub(crate) doors: Doors,
    pub(crate) in_step: bool,
    pub(crate) presume: Option<Duration>,
    /// The build of the code that runs here; empty if nobody says.
    pub(crate) build: String,
    pub(crate) pace: Pacing,
    pub(crate) host: Arc<dyn Host>,
}

/// Who says when futures are polled, if anybody does.
#[derive(Clone, Default)]
pub(crate) struct Pacing(pub(crate) Option<Arc<dyn killable::Pace>>);

impl std::fmt::Debug for Pacing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pacing").field(&self.0.is_some()).finish()
    }
}

impl EngineInner {
    /// Enters the store and starts the loops that keep time, sweep and listen.
    pub(crate) async fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        settings: Settings,
    ) -> Result<Arc<Self>> {
        let join = Join {
            process: settings.host.this(),
            ..Join::new(settings.identity.clone(), settings.lease, clock.now())
        };
        let mut hints = store.watch();
        let epoch = store.join(join).await?.epoch;
        let Doors { followers, updates } = settings.doors.clone();
        // Whoever writes here tells those who wait, too: most hints at runs are for nobody.
        let following = followers.clone();
        hints.heed(move |hint| following.heed(hint));
        let runtime = Handle::current();
        let spaces = space::Spaces::default();
        spaces.keep(settings.namespace, settings.retention);
        let killable = settings.in_step.then(|| {
            let pace = settings.pace.0.clone();
            killable::Killable::new(runtime.clone(), pace)
        });
        let inner = Arc::new(Self {
            store,
            clock,
            ids,
            settings,
            standing: member::Standing::new(epoch),
            runtime,
            background: TaskTracker::new(),
            stopping: CancellationToken::new(),
            killable,
            followers,
            meter: Meter::default(),
            updates,
            control: control::Control::default(),
            local: exchange::WorkerLink::default(),
            polls: remote::Polls::default(),
            new_runs: remote::NewRuns::default(),
            known_runs: remote::KnownRuns::default(),
            workers: remote::RemoteWorkers::default(),
            queries: remote::Queries::default(),
            bells: watch::EngineBells::default(),
            net: net::Net::default(),
            spaces,
            schedules: OnceLock::new(),
            fences: fence::Fences::default(),
            past: AtomicU64::new(0),
        });
        inner.spawn(sweep::run(inner.clone()));
        inner.spawn(alarm::run(inner.clone()));
        inner.spawn(intake::run(inner.clone()));
        inner.spawn(member::run(inner.clone()));
        inner.spawn(peer::run(inner.clone()));
        inner.spawn(remote::look::run(inner.clone()));
        inner.spawn(watch::run(inner.clone(), hints));
        // Who waits at shared doors may wait for what an engine wrote that died before it told.
        inner.followers.tell_all();
        Ok(inner)
    }

    /// Runs something in the background until the engine stops.
    pub(crate) fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        self.finish(async move { stopping.run_until_cancelled_owned(work).await.unwrap_or(()) });
    }

    /// Runs something that must be finished, even while the engine stops: a write whose answer
    /// somebody needs.
    pub(crate) fn finish(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        match &self.killable {
            Some(killable) => self.background.spawn_on(killable.bind(work), &self.runtime),
            None => self.background.spawn_on(work, &self.runtime),
        };
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn draw(&self) -> u128 {
        self.ids.draw(self.now())
    }

    /// A run of the namespace that native code lives in.
    pub(crate) fn new_run(&self) -> RunId {
        self.new_run_in(self.settings.namespace)
    }

    pub(crate) fn new_run_in(&self, namespace: Namespace) -> RunId {
        RunId { namespace, uuid: self.draw() }
    }

    pub(crate) fn new_commit(&self) -> CommitId {
        CommitId(self.draw())
    }

    pub(crate) fn new_fence(&self) -> Fence {
        self.fences.draw(self.epoch())
    }

    /// A fence for an attempt whose start is about to be written.
    pub(crate) fn send_fence(&self) -> fence::Sent {
        self.fences.send(self.epoch())
    }

    /// This opening of the store; the last one, while this process is out.
    pub(crate) fn epoch(&self) -> Epoch {
        self.standing.epoch()
    }
}
