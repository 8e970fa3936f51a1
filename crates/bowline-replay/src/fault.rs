//! Why a turn came to nothing. The run itself is untouched by it.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use bowline_core::Failure;

use crate::{
    Mismatch, limits,
    place::{is_unfit, last_place, record_places},
};

/// The kind of a failure that is not the code's fault: its process lacks something that it calls.
pub const UNFIT: &str = "unregistered";

/// Why a turn came to nothing: nothing may be committed, and the replay is dead.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// The code does not do what history says it did.
    Mismatch(Box<Mismatch>),
    /// The code panicked. Trying again may help, if not for ever.
    Panicked(Box<Failure>),
    /// The code woke itself again and again, and waits for nothing.
    Spinning,
    /// The code was woken by something that is in no history.
    Intruded,
    /// The code waits, and for nothing that will ever be in history.
    Stranded,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(mismatch) => mismatch.fmt(f),
            Self::Panicked(failure) if failure.kind == UNFIT => {
                write!(f, "this process cannot continue the run: {}", failure.message)?;
                match failure.trace.as_str() {
                    "" => Ok(()),
                    place => write!(f, ", at {place}"),
                }
            }
            Self::Panicked(failure) if failure.trace.is_empty() => {
                write!(f, "the workflow's code panicked: {failure}")
            }
            Self::Panicked(failure) => {
                write!(f, "the workflow's code panicked: {failure}, at {}", failure.trace)
            }
            Self::Spinning => write!(
                f,
                "the workflow's code was polled {} times for one message and still wakes itself: \
                 it loops without waiting for anything durable",
                limits::POLLS_MAX
            ),
            Self::Intruded => f.write_str(
                "the workflow's code was woken by another thread, or outside its turn: it awaits \
                 something that is not durable, such as a channel that a thread or a runtime \
                 feeds. No history records that, so nothing would wake it after a restart. Do such \
                 work in an activity, and tell the run by a signal",
            ),
            Self::Stranded => f.write_str(
                "the workflow's code awaits something that is not durable, such as a channel that \
                 a thread or a runtime feeds, and nothing else: nothing would wake it after a \
                 restart. Do such work in an activity, and tell the run by a signal. To wait until \
                 the run is cancelled, await `std::future::pending()`",
            ),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Mismatch> for Fault {
    fn from(mismatch: Mismatch) -> Self {
        Self::Mismatch(Box::new(mismatch))
    }
}

/// Calls into the user's code, whose panics end here.
pub(crate) fn guarded<R>(call: impl FnOnce() -> R) -> Result<R, Box<Failure>> {
    record_places();
    last_place();
    is_unfit();
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let trace = last_place();
        let message = message(&*panic);
        let hint = match message.contains("reactor running") || message.contains("Tokio") {
            true => {
                " (workflow code runs outside any async runtime: use `ctx.sleep` instead of the \
                 runtime's timers, and `.start()` or `join!` instead of its `spawn`)"
            }
            false => "",
        };
        let kind = if is_unfit() { UNFIT } else { "panic" };
        let failure = Failure::new(format!("{message}{hint}")).kind(kind);
        Box::new(Failure { trace, ..failure })
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
