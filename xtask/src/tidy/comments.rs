//! Asks, where comments are more than 30 % of a file, whether a manual page hides in the code.

use super::{Check, Finding};
use crate::source::Source;
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "comments",
    about: "Warns where comments are more than 30 % of a file, the public crate aside",
    run,
};

const PERCENT_MAX: usize = 30;

/// In a smaller file the header alone is a third.
const LINES_MIN: usize = 80;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.crate_sources() {
        if file.crate_name() == Some("bowline") {
            continue;
        }
        let (comments, lines) = count(source);
        let percent = comments * 100 / lines.max(1);
        if lines >= LINES_MIN && percent > PERCENT_MAX {
            let text = format!("{percent} % comments: is a page of docs/ hiding in the code?");
            findings.push(Finding::warning(&file.path, 1, text));
        }
    }
    findings
}

/// The lines that hold nothing but a comment, and all lines.
///
/// The first line above a documented item is not counted: every public item must have it.
fn count(source: &Source) -> (usize, usize) {
    let (mut comments, mut lines) = (0, 0);
    let mut was_doc = false;
    for (code, comment) in source.code_lines().zip(source.comment_lines()) {
        let is_doc = comment.trim_start().starts_with("///");
        let is_comment = code.trim().is_empty() && !comment.trim().is_empty();
        lines += 1;
        comments += usize::from(is_comment && (!is_doc || was_doc));
        was_doc = is_doc;
    }
    (comments, lines)
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    fn file_of(comments: usize, code: usize) -> String {
        format!("{}{}", "// Why.\n".repeat(comments), "fn f() {} // why\n".repeat(code))
    }

    #[test]
    fn a_talkative_file_is_asked_about() {
        let text = file_of(31, 69);
        let files = [("crates/bowline-core/src/a.rs", text.as_str())];
        assert_found(&CHECK, &files, "crates/bowline-core/src/a.rs:1", "warning: 31 %");
    }

    #[test]
    fn the_first_line_above_an_item_is_owed_and_the_others_are_talk() {
        let one = "/// What.\nfn f() {}\n".repeat(50);
        assert_clean(&CHECK, &[("crates/bowline-core/src/a.rs", &one)]);
        let three = "/// What.\n///\n/// Why.\nfn f() {}\n".repeat(50);
        let files = [("crates/bowline-core/src/a.rs", three.as_str())];
        assert_found(&CHECK, &files, "crates/bowline-core/src/a.rs:1", "warning: 50 %");
    }

    #[test]
    fn small_files_and_the_public_crate_are_not() {
        assert_clean(&CHECK, &[("crates/bowline-core/src/a.rs", &file_of(30, 70))]);
        assert_clean(&CHECK, &[("crates/bowline-core/src/a.rs", &file_of(40, 30))]);
        assert_clean(&CHECK, &[("crates/bowline/src/a.rs", &file_of(90, 10))]);
    }
}
