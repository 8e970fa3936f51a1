//! The Go SDK, with its default settings; its own replayer reads every history.

use std::process::Command;

use crate::program::{Program, prepared, tests};

pub(crate) const GO: Program = Program {
    language: "Go",
    command: || Some(Command::new(prepared("Go", "BOWLINE_GO")?)),
    own: &[
        "heartbeats",
        "routines",
        "session",
        "outside",
        "closing",
        "not_ready",
        "timeouts",
        "elsewhere",
        "shown",
    ],
};

tests!(GO);

/// Runs that find no room in the worker's cache are replayed from their whole history. The cache
/// belongs to the process, so nothing else is played in this one.
#[test]
fn replays_what_its_cache_has_lost() {
    GO.plays(&["evicted"]);
}
