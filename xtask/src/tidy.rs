//! `tidy`: the house rules that no compiler knows, one file per check.
//!
//! In:    the tree.
//! Out:   one line per finding, `path:line: what is wrong, and what to do`; a summary.
//! Never: a rule. `CHECKS` lists them; a check is a function from the tree to its findings.
//!
//! Where a check may be wrong about one line, that line or the one above it carries a comment,
//! `tidy: allow(name) reason`. It must have a reason, and it must be needed.

mod arms;
mod biased;
mod bounds;
mod columns;
mod comments;
mod commit;
mod concrete;
mod dependency;
mod escape;
mod finding;
mod folder;
mod function;
mod glossary;
mod header;
mod length;
mod map;
mod names;
mod reachable;
mod requirements;
mod rooms;
mod sleep;
mod types;
mod unfinished;
mod words;

use anyhow::{Result, bail};

use crate::tree::Tree;
use crate::{Command, print, shell};
use finding::Finding;

pub(crate) const COMMAND: Command =
    Command { name: "tidy", about: "Check the house rules that no compiler knows", help, run };

/// One rule of the house.
struct Check {
    name: &'static str,
    about: &'static str,
    run: fn(&Tree) -> Vec<Finding>,
}

const CHECKS: &[Check] = &[
    columns::CHECK,
    function::CHECK,
    length::CHECK,
    folder::CHECK,
    types::CHECK,
    header::CHECK,
    comments::CHECK,
    names::CHECK,
    words::CHECK,
    glossary::CHECK,
    arms::CHECK,
    unfinished::CHECK,
    dependency::CHECK,
    commit::CHECK,
    rooms::CHECK,
    concrete::CHECK,
    bounds::CHECK,
    sleep::CHECK,
    biased::CHECK,
    map::CHECK,
    reachable::CHECK,
    requirements::CHECK,
];

fn help() -> String {
    let mut text = String::from("Usage: cargo xtask tidy [check]...\n\nThe checks:\n");
    for check in CHECKS {
        text.push_str(&format!("  {:<13} {}\n", check.name, check.about));
    }
    text.push_str(
        "\nA line that must break a rule says so, there or on the line above:\n  \
         // tidy: allow(sleep) The operating system gives no signal for this.\n",
    );
    text
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut chosen: Vec<&Check> = Vec::new();
    for name in arguments {
        let Some(check) = CHECKS.iter().find(|check| check.name == name) else {
            bail!("there is no check `{name}`; `cargo xtask tidy --help` lists them");
        };
        chosen.push(check);
    }
    if chosen.is_empty() {
        chosen.extend(CHECKS);
    }
    let tree = Tree::load(&shell::root()?)?;
    let findings = judge(&tree, &chosen);
    for finding in &findings {
        print::line(&finding.to_string());
    }
    let failures = findings.iter().filter(|finding| finding.is_failure()).count();
    print::line(&format!(
        "tidy: {} checks over {} files: {}, {}",
        chosen.len(),
        tree.files().count(),
        count(failures, "failure"),
        count(findings.len() - failures, "warning"),
    ));
    if failures > 0 {
        bail!("tidy found {}: each line above says what to do", count(failures, "failure"));
    }
    Ok(())
}

fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The findings of these checks that no comment allows, in the order of their places.
fn judge(tree: &Tree, checks: &[&Check]) -> Vec<Finding> {
    let found: Vec<Finding> = checks.iter().flat_map(|check| (check.run)(tree)).collect();
    // An unneeded comment can only be told from a needed one when every check has spoken.
    let mut findings = escape::apply(tree, found, checks.len() == CHECKS.len());
    findings.sort_by(|one, other| one.place().cmp(&other.place()));
    findings
}

/// What a check finds in these files, as it is printed: for the tests of the checks.
#[cfg(test)]
fn found(check: &Check, files: &[(&str, &str)]) -> Vec<String> {
    judge(&Tree::of(files), &[check]).iter().map(Finding::to_string).collect()
}

/// Asserts that a check finds nothing in these files.
#[cfg(test)]
#[track_caller]
fn assert_clean(check: &Check, files: &[(&str, &str)]) {
    assert_eq!(found(check, files), Vec::<String>::new());
}

/// Asserts that a check finds one thing, at this place, and says this.
#[cfg(test)]
#[track_caller]
fn assert_found(check: &Check, files: &[(&str, &str)], place: &str, says: &str) {
    let found = found(check, files);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with(&format!("{place}: ")) && found[0].contains(says), "{found:#?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_check_is_refused() {
        let error = run(&["collumns".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`collumns`"), "{error}");
    }

    #[test]
    fn every_check_has_a_name_of_its_own() {
        for check in CHECKS {
            assert_eq!(CHECKS.iter().filter(|other| other.name == check.name).count(), 1);
        }
    }
}
