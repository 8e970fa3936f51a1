//! Panics of user code as failures, with the place where they happened.
//!
//! A caught panic carries its message and not its place; only the process's panic hook is told
//! that. Ours notes it for the thread and then calls the hook that was there before.

use std::{
    any::Any,
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

use bowline_core::Failure;

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Puts our hook in front of the one that is there, once in the life of the process.
pub(super) fn record_places() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            // A thread that is being torn down has no place to note it, and nobody who reads it.
            let _ = PLACE.try_with(|last| last.replace(place));
            before(info);
        }));
    });
}

/// Runs user code; a panic comes back as a failure of the kind `panic`.
///
/// Whatever the code left behind half-done is its own: nobody calls it again after a panic.
pub(super) fn catch<T>(code: impl FnOnce() -> T) -> Result<T, Box<Failure>> {
    PLACE.with(|last| last.borrow_mut().clear());
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let place = PLACE.with(|last| last.take());
        let failure = Failure::new(message(&*panic)).kind("panic");
        Box::new(Failure { trace: place, ..failure })
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic whose message is not a text").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_has_its_message_and_its_place() {
        record_places();
        let line = line!() + 1;
        let failure = catch(|| panic!("seven {}", 7)).unwrap_err();
        assert_eq!((failure.message.as_str(), failure.kind.as_str()), ("seven 7", "panic"));
        let place = format!("{}:{line}:", file!());
        assert!(failure.trace.starts_with(&place), "{} is not {place}", failure.trace);
    }

    #[test]
    fn a_panic_of_something_else_is_still_a_panic() {
        let failure = catch(|| std::panic::panic_any(7)).unwrap_err();
        assert_eq!(failure.message, "a panic whose message is not a text");
    }

    #[test]
    fn code_that_does_not_panic_is_let_through() {
        assert_eq!(catch(|| 7), Ok(7));
    }
}
