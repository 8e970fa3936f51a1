//! Files are named after what is in them, and accessors after what they give.

use super::{Check, Finding};
use crate::tree::{File, Tree};

pub(super) const CHECK: Check = Check {
    name: "names",
    about: "No file is called manager, util and the like; no function is called get_something",
    run,
};

/// Names that say nothing of the content, and so attract everything.
const EMPTY_NAMES: &[&str] = &[
    "manager", "managers", "helper", "helpers", "util", "utils", "common", "handler", "handlers",
    "service", "services", "impl", "impls", "misc",
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        if let Some(name) = empty_name(file) {
            let text = format!("`{name}` says nothing: name the file after what is in it");
            findings.push(Finding::failure(&file.path, 1, text));
        }
        for function in source.functions() {
            let Some(rest) = function.name.strip_prefix("get_") else { continue };
            // The Temporal door implements a service whose calls have such names.
            let is_foreign = file.crate_name() == Some("bowline-temporal");
            if rest != "mut" && !rest.starts_with("or_") && !is_foreign {
                let text = format!("`{}`: call it `{rest}`", function.name);
                findings.push(Finding::failure(&file.path, function.line_first, text));
            }
        }
    }
    findings
}

/// The part of the path that says nothing.
fn empty_name(file: &File) -> Option<&str> {
    file.path
        .split('/')
        .flat_map(|part| part.trim_end_matches(".rs").split(['_', '-']))
        .find(|word| EMPTY_NAMES.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    #[test]
    fn names_that_say_nothing_are_found() {
        let files = [("crates/a/src/run_manager.rs", "")];
        assert_found(&CHECK, &files, "crates/a/src/run_manager.rs:1", "`manager`");
        let files = [("crates/a/tests/common/mod.rs", "")];
        assert_found(&CHECK, &files, "crates/a/tests/common/mod.rs:1", "`common`");
    }

    #[test]
    fn getters_are_found() {
        let files = [("crates/a/src/a.rs", "fn get_run() {}\nfn get_mut() {}\nfn run() {}")];
        assert_found(&CHECK, &files, "crates/a/src/a.rs:1", "call it `run`");
    }

    #[test]
    fn names_that_say_something_pass() {
        assert_clean(&CHECK, &[("crates/a/src/commit.rs", "fn commit() {}")]);
        assert_clean(&CHECK, &[("crates/bowline-temporal/src/a.rs", "fn get_system_info() {}")]);
    }
}
