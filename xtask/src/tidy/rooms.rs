//! What a room may not name. I6: `engine/` never runs user code, and keeps the store to itself, so
//! that the compiler keeps everybody else from it. I13: whose rules a run follows is asked in one
//! file.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "rooms",
    about: "I6, I13: engine/ shares no store and names no replay; rules differ in one file",
    run,
};

struct Wall {
    room: &'static str,
    /// Rooms inside of it that may.
    except: &'static [&'static str],
    /// Tokens that may not follow each other there.
    words: &'static [&'static str],
    instead: &'static str,
}

const ENGINE: &str = "crates/bowline-engine/src/engine";
const CORE: &str = "crates/bowline-core/src";

const WALLS: &[Wall] = &[
    Wall {
        room: ENGINE,
        except: &[],
        words: &["pub", "(", "crate", ")", "store", ":"],
        instead: "the store is private to this half",
    },
    Wall {
        room: ENGINE,
        except: &[],
        words: &["bowline_replay"],
        instead: "running code is the worker's part",
    },
    Wall {
        room: CORE,
        except: &["crates/bowline-core/src/rules", "crates/bowline-core/src/lawful"],
        words: &["is_native"],
        instead: "give the difference a name in rules.rs",
    },
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.crate_sources() {
        let may = |wall: &Wall| wall.except.iter().any(|room| file.is_in_room(room));
        for wall in WALLS.iter().filter(|wall| file.is_in_room(wall.room) && !may(wall)) {
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

    const SWEEP: &str = "crates/bowline-engine/src/engine/sweep.rs";

    #[test]
    fn an_engine_that_shares_its_store_is_found() {
        let engine = "crates/bowline-engine/src/engine.rs";
        let text = "//! A.\nstruct S { pub(crate) store: Arc<dyn Store> }";
        assert_found(&CHECK, &[(engine, text)], &format!("{engine}:2"), "private");
        assert_clean(&CHECK, &[(engine, "struct S { store: Arc<dyn Store> }")]);
    }

    #[test]
    fn an_engine_that_names_replay_is_found() {
        let files = [(SWEEP, "use bowline_replay::Replay;")];
        assert_found(&CHECK, &files, "crates/bowline-engine/src/engine/sweep.rs:1", "replay");
        assert_clean(&CHECK, &[(SWEEP, "use bowline_store::Store; // not bowline_replay")]);
    }

    #[test]
    fn a_difference_of_rules_without_a_name_is_found() {
        let rule = "if rules.is_native() {}";
        let decide = "crates/bowline-core/src/decide/timer.rs";
        assert_found(&CHECK, &[(decide, rule)], &format!("{decide}:1"), "rules.rs");
        let files = ["crates/bowline-core/src/rules.rs", "crates/bowline-core/src/lawful/turn.rs"];
        assert_clean(&CHECK, &files.map(|file| (file, rule)));
        assert_clean(&CHECK, &[(decide, "#[cfg(test)] fn t() { rules.is_native(); }")]);
    }
}
