//! Scopes: what is first polled inside one belongs to it, and it is over when all of that has
//! stopped.
//!
//! The future that the user holds polls the body and nothing else. Everything after the body is
//! the run's part (`life.rs`), so that it happens in the same way whether somebody still waits for
//! the scope or has dropped it.

mod life;
mod record;
mod shield;
mod stopped;

use std::{
    pin::Pin,
    rc::Rc,
    task::{self, Poll},
    time::Duration,
};

use bowline_core::{Cause, ScopeId, Time};

use crate::{
    Context, Ended, LocalFuture, reason,
    run::{self, Run, Shared},
};

pub use shield::Shield;
pub use stopped::{Item, Stopped};

pub(crate) use record::{Cleanup, Fate, Leaving, Phase, Record, Why};

/// A part of a workflow that ends only when everything started inside it has stopped.
#[must_use = "a scope does nothing until it is awaited"]
pub struct Scope<'a, T> {
    ctx: Context,
    body: Option<LocalFuture<'a, Result<T, Ended>>>,
    plan: Plan,
    /// Its number, once it was polled.
    id: Option<ScopeId>,
    /// What the body returned, until everything else has stopped too.
    value: Option<T>,
}

/// What a scope is to be; used when it is first polled.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) deadline: Option<Duration>,
    pub(crate) cleanup: Option<Cleanup>,
    /// What a shield is to finish.
    pub(crate) shield: Option<LocalFuture<'static, Result<(), Ended>>>,
}

/// Nothing in a scope is pinned in place: its body is in a box.
impl<T> Unpin for Scope<'_, T> {}

impl<'a, T> Scope<'a, T> {
    pub(crate) fn new(ctx: Context, body: LocalFuture<'a, Result<T, Ended>>) -> Self {
        Self { ctx, body: Some(body), plan: Plan::default(), id: None, value: None }
    }

    /// Calls it by a name, in histories and causes.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.plan.name = name.into();
        self
    }

    /// Cancels what is inside, with code `deadline`, if it is not over this long after it was
    /// first polled. Reaches activities and children as their remaining time; not detached work.
    pub fn deadline(mut self, after: Duration) -> Self {
        self.plan.deadline = Some(after);
        self
    }

    /// Runs this after everything inside has stopped, if the scope did not simply end well.
    /// Nothing disturbs it: it runs even if the scope itself was dropped.
    pub fn cleanup<C>(mut self, cleanup: C) -> Self
    where
        C: AsyncFnOnce(Context, Stopped) -> Result<(), Ended> + 'static,
    {
        let ctx = self.ctx.clone();
        let call = move |stopped| -> LocalFuture<'static, _> {
            Box::pin(async move { cleanup(ctx, stopped).await })
        };
        self.plan.cleanup = Some(Box::new(call));
        self
    }

    /// Polls the body; if it is over, the scope is left.
    fn poll_body(&mut self, id: ScopeId, cx: &mut task::Context<'_>) {
        let Some(body) = &mut self.body else { return };
        let mark = self.ctx.with(|run| run.asking.plain.len());
        let polled = {
            let _inside = enter(self.ctx.shared(), id);
            body.as_mut().poll(cx)
        };
        let Poll::Ready(result) = polled else { return };
        let result = result.map(|value| self.value = Some(value));
        self.ctx.with(|run| {
            let (why, cause) = match result {
                Ok(()) => (Why::Done, run.inner_cause(id)),
                Err(ended) => {
                    let leaving = Leaving::ended(ended, run.scope_name(id));
                    let inner = leaving.inner.clone();
                    (leaving.into(), inner)
                }
            };
            run.drop_with(id, mark, &Rc::new(cause));
            run.leave(id, why);
        });
    }

    /// Drops what is left of the body.
    fn drop_body(&mut self, id: ScopeId, cause: &Cause) {
        let Some(body) = self.body.take() else { return };
        let _inside = enter(self.ctx.shared(), id);
        reason::because(&Rc::new(cause.clone()), || drop(body));
    }
}

impl<T> Future for Scope<'_, T> {
    type Output = Result<T, Stopped>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let id = match this.id {
            Some(id) => id,
            None if !this.ctx.may_ask() => return Poll::Pending,
            None => {
                let plan = std::mem::take(&mut this.plan);
                *this.id.insert(this.ctx.with(|run| run.open_scope(plan)))
            }
        };
        if this.ctx.with(|run| run.is_open(id)) {
            this.poll_body(id, cx);
        }
        if !this.ctx.with(|run| run.is_open(id)) {
            let cause = this.ctx.with(|run| run.inner_cause(id));
            this.drop_body(id, &cause);
        }
        match this.ctx.with(|run| run.take_scope(id, cx.waker())) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(result) => {
                this.id = None;
                let value = this.value.take();
                Poll::Ready(match result {
                    Ok(()) => Ok(value.expect("a scope that is done has the value of its body")),
                    Err(stopped) => Err(*stopped),
                })
            }
        }
    }
}

impl<T> Drop for Scope<'_, T> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        if !self.ctx.is_open() || std::thread::panicking() {
            return;
        }
        let cause = reason::of_drop();
        let inner = self.ctx.with(|run| {
            let leaving = Leaving::cancelled(cause, run.scope_name(id));
            let inner = leaving.inner.clone();
            run.on_scope_dropped(id, leaving);
            inner
        });
        self.drop_body(id, &inner);
    }
}

/// The scope of whoever is polled changes until this is dropped.
pub(crate) struct Inside<'s> {
    shared: &'s Shared,
    before: ScopeId,
}

/// Polls and drops what belongs to a scope.
pub(crate) fn enter(shared: &Shared, id: ScopeId) -> Inside<'_> {
    let before = run::with(shared, |run| std::mem::replace(&mut run.current, id));
    Inside { shared, before }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if let Ok(mut run) = self.shared.try_borrow_mut() {
            run.current = self.before;
        }
    }
}

impl Run {
    /// When the scope that is being polled is to be over, by its own deadline or an outer one.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.scopes.get(&self.current).and_then(|record| record.deadline)
    }
}
