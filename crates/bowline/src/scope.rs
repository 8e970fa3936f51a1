//! Scopes: parts of a workflow that are over only when everything inside has really stopped.

use std::{
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
    time::Duration,
};

use bowline_engine::core::{Cause, Payload};
use bowline_replay::{Context, Scope as Inner, Stopped as Untyped};
use serde::de::DeserializeOwned;

use crate::{Activity, Ctx, Ended, Result, Workflow, carry::Carried, ctx::App, value};

/// A part of a workflow that is over only when everything inside has really stopped; see
/// [`Ctx::scope`].
#[must_use = "a scope does nothing until it is awaited: add `.await`"]
pub struct Scope<'a, T, E> {
    ctx: Ctx,
    inner: Inner<'a, T>,
    error: PhantomData<fn() -> E>,
}

impl<'a, T: 'a, E: Carried> Scope<'a, T, E> {
    pub(crate) fn new(ctx: &Ctx, body: impl Future<Output = Result<T, E>> + 'a) -> Self {
        let body = async move { body.await.map_err(|error| error.0.into_untyped()) };
        Self { ctx: ctx.clone(), inner: ctx.inner().scope(body), error: PhantomData }
    }

    /// Names the scope, in histories and causes.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { inner: self.inner.name(name), ..self }
    }

    /// Cancels what is inside, with the code `deadline`, if the scope is not over this long after
    /// it was first polled. Activities and children inside see it as their remaining time.
    pub fn deadline(self, after: Duration) -> Self {
        Self { inner: self.inner.deadline(after), ..self }
    }

    /// Runs this if the scope did not end well, after everything inside has really stopped: after a
    /// failure, a cancel or a deadline, and also if the scope itself was dropped or its run was
    /// cancelled. Nothing interrupts it; inner scopes clean up before outer ones.
    pub fn cleanup<C>(self, cleanup: C) -> Self
    where
        C: AsyncFnOnce(Ctx, Stopped<E>) -> Result<(), E> + 'static,
    {
        let app = self.ctx.app().clone();
        let inner = self.inner.cleanup(async move |inner: Context, stopped: Untyped| {
            let stopped = Stopped::typed(stopped, app.clone());
            let cleaned = cleanup(Ctx::new(inner, app), stopped).await;
            cleaned.map_err(|error| error.0.into_untyped())
        });
        Self { inner, ..self }
    }
}

impl<T, E: Carried> Future for Scope<'_, T, E> {
    type Output = std::result::Result<T, Stopped<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.inner).poll(cx);
        polled.map_err(|stopped| Stopped::typed(stopped, this.ctx.app().clone()))
    }
}

/// A scope that stopped without a value: why, and what had become of everything inside.
///
/// The lists are in the order of the calls. Scopes with a clean-up or a deadline fill them, also
/// with what nested scopes did, unless those cleaned up after themselves.
pub struct Stopped<E = crate::Failure> {
    why: Ended<E>,
    /// Activities and children that had completed, late successes included.
    pub completed: Vec<Item>,
    /// Activities and children that were cancelled.
    pub cancelled: Vec<Item>,
    /// Activities that did not stop and were given up.
    pub abandoned: Vec<Item>,
    app: Arc<App>,
}

/// An activity or a child inside a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// The activity's or workflow's name.
    pub name: String,
    /// The number by which the history knows it.
    pub number: u64,
    result: Option<Payload>,
}

impl Item {
    fn new(item: bowline_replay::Item) -> Self {
        Self { name: item.name.to_string(), number: item.number.0, result: item.result }
    }

    /// Returns its result, or what it left behind, if that reads as a `T`.
    pub fn result<T: DeserializeOwned>(&self) -> Option<T> {
        value::decode(self.result.as_ref()).ok()
    }
}

impl<E> Stopped<E> {
    /// Says why it stopped.
    pub fn why(&self) -> &Ended<E> {
        &self.why
    }

    pub(crate) fn into_why(self) -> Ended<E> {
        self.why
    }

    /// Says why it was cancelled, if it was.
    pub fn cause(&self) -> Option<&Cause> {
        self.why.cause()
    }

    /// Returns the results of every call of this activity that completed, late successes included.
    ///
    /// # Panics
    /// If the activity is not registered, or a result does not read: the turn fails and is retried,
    /// so that nothing is left without clean-up.
    #[track_caller]
    pub fn completed<F, M>(&self, activity: F) -> Vec<F::Output>
    where
        F: Activity<M>,
    {
        let _ = activity;
        match self.app.registry.activity::<F>() {
            Ok(options) => self.results(options.name.as_str()),
            Err(error) => {
                bowline_replay::unfit();
                panic!("{error}")
            }
        }
    }

    /// Returns the results of every child of this workflow that completed.
    ///
    /// # Panics
    /// If the workflow is not registered, or a result does not read.
    #[track_caller]
    pub fn completed_children<F, M>(&self, workflow: F) -> Vec<F::Output>
    where
        F: Workflow<M>,
    {
        let _ = workflow;
        match self.app.registry.workflow::<F>() {
            Ok(name) => self.results(name.as_str()),
            Err(error) => {
                bowline_replay::unfit();
                panic!("{error}")
            }
        }
    }

    #[track_caller]
    fn results<T: DeserializeOwned>(&self, name: &str) -> Vec<T> {
        let named = self.completed.iter().filter(|item| item.name == name);
        let read = |item: &Item| match value::decode(item.result.as_ref()) {
            Ok(value) => value,
            Err(failure) => panic!("what {name:?} had completed with: {failure}"),
        };
        named.map(read).collect()
    }
}

impl<E: Carried> Stopped<E> {
    fn typed(stopped: Untyped, app: Arc<App>) -> Self {
        let items = |items: Vec<bowline_replay::Item>| items.into_iter().map(Item::new).collect();
        Self {
            why: Ended::typed(stopped.why),
            completed: items(stopped.completed),
            cancelled: items(stopped.cancelled),
            abandoned: items(stopped.abandoned),
            app,
        }
    }
}

impl<E: std::fmt::Debug> std::fmt::Debug for Stopped<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stopped")
            .field("why", &self.why)
            .field("completed", &self.completed)
            .field("cancelled", &self.cancelled)
            .field("abandoned", &self.abandoned)
            .finish()
    }
}
