//! Panics of activities as failures, with the place where they happened.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use bowline_core::Failure;
use bowline_replay::last_place;

pub(super) use bowline_replay::record_places;

/// Runs user code; a panic comes back as a failure of the kind `panic`.
///
/// Whatever the code left behind half-done is its own: nobody calls it again after a panic.
pub(super) fn catch<T>(code: impl FnOnce() -> T) -> Result<T, Box<Failure>> {
    last_place();
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let place = last_place();
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
