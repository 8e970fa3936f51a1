//! A future that is finished whatever happens to the one who waits for it.

use std::{
    pin::Pin,
    task::{self, Poll},
};

use bowline_core::ScopeId;

use super::{Plan, enter};
use crate::{
    Context, LocalFuture,
    adopt::{Adoption, Orphan},
    run,
};

/// Finishes its future, even if it is dropped itself: then the run adopts what is left, and stays
/// open for it. No cancel reaches what is started inside, and no deadline.
#[must_use = "a shield does nothing until it is awaited"]
pub struct Shield<T: 'static> {
    ctx: Context,
    future: Option<LocalFuture<'static, T>>,
    /// Its number, once it was polled.
    id: Option<ScopeId>,
}

impl<T> Shield<T> {
    pub(crate) fn new(ctx: Context, future: LocalFuture<'static, T>) -> Self {
        Self { ctx, future: Some(future), id: None }
    }
}

impl<T> Future for Shield<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let id = *this.id.get_or_insert_with(|| {
            let plan = Plan { name: "shield".to_owned(), shield: true, ..Plan::default() };
            this.ctx.with(|run| run.open_scope(plan))
        });
        let future = this.future.as_mut().expect("a shield is not polled after it was over");
        let polled = {
            let _inside = enter(this.ctx.shared(), id);
            future.as_mut().poll(cx)
        };
        let Poll::Ready(value) = polled else { return Poll::Pending };
        {
            let _inside = enter(this.ctx.shared(), id);
            this.future = None;
        }
        this.ctx.with(|run| run.close_shield(id));
        Poll::Ready(value)
    }
}

impl<T> Drop for Shield<T> {
    fn drop(&mut self) {
        let (Some(scope), Some(future)) = (self.id, self.future.take()) else { return };
        let is_open = self.ctx.is_open() && !std::thread::panicking();
        if !is_open {
            return;
        }
        let future = Box::pin(async move {
            let _value = future.await;
            Ok(())
        });
        let adoption = Adoption { scope, orphan: Orphan::Shield, future };
        run::on_drop(self.ctx.shared(), |run| run.adoptions.push_back(adoption));
    }
}
