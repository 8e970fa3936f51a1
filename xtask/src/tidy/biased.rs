//! No `select!` of the engine is random: the same seed must give the same run, and whoever reads it
//! must know what goes first.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "biased",
    about: "every select! of the engine says which branch goes first",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        if !file.path.starts_with("crates/bowline-engine/src/") {
            continue;
        }
        for index in source.find(&["select", "!", "{"]) {
            let next = source.tokens().get(index + 3).map(|token| token.text());
            if next != Some("biased") {
                let text = "a select! that is random by design: begin it with `biased;`";
                let line = source.line(source.tokens()[index].start());
                findings.push(Finding::failure(&file.path, line, text).or_allow("biased"));
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
    fn a_random_select_is_found() {
        let path = "crates/bowline-engine/src/a.rs";
        let random = "//! A.\nasync fn f() {\n    tokio::select! { () = a => {} }\n}";
        assert_found(&CHECK, &[(path, random)], &format!("{path}:3"), "biased");
        let certain = random.replace("{ () =", "{ biased; () =");
        assert_clean(&CHECK, &[(path, &certain)]);
        assert_clean(&CHECK, &[("crates/bowline-cli/src/a.rs", random)]);
    }
}
