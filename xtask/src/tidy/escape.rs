//! Comments that allow a line to break a rule: `tidy: allow(name) reason`, or several names.
//!
//! In:    the findings of all checks.
//! Out:   those that no comment allows, and a finding for each comment without reason or need.

use super::finding::Finding;
use crate::tree::{File, Tree};

pub(super) const MARK: &str = "tidy: allow(";

struct Escape<'a> {
    path: &'a str,
    line: usize,
    name: String,
    has_reason: bool,
}

/// Takes away what is allowed. Comments that allow nothing are findings if `all` checks ran.
pub(super) fn apply(tree: &Tree, found: Vec<Finding>, all: bool) -> Vec<Finding> {
    let escapes: Vec<Escape<'_>> = tree.files().flat_map(escapes).collect();
    let mut is_used = vec![false; escapes.len()];
    let mut findings = Vec::new();
    for finding in found {
        let allowing: Vec<usize> =
            (0..escapes.len()).filter(|index| escapes[*index].allows(&finding)).collect();
        for index in &allowing {
            is_used[*index] = true;
        }
        if allowing.is_empty() {
            findings.push(finding);
        }
    }
    for (escape, is_used) in escapes.iter().zip(is_used) {
        if !escape.has_reason {
            findings.push(escape.finding("has no reason: write it behind the bracket"));
        } else if all && !is_used {
            findings.push(escape.finding("allows nothing here: remove it"));
        }
    }
    findings
}

impl Escape<'_> {
    fn allows(&self, finding: &Finding) -> bool {
        let (path, line) = finding.place();
        finding.escape() == Some(self.name.as_str())
            && self.path == path
            && (self.line == line || self.line + 1 == line)
    }

    fn finding(&self, trouble: &str) -> Finding {
        Finding::failure(self.path, self.line, format!("`{MARK}{})` {trouble}", self.name))
    }
}

/// The escapes of a file. In Rust they stand in plain comments: a doc comment only tells of them.
fn escapes(file: &File) -> Vec<Escape<'_>> {
    let lines: Vec<&str> = match &file.source {
        Some(source) => source.comment_lines().collect(),
        None => file.text.lines().collect(),
    };
    let mut escapes = Vec::new();
    for (index, line) in lines.into_iter().enumerate() {
        let is_doc = line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
        if file.source.is_some() && is_doc {
            continue;
        }
        // In prose, a code span shows how an escape is written; an HTML comment is one.
        if file.path.ends_with(".md") && !line.contains("<!--") {
            continue;
        }
        if let Some(at) = line.find(MARK) {
            let Some((names, reason)) = line[at + MARK.len()..].split_once(')') else { continue };
            let has_reason = reason.split_whitespace().any(|word| word.len() > 3);
            escapes.extend(names.split(',').map(|name| Escape {
                path: &file.path,
                line: index + 1,
                name: name.trim().to_owned(),
                has_reason,
            }));
        }
    }
    escapes
}

#[cfg(test)]
mod tests {
    use super::super::{CHECKS, Check, assert_clean, assert_found, found, judge, words};
    use super::*;

    const PATH: &str = "crates/bowline/src/a.rs";

    #[test]
    fn a_comment_there_or_above_allows_the_line() {
        let there = "//! A.\nlet job = 1; // tidy: allow(job) A word of the system we read.\n";
        assert_clean(&words::CHECK, &[(PATH, there)]);
        let above = "//! A.\n// tidy: allow(job) A word of the system we read.\nlet job = 1;\n";
        assert_clean(&words::CHECK, &[(PATH, above)]);
    }

    #[test]
    fn one_reason_may_allow_several_words() {
        let text =
            "<!-- tidy: allow(job, instance) A page on other systems. -->\nA job instance.\n";
        assert_clean(&words::CHECK, &[("docs/comparison.md", text)]);
    }

    #[test]
    fn it_allows_no_other_line_and_no_other_rule() {
        let far = "//! A.\n// tidy: allow(job) A word we read.\n\nlet a = 1;\nlet job = 1;\n";
        assert_found(&words::CHECK, &[(PATH, far)], "crates/bowline/src/a.rs:5", "`job`");
        let other = "//! A.\nlet job = 1; // tidy: allow(instance) A word we read.\n";
        assert!(found(&words::CHECK, &[(PATH, other)]).iter().any(|line| line.contains("`job`")));
    }

    #[test]
    fn a_comment_without_a_reason_is_a_finding() {
        let text = "//! A.\nlet job = 1; // tidy: allow(job)\n";
        assert_found(&words::CHECK, &[(PATH, text)], "crates/bowline/src/a.rs:2", "no reason");
    }

    #[test]
    fn a_comment_without_need_is_a_finding_once_all_checks_ran() {
        let text = "//! A.\nlet run = 1; // tidy: allow(job) Once there was one.\n";
        assert_clean(&words::CHECK, &[(PATH, text)]);
        let all: Vec<&Check> = CHECKS.iter().collect();
        let findings = judge(&Tree::of(&[(PATH, text)]), &all);
        assert!(findings.iter().any(|finding| finding.to_string().contains("allows nothing")));
    }
}
