//! A type has a name of its own within its crate: whoever looks for it finds one.

use std::collections::BTreeMap;

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "types", about: "No two types of a crate have the same name", run };

fn run(tree: &Tree) -> Vec<Finding> {
    let mut known: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut findings = Vec::new();
    for (file, _) in tree.crate_sources() {
        let Some(own) = file.crate_name() else { continue };
        // What is indented belongs to an impl, a function or a module of tests.
        for (number, line) in file.text.lines().enumerate() {
            let Some(name) = defined(line) else { continue };
            if let Some(first) = known.insert((own, name), &file.path)
                && !line.contains("tidy: allow(types)")
            {
                let text = format!("`{name}` is a type of {first} too: give one another name");
                findings.push(Finding::failure(&file.path, number + 1, text));
            }
        }
    }
    findings
}

/// The name of the type that a line defines.
pub(super) fn defined(line: &str) -> Option<&str> {
    let words = line.strip_prefix("pub ").unwrap_or(line);
    let words = match words.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => words,
    };
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| words.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    #[test]
    fn names_that_stand_twice_are_found() {
        let files = [
            ("crates/a/src/a.rs", "pub(crate) struct State {\n}\n"),
            ("crates/a/src/b.rs", "enum State {\n}\n"),
        ];
        assert_found(&CHECK, &files, "crates/a/src/b.rs:1", "`State` is a type of");
        let files = [
            ("crates/a/src/a.rs", "impl X for Y {\n    type Output = u8;\n}\n"),
            ("crates/a/src/b.rs", "impl X for Z {\n    type Output = u8;\n}\n"),
            ("crates/b/src/a.rs", "struct State;\n"),
            ("crates/c/src/a.rs", "struct State;\n"),
        ];
        assert_clean(&CHECK, &files);
    }
}
