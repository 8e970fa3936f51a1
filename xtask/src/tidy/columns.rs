//! Lines of Rust have at most 100 columns: two files fit beside each other, and a diff stays whole.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "columns", about: "Lines of Rust have at most 100 columns", run };

const COLUMNS_MAX: usize = 100;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.rust() {
        for (index, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            // A link cannot be broken; it may stand alone in its comment.
            let is_link = line.trim_start().starts_with("//") && line.contains("://");
            if columns > COLUMNS_MAX && !is_link {
                let text = format!("{columns} columns: break the line at {COLUMNS_MAX} or before");
                findings.push(Finding::failure(&file.path, index + 1, text).or_allow("columns"));
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
    fn a_line_of_101_columns_is_found() {
        let text = format!("//! A.\n{}\n", "é".repeat(101));
        assert_found(&CHECK, &[("crates/a/src/a.rs", &text)], "crates/a/src/a.rs:2", "101 columns");
    }

    #[test]
    fn a_hundred_columns_and_links_pass() {
        let text = format!("{}\n// https://example.org/{}\n", "é".repeat(100), "x".repeat(100));
        assert_clean(&CHECK, &[("crates/a/src/a.rs", &text)]);
    }
}
