//! A word of ours stands in the glossary: readers need not guess what a name means.
//!
//! The words are those of the types and modules. A word either means what it means everywhere, and
//! stands in `glossary/plain_words.txt`, or it means something of ours, and docs/glossary.md says
//! what. Decide which of the two it is when you bring a new word.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, Finding, types, words};
use crate::tree::{File, Tree};

pub(super) const CHECK: Check = Check {
    name: "glossary",
    about: "A word in a type's or module's name is plain, or docs/glossary.md explains it",
    run,
};

const PAGE: &str = "docs/glossary.md";
const PLAIN: &str = include_str!("glossary/plain_words.txt");

fn run(tree: &Tree) -> Vec<Finding> {
    let terms = tree.file(PAGE).map(terms).unwrap_or_default();
    let explained: BTreeSet<String> =
        terms.iter().flat_map(|(_, term)| words::split(term)).collect();
    let plain: BTreeSet<&str> = PLAIN.split_whitespace().collect();
    let named = named(tree);
    let mut findings = Vec::new();
    for (word, (path, line)) in &named {
        let is_known = |word: &str| plain.contains(word) || explained.contains(word);
        if !stems(word).any(is_known) {
            let text = format!(
                "`{word}` is a new word: a plainer one may do; if it means something of ours, \
                 explain it in {PAGE}; if not, add it to xtask/src/tidy/glossary/plain_words.txt"
            );
            findings.push(Finding::failure(path, *line, text));
        }
    }
    for (line, term) in terms {
        let is_twice = words::split(term).iter().all(|word| plain.contains(word.as_str()));
        if is_twice && !term.contains(' ') {
            let text = format!("`{term}` is explained here and called plain: choose one");
            findings.push(Finding::failure(PAGE, line, text));
        }
    }
    findings
}

/// What the glossary explains, with the line.
fn terms(page: &File) -> Vec<(usize, &str)> {
    let mut terms = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        let Some(row) = line.strip_prefix("| ") else { continue };
        let first = row.split(" |").next().unwrap_or_default();
        if first != "word" {
            terms.extend(first.split(", ").map(|term| (index + 1, term)));
        }
    }
    terms
}

/// Every word that a module or a type is named with, and where it comes first.
fn named(tree: &Tree) -> BTreeMap<String, (&str, usize)> {
    let mut found = BTreeMap::new();
    // The Temporal door speaks another system's language.
    let ours =
        tree.crate_sources().filter(|(file, _)| file.crate_name() != Some("bowline-temporal"));
    for (file, _) in ours {
        let name = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        let mut add = |name: &str, line| {
            for word in words::split(name) {
                found.entry(word).or_insert((file.path.as_str(), line));
            }
        };
        add(name, 1);
        for (index, line) in file.text.lines().enumerate() {
            if let Some(name) = types::defined(line) {
                add(name, index + 1);
            }
        }
    }
    found
}

/// The word, and what it may be a form of.
fn stems(word: &str) -> impl Iterator<Item = &str> {
    let ends = ["s", "es", "d", "ed", "ing"];
    std::iter::once(word).chain(ends.into_iter().filter_map(|end| word.strip_suffix(end)))
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    const GLOSSARY: (&str, &str) =
        (PAGE, "| word | what it means |\n|---|---|\n| ladder, rung | how it is escalated |\n");

    #[test]
    fn a_word_that_nobody_explains_is_found() {
        let files = [GLOSSARY, ("crates/a/src/timer.rs", "//! A.\nstruct TimerSpindle;\n")];
        assert_found(&CHECK, &files, "crates/a/src/timer.rs:2", "`spindle` is a new word");
        let files = [GLOSSARY, ("crates/a/src/spindle.rs", "//! A.\n")];
        assert_found(&CHECK, &files, "crates/a/src/spindle.rs:1", "`spindle` is a new word");
    }

    #[test]
    fn a_word_is_plain_or_explained_and_not_both() {
        let files = [GLOSSARY, ("crates/a/src/rungs.rs", "pub struct LadderTimer;\n")];
        assert_clean(&CHECK, &files);
        let files = [(PAGE, "| timer | what rings |\n")];
        assert_found(&CHECK, &files, "docs/glossary.md:1", "`timer` is explained here");
    }

    #[test]
    fn the_door_speaks_another_language() {
        assert_clean(&CHECK, &[("crates/bowline-temporal/src/spindle.rs", "struct Spindle;\n")]);
    }
}
