//! What an engine is told before it starts.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use bowline_core::{Identity, Name, Namespace, Queue};
use bowline_replay::Workflow;
use bowline_store::Store;

use crate::{
    Engine, Error, Result,
    clock::{Clock, SystemClock},
    engine::{Doors, EngineInner, Pacing, Settings, killable::Pace},
    host::{Host, System},
    ids::{Ids, RandomIds},
    limits,
    worker::{
        Setup, Worker,
        activity::Probe,
        registry::{Activities, ActivityCode, Workflows},
    },
};

/// How one queue is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// How many activities may run at once.
    pub slots: usize,
    /// How many may be started per second; unset for no limit.
    pub rate: Option<u32>,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self { slots: limits::SLOTS, rate: None }
    }
}

/// An engine that has not started yet.
pub struct Builder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    identity: Identity,
    namespace: Namespace,
    queues: BTreeMap<Queue, QueueOptions>,
    workflows: Workflows,
    activities: Activities,
    faults: Vec<String>,
    lease: Duration,
    presume: Option<Duration>,
    retention: Option<Duration>,
    receipts_kept: Duration,
    cached_runs: usize,
    threads: Option<usize>,
    stuck_after: Duration,
    crash_file: Option<PathBuf>,
    in_step: bool,
    build: String,
    pace: Pacing,
    host: Arc<dyn Host>,
    doors: Doors,
    probe: Option<Arc<dyn Probe>>,
}

