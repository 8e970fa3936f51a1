//! Where a panic of the user's code happened.
//!
//! A caught panic carries its message and not its place; only the process's panic hook is told
//! that. Ours notes it for the thread and then calls the hook that was there before.

use std::{
    cell::{Cell, RefCell},
    panic::{set_hook, take_hook},
    sync::Once,
};

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
    static UNFIT: Cell<bool> = const { Cell::new(false) };
}

/// What is about to panic is right, but this process lacks what it calls: another one may have it.
pub fn unfit() {
    UNFIT.set(true);
}

/// Whether somebody has said so since this was last asked.
pub(crate) fn is_unfit() -> bool {
    UNFIT.take()
}

/// Puts our hook in front of the one that is there, once in the life of the process.
pub fn record_places() {
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

/// Where this thread last panicked, as file, line and column; empty if it has not since this was
/// last asked. Asked before a call too, it is the call's own.
pub fn last_place() -> String {
    PLACE.with(|last| last.take())
}
