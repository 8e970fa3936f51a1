//! I6: `engine/` never runs user code, `worker/` never touches a store: neither may even name what
//! it would need for that.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "rooms",
    about: "I6: worker/ never names a store, engine/ never names replay",
    run,
};

struct Wall {
    room: &'static str,
    /// Tokens that may not follow each other there.
    words: &'static [&'static str],
    instead: &'static str,
}

const WORKER: &str = "crates/bowline-engine/src/worker";
const ENGINE: &str = "crates/bowline-engine/src/engine";

const WALLS: &[Wall] = &[
    Wall { room: WORKER, words: &["bowline_store"], instead: "go through the engine's handle" },
    Wall { room: WORKER, words: &["dyn", "Store"], instead: "go through the engine's handle" },
    Wall { room: ENGINE, words: &["bowline_replay"], instead: "running code is the worker's part" },
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.crate_sources() {
        for wall in WALLS.iter().filter(|wall| file.is_in_room(wall.room)) {
            for index in source.find(wall.words) {
                let offset = source.tokens()[index].start();
                if !file.is_test(offset) {
                    let name = wall.words.join(" ");
                    let text = format!("`{name}` has no place in this room: {}", wall.instead);
                    findings.push(Finding::failure(&file.path, source.line(offset), text));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    const TURN: &str = "crates/bowline-engine/src/worker/turn.rs";
    const SWEEP: &str = "crates/bowline-engine/src/engine/sweep.rs";

    #[test]
    fn a_worker_that_names_a_store_is_found() {
        let files = [(TURN, "//! A.\nuse bowline_store::Commit;")];
        assert_found(&CHECK, &files, "crates/bowline-engine/src/worker/turn.rs:2", "bowline_store");
        let files = [(TURN, "struct S { store: Arc<dyn Store> }")];
        assert_found(&CHECK, &files, "crates/bowline-engine/src/worker/turn.rs:1", "dyn Store");
    }

    #[test]
    fn an_engine_that_names_replay_is_found() {
        let files = [(SWEEP, "use bowline_replay::Replay;")];
        assert_found(&CHECK, &files, "crates/bowline-engine/src/engine/sweep.rs:1", "replay");
    }

    #[test]
    fn each_may_name_its_own_and_tests_both() {
        assert_clean(
            &CHECK,
            &[
                (TURN, "use bowline_replay::Replay;\n#[cfg(test)] use bowline_store::Memory;"),
                (SWEEP, "use bowline_store::Store; // bowline_replay is elsewhere"),
            ],
        );
    }
}
