//! Calls: lazy builders that are futures. Awaiting one makes it; dropping it before its end
//! cancels it.

mod activity;
mod child;
mod handle;
mod sleep;

use std::{
    fmt,
    pin::Pin,
    task::{self, Poll},
};

use bowline_engine::core::{Cause, Failure as Raw, Name};
use bowline_replay::{Call, Durable};

use crate::{Ctx, Ended};

pub use activity::ActivityCall;
pub use child::ChildCall;
pub use handle::Handle;
pub use sleep::Sleep;

/// What is called, for the chain of causes.
pub(crate) enum What {
    Activity(Name),
    Child(Name),
    Timer,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Activity(name) => write!(f, "activity {name}"),
            Self::Child(name) => write!(f, "child {name}"),
            Self::Timer => f.write_str("timer"),
        }
    }
}

/// A call on its way: described, made, or impossible.
enum Stage<D: Durable> {
    /// What it is to be; changed by the builder.
    Described(Box<D>),
    Made(Call<D>),
    /// What it was given cannot be written: it ends as broken, and asks for nothing.
    Refused(Box<Raw>),
    Over,
}

impl<D: Durable> Stage<D> {
    fn change(&mut self, change: impl FnOnce(&mut D)) {
        if let Self::Described(spec) = self {
            change(spec);
        }
    }

    /// Makes the call if that has not happened yet, and polls it.
    fn poll(
        &mut self,
        call: impl FnOnce(Box<D>) -> Call<D>,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<D::Output, Raw>> {
        match std::mem::replace(self, Self::Over) {
            Self::Described(spec) => *self = Self::Made(call(spec)),
            other => *self = other,
        }
        let polled = match self {
            Self::Made(call) => Pin::new(call).poll(cx).map(Ok),
            Self::Refused(raw) => Poll::Ready(Err((**raw).clone())),
            Self::Described(_) | Self::Over => panic!("a call is not polled after its end"),
        };
        if polled.is_ready() {
            *self = Self::Over;
        }
        polled
    }
}

/// The cause of a cancelled call, as the run will end with it if nobody handles it: if it was not
/// the run itself that was cancelled, the chain names the call.
fn named<E>(ended: Ended<E>, ctx: &Ctx, what: &What) -> Ended<E> {
    match ended {
        Ended::Cancelled(cause) if ctx.cause().is_none() => {
            let code = cause.code;
            Ended::Cancelled(Cause::new(code).detail(what.to_string()).because(cause))
        }
        other => other,
    }
}
