//! What a program says before it starts: where the state lives, and what there is to run.

use std::{
    any::{TypeId, type_name},
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use bowline_engine::{
    Builder as EngineBuilder, Engine, QueueOptions,
    core::{Name, Queue, Status},
    store::{Filter, Store},
    worker::registry::ActivityCode,
};
use bowline_replay::Workflow as WorkflowCode;
use tokio::sync::Notify;

use crate::{
    Activity, ActivityOptions, Bowline, ClientError, Workflow, WorkflowOptions,
    ctx::{App, assert_path},
    name, open,
    registry::{QUEUE, Registry, States},
    stop::{self, StopSignals},
};

/// How long running activities have to finish when the program is told to stop.
const DRAIN: Duration = Duration::from_secs(30);

type MakeActivity = Box<dyn FnOnce(&States) -> Result<Arc<dyn ActivityCode>, String> + Send>;
type MakeWorkflow = Box<dyn FnOnce(Arc<App>) -> Arc<dyn WorkflowCode> + Send>;

/// A program that has not started yet; see [`Bowline::open`].
///
/// Register what it can run, then call [`start`](Self::start) or [`run`](Self::run).
#[must_use = "nothing runs until `.start()` or `.run()`"]
pub struct Builder {
    place: Place,
    registry: Registry,
    states: States,
    activities: Vec<(Name, MakeActivity)>,
    workflows: Vec<(Name, MakeWorkflow)>,
    queues: BTreeMap<Queue, QueueOptions>,
    faults: Vec<String>,
    settings: Vec<Setting>,
}

type Setting = Box<dyn Fn(EngineBuilder) -> EngineBuilder + Send>;

/// Everything that was registered, checked, ready to be given to an engine.
pub(crate) struct Parts {
    pub(crate) app: Arc<App>,
    pub(crate) activities: Vec<(Name, Arc<dyn ActivityCode>)>,
    pub(crate) workflows: Vec<(Name, Arc<dyn WorkflowCode>)>,
    pub(crate) queues: BTreeMap<Queue, QueueOptions>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) place: Place,
}

/// Where the state lives.
pub(crate) enum Place {
    /// A file, or the address of a server.
    At(PathBuf),
    /// A store that is there already.
    Store(Arc<dyn Store>),
}

