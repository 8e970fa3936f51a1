//! Files of Rust warn above 500 lines and fail above 800: nobody plans a hall, it grows.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "length", about: "Files warn above 500 lines and fail above 800", run };

const LINES_GOOD: usize = 500;
const LINES_MAX: usize = 800;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.rust() {
        let lines = file.text.lines().count();
        if lines > LINES_MAX {
            let text = format!("{lines} lines, {LINES_MAX} are the most: split it by concern");
            findings.push(Finding::failure(&file.path, 1, text));
        } else if lines > LINES_GOOD {
            let text = format!("{lines} lines: split it by concern before it has {LINES_MAX}");
            findings.push(Finding::warning(&file.path, 1, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    const PATH: &str = "crates/a/src/a.rs";

    #[test]
    fn above_800_lines_fails() {
        let text = "\n".repeat(801);
        assert_found(&CHECK, &[(PATH, &text)], "crates/a/src/a.rs:1", "801 lines, 800");
    }

    #[test]
    fn above_500_lines_warns() {
        let text = "\n".repeat(501);
        assert_found(&CHECK, &[(PATH, &text)], "crates/a/src/a.rs:1", "warning: 501 lines");
        assert_clean(&CHECK, &[(PATH, &"\n".repeat(500))]);
    }
}
