//! I12, the rooms: every Rust file is compiled by some crate. A file that no `mod` names is dead,
//! and a test file that no `mod` names is a test that never runs.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "reachable", about: "I12: every Rust file is reached by `mod`", run };

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.rust() {
        if !file.is_reached() {
            let text = "no crate compiles this file: declare it with `mod`, or remove it";
            findings.push(Finding::failure(&file.path, 1, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    #[test]
    fn a_file_that_nobody_declares_is_found() {
        let files = [
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "mod room;"),
            ("crates/a/src/room.rs", ""),
            ("crates/a/src/forgotten.rs", ""),
        ];
        assert_found(&CHECK, &files, "crates/a/src/forgotten.rs:1", "mod");
    }

    #[test]
    fn declared_files_and_roots_pass() {
        let files = [
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/main.rs", "mod room;"),
            ("crates/a/src/room.rs", "#[cfg(test)] mod tests;"),
            ("crates/a/src/room/tests.rs", ""),
            ("crates/a/tests/conformance.rs", ""),
        ];
        assert_clean(&CHECK, &files);
    }
}
