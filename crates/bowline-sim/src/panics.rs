//! Panics: tokio keeps them to itself, and a rule says that there are none.

use std::{panic, sync::Once};

use parking_lot::Mutex;

static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes every panic of this process from now on, instead of printing it.
pub fn catch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let mut seen = SEEN.lock();
            // The first few tell enough.
            if seen.len() < 10 {
                seen.push(info.to_string().replace('\n', " "));
            }
        }));
    });
}

/// What has panicked since the last call.
pub(crate) fn take() -> Vec<String> {
    std::mem::take(&mut *SEEN.lock())
}