impl Builder {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            place,
            registry: Registry::default(),
            states: States::default(),
            activities: Vec::new(),
            workflows: Vec::new(),
            queues: BTreeMap::from([(Queue::from(QUEUE), QueueOptions::default())]),
            faults: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// Gives activities that are methods of `S` the value to be called on. One value for each type.
    pub fn state<S: Send + Sync + 'static>(mut self, state: S) -> Self {
        if !self.states.add(state) {
            let name = type_name::<S>();
            self.faults.push(format!("two states of the type `{name}` were given: give one"));
        }
        self
    }

    /// Registers a workflow. Its durable name is the last part of the function's path.
    pub fn workflow<F, M>(self, workflow: F) -> Self
    where
        F: Workflow<M>,
    {
        self.workflow_with(workflow, |options| options)
    }

    /// Registers a workflow with options, such as a durable name of your choice.
    pub fn workflow_with<F, M>(
        mut self,
        workflow: F,
        options: impl FnOnce(WorkflowOptions) -> WorkflowOptions,
    ) -> Self
    where
        F: Workflow<M>,
    {
        const { assert_path::<F>() };
        let options = options(WorkflowOptions::default());
        let Some(name) = self.name::<F>("workflow", options.name) else { return self };
        if self.workflows.iter().any(|(taken, _)| *taken == name) {
            self.faults.push(taken::<F>("workflow", &name));
            return self;
        }
        if let Ok(first) = self.registry.workflow::<F>() {
            self.faults.push(twice::<F>("workflow", first, &name));
            return self;
        }
        self.registry.add_workflow(TypeId::of::<F>(), name.clone());
        self.workflows.push((name, Box::new(move |app| workflow.code(app))));
        self
    }

    /// Registers an activity. Its durable name is the last part of the function's path, or
    /// `Type::method`.
    pub fn activity<F, M>(self, activity: F) -> Self
    where
        F: Activity<M>,
    {
        self.activity_with(activity, |options| options)
    }

    /// Registers an activity with options: a durable name, a queue, a timeout, a retry policy.
    pub fn activity_with<F, M>(
        mut self,
        activity: F,
        options: impl FnOnce(ActivityOptions) -> ActivityOptions,
    ) -> Self
    where
        F: Activity<M>,
    {
        const { assert_path::<F>() };
        let mut options = options(ActivityOptions::default());
        let Some(name) = self.name::<F>("activity", options.name.clone()) else { return self };
        if self.activities.iter().any(|(taken, _)| *taken == name) {
            self.faults.push(taken::<F>("activity", &name));
            return self;
        }
        if let Some(queue) = &options.queue {
            self.queues.entry(queue.clone()).or_default();
        }
        if let Some(fault) = options.retry.as_ref().and_then(|retry| retry.0.fault()) {
            self.faults.push(format!("the activity {name:?}: {fault}"));
        }
        if let Ok(first) = self.registry.activity::<F>() {
            self.faults.push(twice::<F>("activity", &first.name, &name));
            return self;
        }
        options.name = name.clone();
        self.registry.add_activity(TypeId::of::<F>(), options);
        self.activities.push((name, Box::new(move |states| activity.code(states))));
        self
    }

    /// Works on this queue, with at most this many activities at once.
    pub fn queue(mut self, queue: impl Into<String>, slots: usize) -> Self {
        let queue = Queue::from(queue.into());
        if slots == 0 {
            self.faults.push(format!("the queue {queue:?} has no slots: nothing in it would run"));
        }
        self.queues.entry(queue).or_default().slots = slots;
        self
    }

    /// Starts at most this many activities of this queue per second.
    pub fn queue_rate(mut self, queue: impl Into<String>, per_second: u32) -> Self {
        let queue = Queue::from(queue.into());
        if per_second == 0 {
            self.faults.push(format!("the queue {queue:?} starts nothing: its rate is zero"));
        }
        self.queues.entry(queue).or_default().rate = Some(per_second);
        self
    }

    /// Names this process, in histories and lists.
    pub fn identity(self, identity: impl Into<String>) -> Self {
        let identity = identity.into();
        self.set(move |engine| engine.identity(identity.clone()))
    }

    /// Deletes closed runs once they have been closed for this long. Without it they are kept for
    /// ever.
    pub fn retention(self, kept: Duration) -> Self {
        self.set(move |engine| engine.retention(kept))
    }

    /// Presumes dead what a process had been running once it has been silent for this long. Without
    /// it nobody is presumed dead. Receipts then say *presumed*, and never that nothing is left:
    /// nobody has seen it end. This is about processes that share a database.
    pub fn presume_dead_after(mut self, silence: Duration) -> Self {
        if silence.is_zero() {
            self.faults.push("nobody can be presumed dead at once: say after which silence".into());
        }
        self.set(move |engine| engine.presume_dead_after(silence))
    }

    /// How long this process may be out of contact with a database that others have open too; 30
    /// seconds by default. After that it ends its running activities, and others take them over.
    pub fn lease(mut self, lease: Duration) -> Self {
        if lease.is_zero() {
            self.faults.push("a lease of no time is lost at once: say how long".into());
        }
        self.set(move |engine| engine.lease(lease))
    }

    /// Names the build of your code: a version, or the hash of a commit. This process tries at once
    /// every run that another build could not continue. Without a name, a new process tries such a
    /// run after a pause that grows with the tries.
    pub fn build(self, build: impl Into<String>) -> Self {
        let build = build.into();
        self.set(move |engine| engine.build(build.clone()))
    }

    /// Keeps at most this many runs in memory between turns.
    pub fn cached_runs(self, most: usize) -> Self {
        self.set(move |engine| engine.cached_runs(most))
    }

    /// Runs workflow code on this many threads.
    pub fn workflow_threads(self, threads: usize) -> Self {
        self.set(move |engine| engine.threads(threads))
    }

    /// Treats a workflow as stuck if one step keeps its thread for longer than this; 30 seconds by
    /// default.
    pub fn stuck_after(self, span: Duration) -> Self {
        self.set(move |engine| engine.stuck_after(span))
    }

    pub(crate) fn set(
        mut self,
        setting: impl Fn(EngineBuilder) -> EngineBuilder + Send + 'static,
    ) -> Self {
        self.settings.push(Box::new(setting));
        self
    }

    /// Checks what was registered, and makes code of it.
    pub(crate) fn parts(self) -> Result<Parts, ClientError> {
        let Self { place, registry, states, activities, workflows, queues, mut faults, settings } =
            self;
        let mut codes = Vec::new();
        for (name, make) in activities {
            match make(&states) {
                Ok(code) => codes.push((name, code)),
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(ClientError::Invalid(faults.join("\n")));
        }
        let app = Arc::new(App { registry });
        let make = |(name, make): (Name, MakeWorkflow)| (name, make(app.clone()));
        let workflows = workflows.into_iter().map(make).collect();
        Ok(Parts { app, activities: codes, workflows, queues, settings, place })
    }

    /// Opens the store and begins to work.
    ///
    /// # Errors
    /// If the store cannot be opened, or something that you registered is not acceptable: the
    /// message says what to change. Nothing has begun then.
    pub async fn start(self) -> Result<Bowline, ClientError> {
        let Parts { app, activities, workflows, queues, settings, place } = self.parts()?;
        let open::Opened { store, mut engine, joint } = open::open(place).await?;
        for (name, code) in activities {
            engine = engine.activity(name, code);
        }
        for (name, code) in workflows {
            engine = engine.workflow(name, code);
        }
        for (queue, options) in queues {
            engine = engine.queue(queue, options);
        }
        let engine = settings.into_iter().fold(engine, |engine, set| set(engine));
        let engine = engine.start().await?;
        warn_unregistered(&engine, &app).await;
        Ok(Bowline::new(engine, app, store).with_joint(joint))
    }

    /// Starts, works until Ctrl-C or SIGTERM, and then gives running activities 30 seconds to
    /// finish. A second one of either ends the process at once, as if it had been killed: what ran
    /// is taken up by the next start. Both are told on standard error.
    ///
    /// # Errors
    /// As [`start`](Self::start), or if signals cannot be listened for.
    pub async fn run(self) -> Result<(), ClientError> {
        let deaf = |error| ClientError::Invalid(format!("signals cannot be heard: {error}"));
        // Before the start, so that none is lost: work begins while it is not complete yet.
        let mut signals = StopSignals::open().map_err(deaf)?;
        let (told, mut is_told) = (Notify::new(), false);
        let work = async {
            let bowline = self.start().await?;
            told.notified().await;
            bowline.close(DRAIN).await
        };
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                closed = &mut work => {
                    closed?;
                    stop::say("stopped");
                    return Ok(());
                }
                word = signals.hear() => {
                    stop::heard(word, is_told, DRAIN);
                    is_told = true;
                    told.notify_one();
                }
            }
        }
    }

    /// The durable name of a function; none if it has none, which is a fault.
    fn name<F>(&mut self, kind: &str, given: Name) -> Option<Name> {
        if !given.is_empty() {
            return Some(given);
        }
        match name::of_function::<F>() {
            Ok(name) => Some(Name::from(name)),
            Err(fault) => {
                self.faults.push(format!(
                    "the {kind} {fault}: register it with `.{kind}_with(…, |o| o.name(\"…\"))`"
                ));
                None
            }
        }
    }
}

