//! I12, the map: every path that ARCHITECTURE.md names exists, so a newcomer never stands before a
//! wall.

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check =
    Check { name: "map", about: "I12: every path that ARCHITECTURE.md names exists", run };

const MAP: &str = "ARCHITECTURE.md";

/// Endings by which a name is known as a file.
const ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".sql", ".sh", "/"];

fn run(tree: &Tree) -> Vec<Finding> {
    let Some(map) = tree.file(MAP) else { return Vec::new() };
    let mut findings = Vec::new();
    for (index, line) in map.text.lines().enumerate() {
        for span in line.split('`').skip(1).step_by(2) {
            for path in braces(span) {
                if looks_like_path(tree, &path) && !exists(tree, &path) {
                    let text = format!("`{path}` does not exist: write its whole path, or mend it");
                    findings.push(Finding::failure(MAP, index + 1, text));
                }
            }
        }
    }
    findings
}

/// Whether a code span is meant as a path: a known ending, or a first folder that the root has.
fn looks_like_path(tree: &Tree, span: &str) -> bool {
    let is_plain =
        span.chars().all(|character| character.is_alphanumeric() || "._-/".contains(character));
    let Some((first, _)) = span.split_once('/') else {
        // Without a slash, `submit.rs` is a name; a page such as `DESIGN.md` lies in the root.
        return is_plain && span.ends_with(".md");
    };
    is_plain
        && !span.starts_with('/')
        && (ENDINGS.iter().any(|ending| span.ends_with(ending)) || tree.has(first))
}

/// A path may begin at the root or, as the crates are known by name, below `crates/`.
fn exists(tree: &Tree, path: &str) -> bool {
    tree.has(path) || tree.has(&format!("crates/{path}"))
}

/// `a/{b,c}.rs` is two paths.
fn braces(span: &str) -> Vec<String> {
    let parts = span.split_once('{').and_then(|(before, rest)| {
        rest.split_once('}').map(|(inside, after)| (before, inside, after))
    });
    let Some((before, inside, after)) = parts else { return vec![span.to_owned()] };
    inside.split(',').map(|part| format!("{before}{}{after}", part.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    fn check(line: &str, says: &str) {
        let map = format!("# Map\n{line}\n");
        let files = [(MAP, map.as_str()), ("crates/a/src/lib.rs", "")];
        assert_found(&CHECK, &files, "ARCHITECTURE.md:2", says);
    }

    #[test]
    fn a_path_that_leads_nowhere_is_found() {
        check("See `crates/a/src/gone.rs`.", "`crates/a/src/gone.rs`");
        check("See `crates/a/src/{lib,gone}.rs`.", "`crates/a/src/gone.rs`");
        check("See `a/src/gone/`.", "`a/src/gone/`");
        check("See `crates/gone`.", "`crates/gone`");
        check("See `GONE.md`.", "`GONE.md`");
    }

    #[test]
    fn paths_that_exist_and_spans_that_are_none_pass() {
        let map = "`crates/a/src/lib.rs` `a/src/lib.rs` `crates/a/` `engine/submit` `lib.rs` \
                   `Store::commit` `a / b` `/api/v1` crates/gone.rs\n";
        assert_clean(&CHECK, &[(MAP, map), ("crates/a/src/lib.rs", "")]);
    }
}