impl Builder {
    /// An engine on a store, with nothing to run.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            clock: Arc::new(SystemClock::default()),
            ids: Arc::new(RandomIds),
            identity: Identity::from(format!("{}@local", std::process::id())),
            namespace: Namespace(1),
            queues: BTreeMap::new(),
            workflows: Workflows::default(),
            activities: Activities::default(),
            faults: Vec::new(),
            lease: limits::LEASE,
            presume: None,
            retention: None,
            receipts_kept: limits::RECEIPT_KEPT,
            cached_runs: limits::CACHED_RUNS,
            threads: None,
            stuck_after: limits::TURN_STUCK,
            crash_file: None,
            in_step: false,
            build: String::new(),
            pace: Pacing::default(),
            host: Arc::new(System),
            doors: Doors::default(),
            probe: None,
        }
    }

    /// Another clock than the machine's.
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Another source of ids than chance.
    pub fn ids(self, ids: Arc<dyn Ids>) -> Self {
        Self { ids, ..self }
    }

    /// What this process calls itself.
    pub fn identity(self, identity: impl Into<Identity>) -> Self {
        Self { identity: identity.into(), ..self }
    }

    /// Works on a queue.
    pub fn queue(mut self, queue: impl Into<Queue>, options: QueueOptions) -> Self {
        self.queues.insert(queue.into(), options);
        self
    }

    /// Runs a workflow. `start` refuses a name that is taken.
    pub fn workflow(mut self, name: impl Into<Name>, code: Arc<dyn Workflow>) -> Self {
        if let Err(fault) = self.workflows.register(name.into(), code) {
            self.faults.push(fault.to_string());
        }
        self
    }

    /// Runs an activity. `start` refuses a name that is taken.
    pub fn activity(mut self, name: impl Into<Name>, code: Arc<dyn ActivityCode>) -> Self {
        if let Err(fault) = self.activities.register(name.into(), code) {
            self.faults.push(fault.to_string());
        }
        self
    }

    /// Which build of the code this is: a version, or the hash of a commit. A run that another
    /// build could not go on with is tried by this one at once; without a name, any new process
    /// tries it, after a pause that grows with the tries.
    pub fn build(self, build: impl Into<String>) -> Self {
        Self { build: build.into(), ..self }
    }

    /// How long this process may be silent before others may take its work.
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// Presumes dead what its worker has been silent about for so long; unless this is said, nobody
    /// is. Receipts say *presumed*, and are never clean: nobody has seen it end.
    pub fn presume_dead_after(self, silence: Duration) -> Self {
        Self { presume: Some(silence), ..self }
    }

    /// How long closed runs are kept; for ever, unless this is said.
    pub fn retention(self, kept: Duration) -> Self {
        Self { retention: Some(kept), ..self }
    }

    /// How long receipts of cancels are kept.
    pub fn receipts_kept(self, kept: Duration) -> Self {
        Self { receipts_kept: kept, ..self }
    }

    /// How many runs stay in memory between turns.
    pub fn cached_runs(self, cached_runs: usize) -> Self {
        Self { cached_runs, ..self }
    }

    /// How many threads run workflow code.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// How long a turn may take before its thread is given up.
    pub fn stuck_after(self, stuck_after: Duration) -> Self {
        Self { stuck_after, ..self }
    }

    /// A small file that names the run each thread is in, so that a run which keeps taking the
    /// whole process down is found out and parked.
    pub fn crash_file(self, path: impl Into<PathBuf>) -> Self {
        Self { crash_file: Some(path.into()), ..self }
    }

    /// Everything happens one after the other: while a workflow thread works, the runtime waits
    /// for it, and whatever else the engine does is done on that runtime. On a runtime of a single
    /// thread, with a clock and ids that do not depend on the machine, the same test then gives
    /// the same histories; and where that runtime is idle, nothing of the engine goes on. Only
    /// such an engine can be [killed](Engine::kill).
    pub fn in_step(self) -> Self {
        Self { in_step: true, ..self }
    }

    /// Lets somebody say when the futures of this engine are polled, if it works [in
    /// step](Self::in_step).
    pub fn pace(self, pace: Arc<dyn Pace>) -> Self {
        Self { pace: Pacing(Some(pace)), ..self }
    }

    /// Another view of the host than the system's.
    pub fn host(self, host: Arc<dyn Host>) -> Self {
        Self { host, ..self }
    }

    /// Tells those too who wait at the doors of another engine on the same store: what this one
    /// does, its clients see at once.
    pub fn doors_of(self, other: &Engine) -> Self {
        Self { doors: other.doors(), ..self }
    }

    /// Lets somebody see attempts pass points, on the spot.
    pub fn probe(self, probe: Arc<dyn Probe>) -> Self {
        Self { probe: Some(probe), ..self }
    }

    /// Enters the store and begins to work.
    ///
    /// # Errors
    /// If something that was registered is not acceptable, or the store cannot be entered.
    pub async fn start(self) -> Result<Engine> {
        if let Some(fault) = self.faults.first() {
            return Err(Error::Invalid(fault.clone()));
        }
        if self.build.len() > bowline_core::limits::TEXT_MAX {
            return Err(Error::Invalid("the name of the build is longer than 1,000 bytes".into()));
        }
        if self.threads == Some(0) || self.cached_runs == 0 {
            return Err(Error::Invalid("threads and cached runs must be more than none".into()));
        }
        let settings = Settings {
            identity: self.identity.clone(),
            namespace: self.namespace,
            lease: self.lease,
            retention: self.retention,
            receipts_kept: self.receipts_kept,
            doors: self.doors,
            in_step: self.in_step,
            build: self.build,
            pace: self.pace,
            host: self.host,
            presume: self.presume,
        };
        let inner = EngineInner::open(self.store, self.clock, self.ids, settings).await?;
        let setup = Setup {
            identity: self.identity,
            queues: self.queues,
            workflows: self.workflows,
            activities: self.activities,
            cached_runs: self.cached_runs,
            threads: self.threads.unwrap_or_else(cores),
            stuck_after: self.stuck_after,
            crash_file: self.crash_file,
            probe: self.probe,
        };
        let worker = Worker::start(&inner, setup).await?;
        Ok(Engine::new(inner, worker))
    }
}

/// How many threads of this process can run at once.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get())
}
