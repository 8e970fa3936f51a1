//! Every source file opens with `//!` and says in a few lines which room this is.
//!
//! Crate roots and the public crate may say more: there the header is the manual's first page.

use super::{Check, Finding};
use crate::tree::{File, Tree};

pub(super) const CHECK: Check = Check {
    name: "header",
    about: "Source files open with `//!`, and with at most 12 lines of it",
    run,
};

const LINES_MAX: usize = 12;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.rust() {
        let lines = file.text.lines().take_while(|line| line.starts_with("//!")).count();
        if lines == 0 {
            let text = "does not open with `//!`: say in a few lines which room this is";
            findings.push(Finding::failure(&file.path, 1, text));
        } else if lines > LINES_MAX && !is_front_page(file) {
            let text =
                format!("the header has {lines} lines: {LINES_MAX} are the most, shorten it");
            findings.push(Finding::failure(&file.path, 1, text));
        }
    }
    findings
}

fn is_front_page(file: &File) -> bool {
    file.path.ends_with("src/lib.rs")
        || file.crate_name() == Some("bowline")
        || file.path.starts_with("examples/")
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        let files = [("crates/a/src/a.rs", "// A.\nfn f() {}\n")];
        assert_found(&CHECK, &files, "crates/a/src/a.rs:1", "does not open");
    }

    #[test]
    fn a_long_header_is_found_except_on_front_pages() {
        let text = "//! A.\n".repeat(13);
        let files = [("crates/a/src/a.rs", text.as_str())];
        assert_found(&CHECK, &files, "crates/a/src/a.rs:1", "13 lines");
        assert_clean(&CHECK, &[("crates/a/src/lib.rs", &text), ("crates/bowline/src/a.rs", &text)]);
        assert_clean(&CHECK, &[("crates/a/src/a.rs", "//! A.\n")]);
    }
}
