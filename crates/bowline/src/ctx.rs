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

/// Workflow code's handle on its run. Cheap to clone; it stays on its thread.
///
/// What it gives is lazy: an activity, timer or child begins when it is first polled, and
/// **dropping it before it ends cancels it**. In which scope something belongs is decided by where
/// it is first polled, so the same handle serves the whole run.
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
    /// If it was not registered: another process may have it, and goes on. Nothing is lost.
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
    /// If it was not registered: another process may have it, and goes on. Nothing is lost.
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

    /// Waits for this long, however often the process is restarted meanwhile.
    pub fn sleep(&self, span: Duration) -> Sleep {
        Sleep::new(self, span)
    }

    /// Waits until this moment.
    pub fn sleep_until(&self, at: SystemTime) -> Sleep {
        self.sleep(at.duration_since(self.now()).unwrap_or_default())
    }

    /// A part of the workflow that is over only when everything that was begun inside it has
    /// really stopped. See [`Scope::cleanup`] and [`Scope::deadline`].
    pub fn scope<'a, T, E, B>(&self, body: B) -> Scope<'a, T, E>
    where
        T: 'a,
        E: Carried,
        B: Future<Output = crate::Result<T, E>> + 'a,
    {
        Scope::new(self, body)
    }

    /// A future that is finished even if it is dropped: the run stays open for it, and no cancel
    /// reaches what is begun inside. A scope around it is over only after it, and its clean-up is
    /// told what completed inside, like anything else.
    pub fn shield<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> Shield<T> {
        self.inner.shield(future)
    }

    /// The signals of a name. Those that came before anybody asked are kept, in order.
    pub fn signal<T>(&self, signal: Signal<T>) -> Signals<T> {
        Signals::new(self.inner.signals(signal.name()))
    }

    /// The updates of a name: requests that want an answer.
    pub fn update<I, T, E>(&self, update: Update<I, T, E>) -> Updates<I, T, E> {
        Updates::new(self.inner.updates(update.name()))
    }

    /// Answers a query from now on, also after the run has closed: with this value, until it is
    /// changed through what this gives.
    pub fn expose<T: serde::Serialize + 'static>(&self, query: Query<T>, value: T) -> Exposed<T> {
        let (shown, exposed) = Exposed::new(value);
        self.inner.expose(query.name(), move |_| value::encode(&*Rc::clone(&shown).borrow()));
        exposed
    }

    /// Closes the run and goes on as a new one of the same workflow id, with a history that begins
    /// again; it may be another workflow. Never comes back. Clean-ups and shields are finished
    /// first, and signals that were not received go on with it.
    ///
    /// A clean-up or a shield may call this too: it is at its end then, and the run goes on as the
    /// new one when all others are. Unless something else was decided before: a run that was asked
    /// to cancel is cancelled, and one whose function has returned keeps its result.
    ///
    /// # Panics
    /// If the workflow was not registered, or its input cannot be written as JSON.
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

    /// Another run, by its workflow id: it can be sent signals, and be asked to cancel.
    pub fn run(&self, workflow_id: impl Into<String>) -> OtherRun {
        OtherRun::new(self.clone(), workflow_id.into())
    }

    /// This moment: the same at every replay.
    pub fn now(&self) -> SystemTime {
        moment(self.inner.now())
    }

    /// Sixty-four random bits, the same at every replay.
    pub fn random(&self) -> u64 {
        self.inner.random()
    }

    /// A random UUID, the same at every replay.
    pub fn uuid(&self) -> u128 {
        self.inner.uuid()
    }

    /// True if this run is on the new side of a change of the code. A run that comes here for the
    /// first time is, and remembers it; one that was past here before the change is not. The
    /// answer to one name never changes in a run.
    pub fn patched(&self, change: &str) -> bool {
        self.inner.patched(change)
    }

    /// Why the run was asked to cancel, if it was: what a clean-up may want to know.
    pub fn cause(&self) -> Option<Cause> {
        self.inner.cause()
    }

    /// What this run is.
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

/// What a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkflowInfo {
    /// The workflow's name.
    pub workflow: String,
    /// The workflow id.
    pub workflow_id: String,
    /// The run.
    pub run: String,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// The workflow id of the run that started this one.
    pub parent: Option<String>,
    /// When it will be cancelled, if it is still open.
    pub deadline: Option<SystemTime>,
    /// How many events its history has by now: what to look at before continuing as new.
    pub events: u64,
}

/// A failure of this crate's own, in words.
pub(crate) fn failure(message: impl Into<String>, kind: &str) -> Failure {
    Failure::new(message).of_kind(kind)
}
