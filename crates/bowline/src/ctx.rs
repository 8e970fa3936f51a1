//! What workflow code holds: the handle through which it asks for everything.

mod other;

use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bowline_engine::core::{ActivitySpec, Cause, ChildSpec, ContinueAsNew, Queue};
use bowline_replay::{Context, Shield};

use crate::{
    Activity, ActivityCall, ChildCall, Exposed, Failure, Give, Query, Scope, Signal, Signals,
    Sleep, Update, Updates, Workflow,
    carry::Carried,
    ended::broken,
    moment,
    registry::{QUEUE, Registry},
    value,
};

pub use other::OtherRun;

/// What every run of a program shares: which function has which name.
#[doc(hidden)]
#[derive(Debug)]
pub struct App {
    pub(crate) registry: Registry,
}

/// A workflow's handle on its run. Cheap to clone; it stays on its thread.
///
/// Calls are lazy: an activity, timer or child begins when it is first polled, and **dropping it
/// before it ends cancels it**. A call belongs to the scope in which it is first polled, so one
/// handle serves the whole run.
#[derive(Clone)]
pub struct Ctx {
    inner: Context,
    app: Arc<App>,
}

/// A function pointer would share one `TypeId` with every function of its signature.
pub(crate) const fn assert_path<F>() {
    assert!(
        size_of::<F>() == 0,
        "a function pointer or a capturing closure has no name: pass the function itself, by its \
         path"
    );
}

impl Ctx {
    pub(crate) fn new(inner: Context, app: Arc<App>) -> Self {
        Self { inner, app }
    }

    pub(crate) fn inner(&self) -> &Context {
        &self.inner
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Calls an activity, by the path of its function.
    ///
    /// # Panics
    /// If it is not registered. The run continues in another process that has it, or is parked;
    /// nothing is lost.
    #[track_caller]
    pub fn activity<F, M>(
        &self,
        activity: F,
        input: impl Give<F::Input>,
    ) -> ActivityCall<F::Output, F::Error>
    where
        F: Activity<M>,
    {
        const { assert_path::<F>() };
        let _ = activity;
        // No closure may panic here: its place would be named instead of the caller's.
        let options = match self.app.registry.activity::<F>() {
            Ok(options) => options,
            Err(error) => {
                bowline_replay::unfit();
                panic!("{error}")
            }
        };
        let input = match input.give() {
            Ok(input) => input,
            Err(raw) => return ActivityCall::refused(self, raw),
        };
        let spec = ActivitySpec {
            name: options.name.clone(),
            queue: options.queue.clone().unwrap_or_else(|| Queue::from(QUEUE)),
            input,
            timeouts: options.timeouts,
            retry: options.retry.clone().map(|retry| retry.0),
            ..ActivitySpec::default()
        };
        ActivityCall::new(self, spec)
    }

    /// Starts a child, by the path of its workflow's function.
    ///
    /// # Panics
    /// If it is not registered. The run continues in another process that has it, or is parked;
    /// nothing is lost.
    #[track_caller]
    pub fn child<F, M>(
        &self,
        workflow: F,
        input: impl Give<F::Input>,
    ) -> ChildCall<F::Output, F::Error>
    where
        F: Workflow<M>,
    {
        const { assert_path::<F>() };
        let _ = workflow;
        let name = match self.app.registry.workflow::<F>() {
            Ok(name) => name,
            Err(error) => {
                bowline_replay::unfit();
                panic!("{error}")
            }
        };
        match input.give() {
            Ok(input) => {
                let (name, queue) = (name.clone(), Queue::from(QUEUE));
                ChildCall::new(self, ChildSpec { name, queue, input, ..ChildSpec::default() })
            }
            Err(raw) => ChildCall::refused(self, raw),
        }
    }

    /// Waits for this long, however often the process restarts meanwhile.
    pub fn sleep(&self, span: Duration) -> Sleep {
        Sleep::new(self, span)
    }

    /// Waits until this moment.
    pub fn sleep_until(&self, at: SystemTime) -> Sleep {
        self.sleep(at.duration_since(self.now()).unwrap_or_default())
    }

    /// Makes a part of the workflow that is over only when everything begun inside it has really
    /// stopped. See [`Scope::cleanup`] and [`Scope::deadline`].
    pub fn scope<'a, T, E, B>(&self, body: B) -> Scope<'a, T, E>
    where
        T: 'a,
        E: Carried,
        B: Future<Output = crate::Result<T, E>> + 'a,
    {
        Scope::new(self, body)
    }

    /// Finishes a future even if it is dropped: the run stays open for it, and no cancel reaches
    /// what is begun inside. A scope around it waits for it, and is told in its clean-up what
    /// completed inside.
    pub fn shield<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Shield<T> {
        self.inner.shield(future)
    }

    /// Receives the signals of this name. Those that arrived before you asked are kept, in order.
    pub fn signal<T>(&self, signal: Signal<T>) -> Signals<T> {
        Signals::new(self.inner.signals(signal.name()))
    }

    /// Receives the updates of this name: requests that want an answer.
    pub fn update<I, T, E>(&self, update: Update<I, T, E>) -> Updates<I, T, E> {
        Updates::new(self.inner.updates(update.name()))
    }

    /// Answers a query with this value from now on, also after the run has closed. Change the value
    /// through the handle that this returns.
    pub fn expose<T: serde::Serialize + 'static>(&self, query: Query<T>, value: T) -> Exposed<T> {
        let (shown, exposed) = Exposed::new(value);
        self.inner.expose(query.name(), move |_| value::encode(&*Rc::clone(&shown).borrow()));
        exposed
    }

