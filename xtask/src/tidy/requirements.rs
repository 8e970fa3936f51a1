//! Every requirement has a row in docs/requirements.md, and every test that a row names exists.
//!
//! A row begins with its number or numbers (`R1`, `R1, R4` or `R1–R4`) and then names tests as
//! `crate::path::test_name` in code spans, or says why there is none.

use std::collections::BTreeSet;

use super::{Check, Finding};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "requirements",
    about: "Every requirement has a row in docs/requirements.md whose tests exist",
    run,
};

const TABLE: &str = "docs/requirements.md";

/// The series, and how many each has.
const SERIES: &[(char, u32)] = &[('R', 106), ('H', 14), ('K', 24), ('N', 15)];

fn run(tree: &Tree) -> Vec<Finding> {
    let Some(table) = tree.file(TABLE) else { return Vec::new() };
    let functions = functions(tree);
    let mut findings = Vec::new();
    let mut present = BTreeSet::new();
    for (index, line) in table.text.lines().enumerate() {
        let Some((numbers, rest)) = row(line) else { continue };
        let name = numbers.iter().map(show).collect::<Vec<_>>().join(", ");
        present.extend(numbers);
        if rest.chars().filter(|character| character.is_alphanumeric()).count() < 3 {
            let text = format!("{name} names no test: name one, or say why there is none");
            findings.push(Finding::failure(TABLE, index + 1, text));
        }
        for test in tests(rest) {
            if let Some(trouble) = missing(tree, &functions, test) {
                findings.push(Finding::failure(TABLE, index + 1, format!("{name}: {trouble}")));
            }
        }
    }
    for (letter, count) in SERIES {
        for number in (1..=*count).filter(|number| !present.contains(&(*letter, *number))) {
            let text = format!("{letter}{number} has no row: add one with its test or its reason");
            findings.push(Finding::failure(TABLE, 1, text));
        }
    }
    findings
}

/// The numbers in the first cell of a row, and the row behind it.
fn row(line: &str) -> Option<(Vec<(char, u32)>, &str)> {
    let (cell, rest) = line.trim().strip_prefix('|')?.split_once('|')?;
    let mut numbers = Vec::new();
    for part in cell.split(',') {
        let (first, last) = part.split_once(['–', '-']).unwrap_or((part, part));
        let (letter, first) = number(first)?;
        let (_, last) = number(last)?;
        numbers.extend((first..=last).map(|number| (letter, number)));
    }
    Some((numbers, rest))
}

fn number(text: &str) -> Option<(char, u32)> {
    let text = text.trim().trim_matches(['*', '`']);
    let letter =
        text.chars().next().filter(|letter| SERIES.iter().any(|(known, _)| known == letter))?;
    Some((letter, text[letter.len_utf8()..].parse().ok()?))
}

fn show((letter, number): &(char, u32)) -> String {
    format!("{letter}{number}")
}

/// The code spans that name a test: paths in lower case. A type's path has a capital.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|span| {
        span.contains("::")
            && span
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-:".contains(c))
    })
}

/// Every function of every package as (package folder's name, function's name).
fn functions(tree: &Tree) -> BTreeSet<(String, String)> {
    let mut functions = BTreeSet::new();
    for (file, source) in tree.rust() {
        let package = file.crate_name().or_else(|| file.path.split('/').next()).unwrap_or_default();
        for function in source.functions() {
            functions.insert((package.to_owned(), function.name));
        }
    }
    functions
}

/// What is wrong with the name of a test, if anything is.
fn missing(tree: &Tree, functions: &BTreeSet<(String, String)>, test: &str) -> Option<String> {
    let (package, path) = test.split_once("::")?;
    let package = package.replace('_', "-");
    if !tree.has(&format!("crates/{package}")) && !tree.has(&format!("{package}/Cargo.toml")) {
        return Some(format!(
            "`{test}` begins with no crate of ours: write the crate's name first"
        ));
    }
    let name = path.rsplit("::").next().unwrap_or(path);
    let is_there = functions.contains(&(package.clone(), name.to_owned()));
    (!is_there).then(|| format!("{package} has no `fn {name}`: write the test or mend the row"))
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    const CRATE: (&str, &str) =
        ("crates/bowline-core/src/decide/cancel.rs", "#[test]\nfn first_cause_wins() {}\n");

    /// A table that has every row, with `rows` instead of those of R1 to R3.
    fn table(rows: &str) -> String {
        format!(
            "# Requirements\n\n| number | shown by |\n|---|---|\n{rows}\n| R4–R106 | later |\n\
             | H1-H14 | see R4 |\n| **K1**, K2–K24 | see R4 |\n| N1–N15 | see R4 |\n"
        )
    }

    fn check(rows: &str, place: &str, says: &str) {
        assert_found(&CHECK, &[(TABLE, &table(rows)), CRATE], place, says);
    }

    const PAIR: &str = "| R2, R3 | not ours |";

    #[test]
    fn a_test_that_does_not_exist_is_found() {
        let row = "| R1 | `bowline-core::decide::cancel::last_cause_wins` |\n";
        check(&format!("{row}{PAIR}"), "docs/requirements.md:5", "no `fn last_cause_wins`");
        let row = "| R1 | `bowlin_core::decide::cancel::first_cause_wins` |\n";
        check(&format!("{row}{PAIR}"), "docs/requirements.md:5", "no crate of ours");
    }

    #[test]
    fn a_number_without_a_row_and_a_row_without_an_answer_are_found() {
        check(PAIR, "docs/requirements.md:1", "R1 has no row");
        check(&format!("{PAIR}\n| R1 | |"), "docs/requirements.md:6", "R1 names no test");
    }

    #[test]
    fn a_whole_table_passes_and_no_table_is_no_finding() {
        let row =
            "| R1 | `bowline_core::decide::cancel::first_cause_wins`, see `Store::commit` |\n";
        assert_clean(&CHECK, &[(TABLE, &table(&format!("{row}{PAIR}"))), CRATE]);
        assert_clean(&CHECK, &[CRATE]);
    }
}
