//! Why something is being dropped: a durable future that is dropped asks here for its cause.
//!
//! A drop cannot be given an argument, so whoever drops on purpose says why around it. The stack
//! belongs to the thread, because combinators know no context; a run never leaves its thread.

use std::{cell::RefCell, rc::Rc};

use bowline_core::{Cause, Code, limits};

thread_local! {
    static REASONS: RefCell<Vec<Rc<Cause>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `drops`, and whatever durable futures it drops are cancelled for this reason, instead of
/// plain `future_dropped`. What is dropped inside for a closer reason keeps that one.
pub fn dropping<R>(code: Code, drops: impl FnOnce() -> R) -> R {
    because(&Rc::new(chained(Cause::new(code), current().as_deref())), drops)
}

/// The same with a whole cause. It is shared by all that is dropped: that may be very many.
pub(crate) fn because<R>(cause: &Rc<Cause>, drops: impl FnOnce() -> R) -> R {
    REASONS.with_borrow_mut(|reasons| reasons.push(cause.clone()));
    let _pop = Pop;
    drops()
}

/// Why something is being dropped right now, if anybody said so.
pub(crate) fn current() -> Option<Rc<Cause>> {
    REASONS.with_borrow(|reasons| reasons.last().cloned())
}

/// Why something that is dropped right now is cancelled.
pub(crate) fn of_drop() -> Cause {
    current().map_or_else(|| Cause::new(Code::FutureDropped), Rc::unwrap_or_clone)
}

/// A cause as a consequence of another; chains are cut at a bound, the first mover stays.
pub(crate) fn chained(cause: Cause, parent: Option<&Cause>) -> Cause {
    match parent {
        Some(parent) if parent.chain().count() < limits::CAUSES_MAX => {
            cause.because(parent.clone())
        }
        Some(parent) => cause.because(parent.root().clone()),
        None => cause,
    }
}

/// Takes the reason away again, on unwinding too.
struct Pop;

impl Drop for Pop {
    fn drop(&mut self) {
        REASONS.with_borrow_mut(|reasons| {
            reasons.pop();
        });
    }
}