    /// Closes the run and goes on as a new one with the same workflow id and an empty history; it
    /// may be another workflow. Never returns. Clean-ups and shields finish first, and signals that
    /// were not received move on to the new run.
    ///
    /// You may also call this in a clean-up or a shield: that one ends there, and the run goes on
    /// as the new one when all others have ended too. Something that was decided before wins: a run
    /// that was asked to cancel is cancelled, and one whose function has returned keeps its result.
    ///
    /// # Panics
    /// If the workflow is not registered, or its input cannot be written as JSON.
    pub async fn continue_as_new<F, M>(&self, workflow: F, input: impl Give<F::Input>) -> !
    where
        F: Workflow<M>,
    {
        const { assert_path::<F>() };
        let _ = workflow;
        let name = match self.app.registry.workflow::<F>() {
            Ok(name) => name,
            Err(error) => {
                bowline_replay::unfit();
                panic!("{error}")
            }
        };
        let input = input.give().unwrap_or_else(|failure| panic!("{failure}"));
        let next = ContinueAsNew { name: Some(name.clone()), input, ..ContinueAsNew::default() };
        match self.inner.continue_as_new(next).await {}
    }

    /// Addresses another run, by its workflow id, to signal or cancel it.
    pub fn run(&self, workflow_id: impl Into<String>) -> OtherRun {
        OtherRun::new(self.clone(), workflow_id.into())
    }

    /// Returns the current time, the same at every replay.
    pub fn now(&self) -> SystemTime {
        moment(self.inner.now())
    }

    /// Returns 64 random bits, the same at every replay.
    pub fn random(&self) -> u64 {
        self.inner.random()
    }

    /// Returns a random UUID, the same at every replay.
    pub fn uuid(&self) -> u128 {
        self.inner.uuid()
    }

    /// True if this run is on the new side of a change to the code. A run that gets here for the
    /// first time is, and remembers it; a run that was past here before the change is not. Within a
    /// run the answer for one name never changes.
    pub fn patched(&self, change: &str) -> bool {
        self.inner.patched(change)
    }

    /// Says why the run was asked to cancel, if it was: useful in a clean-up.
    pub fn cause(&self) -> Option<Cause> {
        self.inner.cause()
    }

    /// Describes this run.
    pub fn info(&self) -> WorkflowInfo {
        let info = self.inner.info();
        WorkflowInfo {
            workflow: info.name.to_string(),
            workflow_id: info.workflow_id.to_string(),
            run: info.run.to_string(),
            attempt: info.attempt.max(1),
            parent: info.parent.as_ref().map(|parent| parent.workflow_id.to_string()),
            deadline: info.deadline.map(moment),
            events: self.inner.history().0,
        }
    }

    /// How a call that cannot even be made ends.
    pub(crate) fn unreadable<T, E>(raw: bowline_engine::core::Failure) -> crate::Outcome<T, E> {
        Err(broken(raw))
    }
}

/// Describes a run; see [`Ctx::info`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkflowInfo {
    /// The workflow's name.
    pub workflow: String,
    /// The workflow id.
    pub workflow_id: String,
    /// The id of the run.
    pub run: String,
    /// The number of the try, from 1.
    pub attempt: u32,
    /// The workflow id of the run that started this one.
    pub parent: Option<String>,
    /// When the run will be cancelled, if it is still open then.
    pub deadline: Option<SystemTime>,
    /// How many events its history has so far: look at it to decide when to continue as new.
    pub events: u64,
}

/// A failure of this crate's own, in words.
pub(crate) fn failure(message: impl Into<String>, kind: &str) -> Failure {
    Failure::new(message).of_kind(kind)
}
