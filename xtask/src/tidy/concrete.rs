//! I8: only the two places that open a store name a concrete one; all others know the contract.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "concrete",
    about: "I8: only bowline/open and the CLI's compose name a concrete store",
    run,
};

const ROOMS: &[&str] = &["crates/bowline-cli/src/compose", "crates/bowline/src/open"];

const STORES: &[&str] = &["bowline_sqlite", "bowline_postgres"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.crate_sources() {
        // The simulator is a test that happens to be a crate.
        let is_free = file.crate_name() == Some("bowline-sim")
            || ROOMS.iter().any(|room| file.is_in_room(room));
        if is_free {
            continue;
        }
        for store in STORES {
            for index in source.find(&[store]) {
                let offset = source.tokens()[index].start();
                if !file.is_test(offset) {
                    let text = format!(
                        "names `{store}`: take a `dyn Store` and let {} open it",
                        ROOMS.join(".rs or ")
                    );
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

    #[test]
    fn a_concrete_store_elsewhere_is_found() {
        let files = [("crates/bowline/src/client.rs", "//! A.\nuse bowline_sqlite::Sqlite;")];
        assert_found(&CHECK, &files, "crates/bowline/src/client.rs:2", "bowline_sqlite");
    }

    #[test]
    fn the_openers_and_tests_may() {
        assert_clean(
            &CHECK,
            &[
                ("crates/bowline-cli/src/compose.rs", "use bowline_postgres::open;"),
                ("crates/bowline/src/open/sqlite.rs", "use bowline_sqlite::open;"),
                ("crates/bowline-engine/tests/it/main.rs", "use bowline_sqlite::open;"),
                ("crates/bowline/src/run.rs", "#[cfg(test)] mod t { use bowline_sqlite::open; }"),
            ],
        );
    }
}
