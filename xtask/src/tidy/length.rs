//! Files of source have 450 lines at the most, tests 500: nobody plans a hall, it grows.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "length", about: "Files of source have 450 lines at most, tests 500", run };

const SOURCE_MAX: usize = 450;
const TEST_MAX: usize = 500;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.rust() {
        let lines = file.text.lines().count();
        let most = if file.path.contains("/src/") { SOURCE_MAX } else { TEST_MAX };
        if lines > most {
            let text = format!("{lines} lines, {most} are the most: split it by concern");
            findings.push(Finding::failure(&file.path, 1, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    const SOURCE: &str = "crates/a/src/a.rs";
    const TEST: &str = "crates/a/tests/a.rs";

    #[test]
    fn long_files_are_found() {
        let text = "\n".repeat(451);
        assert_found(&CHECK, &[(SOURCE, &text)], "crates/a/src/a.rs:1", "451 lines, 450");
        assert_clean(&CHECK, &[(SOURCE, &"\n".repeat(450)), (TEST, &text)]);
        let text = "\n".repeat(501);
        assert_found(&CHECK, &[(TEST, &text)], "crates/a/tests/a.rs:1", "501 lines, 500");
    }
}
