//! Functions have at most 70 lines, tests included: what is longer is two thoughts.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "function", about: "Functions have at most 70 lines", run };

const LINES_MAX: usize = 70;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        for function in source.functions() {
            let lines = function.line_last - function.line_first + 1;
            if lines > LINES_MAX {
                let text = format!(
                    "function `{}` has {lines} lines: split it, {LINES_MAX} are the most",
                    function.name
                );
                let finding = Finding::failure(&file.path, function.line_first, text);
                findings.push(finding.or_allow("function"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    fn function_of(lines: usize) -> String {
        format!("//! A.\n\nfn long() {{\n{}}}\nfn short() {{}}\n", "    \"}\";\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_71_lines_is_found() {
        let text = function_of(71);
        assert_found(&CHECK, &[("crates/a/tests/a.rs", &text)], "crates/a/tests/a.rs:3", "`long`");
    }

    #[test]
    fn a_function_of_70_lines_passes() {
        assert_clean(&CHECK, &[("crates/a/src/a.rs", &function_of(70))]);
    }
}
