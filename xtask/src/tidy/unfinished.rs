//! Nothing unfinished on main: no placeholder code, no notes to oneself, no test that is switched
//! off.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "unfinished",
    about: "No placeholder code, no notes to oneself, no ignored tests",
    run,
};

/// Macros that stand for code that is not there.
const MACROS: &[&str] = &["todo", "unimplemented"];

/// Notes to oneself, in comments.
const NOTES: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let at = |index: usize| source.line(source.tokens()[index].start());
        for name in MACROS {
            for index in source.find(&[name, "!"]) {
                let text = format!("`{name}!`: write the code, or leave the promise out");
                findings.push(Finding::failure(&file.path, at(index), text));
            }
        }
        for index in source.find(&["#", "[", "ignore"]) {
            let text = "an ignored test proves nothing: mend it or remove it";
            findings.push(Finding::failure(&file.path, at(index), text));
        }
        for (index, line) in source.comment_lines().enumerate() {
            let words = line.split(|character: char| !character.is_alphanumeric());
            for note in words.filter(|word| NOTES.contains(word)) {
                let text = format!("`{note}`: finish it, or say in a sentence how it is");
                findings.push(Finding::failure(&file.path, index + 1, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    fn check(line: &str, says: &str) {
        let text = format!("//! A.\n{line}\n");
        let files = [("crates/a/src/a.rs", text.as_str())];
        assert_found(&CHECK, &files, "crates/a/src/a.rs:2", says);
    }

    #[test]
    fn what_is_unfinished_is_found() {
        check("fn f() { todo!() }", "`todo!`");
        check("fn f() { unimplemented!(\"later\") }", "`unimplemented!`");
        check("// FIXME: later", "`FIXME`");
        check("/* XXX */ fn f() {}", "`XXX`");
        check("#[test] #[ignore = \"slow\"] fn f() {}", "ignored");
    }

    #[test]
    fn speaking_of_it_is_not_doing_it() {
        let text = "//! A.\nfn f() { \"TODO todo!() #[ignore]\"; }\n";
        assert_clean(&CHECK, &[("crates/a/src/a.rs", text)]);
    }
}
