//! I2: `submit` is the only caller of `Store::commit`, so that there is one write path to follow.

use super::{Check, Finding};
use crate::source::Source;
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "commit", about: "I2: only the engine's submit calls Store::commit", run };

/// The one room that may.
const ROOM: &str = "crates/bowline-engine/src/engine/submit";

/// The crates that hold a store. The stores themselves commit their own transactions.
const HOLDERS: &[&str] =
    &["bowline", "bowline-engine", "bowline-cli", "bowline-http", "bowline-temporal"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.crate_sources() {
        let holds = file.crate_name().is_some_and(|name| HOLDERS.contains(&name));
        if !holds || file.is_in_room(ROOM) {
            continue;
        }
        for index in calls(source) {
            let offset = source.tokens()[index].start();
            if !file.is_test(offset) {
                let text = format!("commits to the store: go through {ROOM}.rs instead");
                findings.push(Finding::failure(&file.path, source.line(offset), text));
            }
        }
    }
    findings
}

/// Where something called a store, or its type, is asked to commit.
fn calls(source: &Source) -> Vec<usize> {
    let methods =
        source.find(&[".", "commit", "("]).filter(|index| is_store_before(source, *index));
    let paths = source.find(&["Store", ":", ":", "commit"]);
    let qualified = source.find(&["Store", ">", ":", ":", "commit"]);
    methods.chain(paths).chain(qualified).collect()
}

/// Whether what stands before the dot is `store`, `self.store`, `self.store()` or the like.
fn is_store_before(source: &Source, dot: usize) -> bool {
    let tokens = source.tokens();
    let mut index = dot;
    loop {
        let Some(before) = index.checked_sub(1) else { return false };
        index = before;
        if !matches!(tokens[index].text(), "(" | ")" | "?") {
            return tokens[index].text().to_lowercase().ends_with("store");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    const ELSEWHERE: &str = "crates/bowline-engine/src/worker/turn.rs";

    #[test]
    fn a_commit_elsewhere_is_found() {
        for line in [
            "self.store.commit(group);",
            "self.store()\n    .commit(group);",
            "Store::commit(&*self.inner, group);",
            "<dyn Store>::commit(&*self.inner, group);",
        ] {
            let place = format!("{ELSEWHERE}:{}", line.lines().count());
            assert_found(&CHECK, &[(ELSEWHERE, line)], &place, "submit");
        }
        let files = [("crates/bowline/src/client.rs", "//! A.\nstore.commit(x);")];
        assert_found(&CHECK, &files, "crates/bowline/src/client.rs:2", "submit");
    }

    #[test]
    fn submit_tests_and_other_commits_pass() {
        assert_clean(
            &CHECK,
            &[
                ("crates/bowline-engine/src/engine/submit.rs", "store.commit(x);"),
                ("crates/bowline-engine/src/engine/submit/group.rs", "store.commit(x);"),
                ("crates/bowline-sqlite/src/write/commit.rs", "store.commit(x);"),
                (ELSEWHERE, "engine.commit(x); #[test] fn t() { store.commit(x); }"),
            ],
        );
    }
}
