//! Durable futures: lazy until polled, and a drop before the end is a cancel.

mod activity;
mod child;
mod external;
mod timer;

use std::{
    marker::PhantomData,
    pin::Pin,
    rc::Rc,
    task::{self, Poll},
};

use bowline_core::{Cause, Code, EventId};

use crate::{
    Context, reason,
    run::{self, End, NOTHING, Run},
};

pub use timer::Delay;

/// Something that a workflow can ask for and await: an activity, a timer, a child, or a request to
/// another run, by what describes it.
pub trait Durable: Ask {}

impl<A: Ask> Durable for A {}

mod sealed {
    use super::{End, EventId, Run};

    /// How it is asked for, and how its end is told.
    #[expect(private_interfaces, unnameable_types, reason = "nobody outside may name it")]
    pub trait Ask: Sized + Unpin + 'static {
        /// How it ends.
        type Output;

        /// Asks for it, in the scope that is being polled.
        fn ask(self: Box<Self>, run: &mut Run, detached: bool) -> EventId;

        /// Tells its end.
        fn output(end: End) -> Self::Output;
    }
}

pub(crate) use sealed::Ask;

/// A call that was not made yet. Await it, or [`start`](Self::start) it to have it run beside.
#[must_use = "a call does nothing until it is awaited: add `.await`, or `.start()`"]
pub struct Call<D: Durable> {
    ctx: Context,
    /// Boxed: what is asked for is large, and gone once the call was made.
    ask: Option<Box<D>>,
    handle: Option<Handle<D>>,
    mended: bool,
}

impl<D: Durable> Call<D> {
    pub(crate) fn new(ctx: Context, ask: impl Into<Box<D>>) -> Self {
        Self { ctx, ask: Some(ask.into()), handle: None, mended: false }
    }

    /// Its input was changed on purpose: a run that made the call before keeps the outcome that it
    /// had for the input of then. Otherwise another input is a mismatch.
    pub fn mended(mut self) -> Self {
        self.mended = true;
        self
    }

    /// Makes the call now. It runs beside; the handle tells its end.
    pub fn start(mut self) -> Handle<D> {
        self.make();
        self.handle.take().expect("a call that was made has a handle")
    }

    /// Makes the call now and lets go of it: nobody hears of its end, no scope stops it or waits
    /// for it, no deadline reaches it, and it outlives the run. Tells its number.
    pub fn detach(mut self) -> EventId {
        match (self.ask.take(), self.handle.take()) {
            (Some(ask), _) => ask_for(&self.ctx, ask, true, self.mended),
            (None, Some(handle)) => handle.detach(),
            (None, None) => unreachable!("a call is either still to be made or was made"),
        }
    }

    fn make(&mut self) {
        if let Some(ask) = self.ask.take() {
            let number = ask_for(&self.ctx, ask, false, self.mended);
            self.handle = Some(Handle::new(self.ctx.clone(), number));
        }
    }
}

fn ask_for<D: Durable>(ctx: &Context, ask: Box<D>, detached: bool, mended: bool) -> EventId {
    ctx.with(|run| {
        let number = ask.ask(run, detached);
        if mended && number != NOTHING {
            run.asking.mend();
        }
        number
    })
}

impl<D: Durable> Future for Call<D> {
    type Output = D::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<D::Output> {
        self.make();
        let handle = self.handle.as_mut().expect("a call that was made has a handle");
        Pin::new(handle).poll(cx)
    }
}

/// A call that was made. Dropping it before its end cancels the call.
#[must_use = "dropping the handle cancels the call: keep it, await it, or `.detach()` it"]
pub struct Handle<D: Durable> {
    ctx: Context,
    number: EventId,
    /// Its end was not told yet.
    waits: bool,
    what: PhantomData<fn() -> D>,
}

impl<D: Durable> Handle<D> {
    fn new(ctx: Context, number: EventId) -> Self {
        Self { ctx, number, waits: true, what: PhantomData }
    }

    /// Its number: the id of the event that records it.
    pub fn number(&self) -> EventId {
        self.number
    }

    /// Asks for its cancel; await the handle to see how it really ends. That may be a success, if
    /// the cancel came too late. Requests to other runs cannot be cancelled.
    pub fn cancel(self) -> Self {
        self.cancel_because(Cause::new(Code::Requested))
    }

    /// The same, for a reason.
    pub fn cancel_because(self, cause: Cause) -> Self {
        self.ctx.with(|run| {
            if run.may_ask() {
                run.cancel(self.number, &Rc::new(cause), run.current);
            }
        });
        self
    }

    /// Lets go of it: from now on nobody hears of its end, and no scope stops it or waits for it.
    /// A deadline that was given to it when it was made stays. Tells its number.
    pub fn detach(mut self) -> EventId {
        self.ctx.with(|run| {
            if run.may_ask() {
                run.detach(self.number);
            }
        });
        self.waits = false;
        self.number
    }
}

impl<D: Durable> Future for Handle<D> {
    type Output = D::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<D::Output> {
        assert!(self.waits, "a call is not polled after its end");
        let number = self.number;
        match self.ctx.with(|run| run.take_end(number, cx.waker())) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(end) => {
                self.waits = false;
                Poll::Ready(D::output(end))
            }
        }
    }
}

impl<D: Durable> Drop for Handle<D> {
    fn drop(&mut self) {
        if self.waits {
            run::on_drop(self.ctx.shared(), |run| {
                run.on_handle_dropped(self.number, reason::current)
            });
        }
    }
}

/// Each kind of thing has its own kind of end; the run's table keeps them apart.
fn mixed_up(end: &End) -> ! {
    unreachable!("an end of another kind of thing: {end:?}")
}
