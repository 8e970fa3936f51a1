//! A future that is finished whatever happens to the one who waits for it.
//!
//! Whoever holds a shield polls it. When it is dropped, or a scope around it is left, the run polls
//! it from then on: a scope waits for its shields, so nobody else may be needed for that.

use std::{
    cell::{Cell, RefCell},
    future,
    pin::Pin,
    rc::Rc,
    task::{self, Poll, Waker},
};

use bowline_core::{Cause, Code, ScopeId};

use super::{Plan, enter};
use crate::{Context, LocalFuture, reason, run};

/// Finishes its future even if it is dropped itself: the run then adopts what is left, and stays
/// open for it. No cancel and no deadline reaches what is started inside. A scope around it waits
/// for it, and is told what completed inside.
#[must_use = "a shield does nothing until it is awaited"]
pub struct Shield<T: 'static> {
    ctx: Context,
    rest: Rc<Rest<T>>,
}

/// What is left of a shield, for its holder and for the run.
struct Rest<T> {
    /// Its number, once it was polled.
    id: Cell<Option<ScopeId>>,
    state: RefCell<State<T>>,
    /// The holder, while the run polls.
    waiting: RefCell<Option<Waker>>,
}

enum State<T> {
    Waits(LocalFuture<'static, T>),
    /// It is being polled right now.
    Polled,
    Done(T),
    /// It went on as a new run, and has no value.
    Quit,
    /// The holder has its value.
    Taken,
}

impl<T> Shield<T> {
    pub(crate) fn new(ctx: Context, future: LocalFuture<'static, T>) -> Self {
        let (id, state) = (Cell::default(), RefCell::new(State::Waits(future)));
        Self { ctx, rest: Rc::new(Rest { id, state, waiting: RefCell::default() }) }
    }

    /// Its number. The run has a share in it from the first poll on.
    fn open(&self) -> Option<ScopeId> {
        if self.rest.id.get().is_none() && self.ctx.may_ask() {
            let (ctx, rest) = (self.ctx.clone(), self.rest.clone());
            let rest = future::poll_fn(move |cx| rest.poll(&ctx, cx).map(Ok));
            let (name, shield) = ("shield".to_owned(), Some(Box::pin(rest) as LocalFuture<'_, _>));
            let plan = Plan { name, shield, ..Plan::default() };
            self.rest.id.set(Some(self.ctx.with(|run| run.open_scope(plan))));
        }
        self.rest.id.get()
    }
}

impl<T> Rest<T> {
    /// Polls the future, in the scope that a shield is; ready if that was the last time.
    fn poll(&self, ctx: &Context, cx: &mut task::Context<'_>) -> Poll<()> {
        let Some(id) = self.id.get() else { return Poll::Pending };
        let mut future = match self.state.replace(State::Polled) {
            State::Waits(future) => future,
            State::Polled => return Poll::Pending,
            over => {
                self.state.replace(over);
                return Poll::Ready(());
            }
        };
        let _inside = enter(ctx.shared(), id);
        let over = match future.as_mut().poll(cx) {
            Poll::Ready(value) => State::Done(value),
            Poll::Pending if ctx.with(|run| run.has_quit(id)) => State::Quit,
            Poll::Pending => {
                self.state.replace(State::Waits(future));
                return Poll::Pending;
            }
        };
        match over {
            State::Quit => {
                let cause = Rc::new(Cause::new(Code::RunContinued));
                reason::because(&cause, || drop(future));
            }
            _ => drop(future),
        }
        self.state.replace(over);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
        Poll::Ready(())
    }
}

impl<T> Future for Shield<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<T> {
        let Some(id) = self.open() else { return Poll::Pending };
        let is_ours = self.ctx.with(|run| run.is_held_shield(id));
        if is_ours && self.rest.poll(&self.ctx, cx).is_ready() {
            self.ctx.with(|run| run.close_shield(id));
        }
        match self.rest.state.replace(State::Taken) {
            State::Done(value) => Poll::Ready(value),
            State::Taken => panic!("a shield is not polled after it was over"),
            other => {
                // Whoever waits for what has no value has nothing more to do either.
                if matches!(other, State::Quit) {
                    self.ctx.with(|run| run.quit());
                }
                self.rest.state.replace(other);
                self.rest.waiting.replace(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Shield<T> {
    fn drop(&mut self) {
        let Some(id) = self.rest.id.get() else { return };
        self.rest.waiting.take();
        run::on_drop(self.ctx.shared(), |run| run.adopt_shield(id));
    }
}
