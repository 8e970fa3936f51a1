//! A timer.

use std::{
    pin::Pin,
    task::{self, Poll},
    time::Duration,
};

use bowline_replay::Delay;

use super::{Handle, Stage, What, handle::Inner, named};
use crate::{Ctx, Ended, Failure, Outcome};

/// A timer; see [`Ctx::sleep`]. It ends as cancelled only if this timer itself is cancelled.
#[must_use = "a timer does nothing until it is awaited: add `.await`, or `.start()`"]
pub struct Sleep {
    ctx: Ctx,
    stage: Stage<Delay>,
}

impl Sleep {
    pub(crate) fn new(ctx: &Ctx, span: Duration) -> Self {
        Self { ctx: ctx.clone(), stage: Stage::Described(Box::new(Delay(span))) }
    }

    /// Sets the timer now. Runs concurrently; await the handle to wait for it.
    pub fn start(self) -> Handle<(), Failure> {
        let inner = match self.stage {
            Stage::Described(delay) => Inner::Timer(self.ctx.inner().timer(delay.0).start()),
            Stage::Made(call) => Inner::Timer(call.start()),
            Stage::Refused(_) | Stage::Over => panic!("a timer is not set after its end"),
        };
        Handle::new(self.ctx, What::Timer, inner)
    }
}

impl Future for Sleep {
    type Output = Outcome<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Outcome<()>> {
        let this = &mut *self;
        let call = |delay: Box<Delay>| this.ctx.inner().timer(delay.0);
        this.stage.poll(call, cx).map(|end| match end {
            Ok(rung) => {
                rung.map_err(|cause| named(Ended::Cancelled(cause), &this.ctx, &What::Timer))
            }
            Err(raw) => Ctx::unreadable(raw),
        })
    }
}