/// A call by path must know which name it means.
fn twice<F>(kind: &str, first: &Name, second: &Name) -> String {
    let path = type_name::<F>();
    format!(
        "the {kind} `{path}` is registered as {first:?} and as {second:?}: give it one name, or \
         wrap it in a function of its own"
    )
}

fn taken<F>(kind: &str, name: &Name) -> String {
    let path = type_name::<F>();
    format!(
        "two functions are registered as the {kind} {name:?}, the second one is `{path}`: give it \
         another name with `.{kind}_with(…, |o| o.name(\"…\"))`"
    )
}

/// How many runs are looked at for the warning.
const LISTED: usize = 1000;

/// Open runs whose workflow nobody here can run are named in the log: the usual reason is a
/// function that was renamed.
async fn warn_unregistered(engine: &Engine, app: &App) {
    let missing = match unregistered(engine, app).await {
        Ok(missing) => missing,
        Err(error) => return tracing::warn!(%error, "open runs could not be listed"),
    };
    for (name, runs) in missing {
        tracing::warn!(
            workflow = %name,
            runs,
            "open runs wait for a workflow that is not registered: did you rename it? Register it \
             with `.workflow_with(…, |o| o.name(\"{name}\"))`"
        );
    }
}

/// The workflows of open runs that are not registered, each with how many there are.
pub(crate) async fn unregistered(
    engine: &Engine,
    app: &App,
) -> Result<BTreeMap<Name, usize>, ClientError> {
    let statuses = vec![Status::Running, Status::Cancelling];
    let page = engine.find(Filter { statuses, limit: LISTED, ..Filter::default() }).await?;
    let mut missing = BTreeMap::new();
    for head in page.runs.into_iter().filter(|head| head.rules.is_native()) {
        if !app.registry.workflow_names().any(|name| *name == head.name) {
            *missing.entry(head.name).or_default() += 1;
        }
    }
    Ok(missing)
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("registry", &self.registry).finish_non_exhaustive()
    }
}

/// The file beside a store that names the run of each workflow thread.
pub(crate) fn crash_file(path: &std::path::Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".turns");
    PathBuf::from(beside)
}
