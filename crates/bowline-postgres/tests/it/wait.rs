//! Waiting, without a runtime and with a bound: for answers, for hints, and for what the server
//! tells nobody.

use std::time::{Duration, Instant};

pub(crate) use bowline_store::conformance::block_on as wait;
use bowline_store::{Hint, Hints};

/// Nothing takes so long, on a machine that has much else to do either.
const PATIENCE: Duration = Duration::from_secs(240);

/// Does something, and waits for the hint that must follow it. Whoever does not listen yet misses
/// that; when the store does, it says so with [`Hint::Everything`], and it is done again.
pub(crate) fn hear(hints: &mut Hints, mut cause: impl FnMut() -> Hint) {
    let mut wanted = cause();
    loop {
        let heard = wait(hints.next());
        if heard.contains(&wanted) {
            return;
        }
        if heard.contains(&Hint::Everything) {
            wanted = cause();
        }
    }
}

/// Looks until something is so. Only for what nobody tells of, as who waits for whose lock: the
/// server has a table of that, and wakes nobody when it changes. A look asks the server, which is
/// what there is to wait for in between.
pub(crate) fn look_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
    }
}
