//! I11: no test sleeps, or looks at a clock until enough has passed, which is the same. A sleep is
//! too short on a busy machine and too long on every other one.
//!
//! `ctx.sleep(…)` is a durable timer of the workflow under test and no sleep at all.

use super::{Check, Finding};
use crate::source::Source;
use crate::tree::{File, Tree};

pub(super) const CHECK: Check =
    Check { name: "sleep", about: "I11: no test sleeps; it awaits a signal", run };

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        for name in ["sleep", "sleep_until", "sleep_ms"] {
            for index in source.find(&[name, "("]) {
                let offset = source.tokens()[index].start();
                if is_test(file, offset) && !is_durable_or_definition(source, index) {
                    let text = "a test that sleeps: await a signal or advance the manual clock";
                    let finding = Finding::failure(&file.path, source.line(offset), text);
                    findings.push(finding.or_allow("sleep"));
                }
            }
        }
        for index in source.find(&["elapsed", "(", ")"]).filter(|index| compares(source, *index)) {
            let offset = source.tokens()[index].start();
            if is_test(file, offset) {
                let text = "a test that waits until time has passed: await a signal instead";
                let finding = Finding::failure(&file.path, source.line(offset), text);
                findings.push(finding.or_allow("sleep"));
            }
        }
    }
    findings
}

/// Whether what has elapsed is compared with something: `x.elapsed() < y`, or the other way round.
fn compares(source: &Source, elapsed: usize) -> bool {
    let text = |at: usize| source.tokens().get(at).map_or("", |token| token.text());
    let is_order = |at: usize| matches!(text(at), "<" | ">");
    // In front of it stands what it is asked of: names, and dots between them.
    let is_path = |at: &usize| text(*at) == "." || text(*at).starts_with(char::is_alphabetic);
    let before = (0..elapsed).rev().find(|at| !is_path(at));
    let before = before.map(|at| if text(at) == "=" { at.saturating_sub(1) } else { at });
    is_order(elapsed + 3) || before.is_some_and(is_order)
}

/// The conformance suite is test code that other crates compile. Examples may show a sleep.
fn is_test(file: &File, offset: usize) -> bool {
    let is_suite = file.is_in_room("crates/bowline-store/src/conformance");
    let is_example = file.path.starts_with("examples/") || file.path.contains("/examples/");
    (file.is_test(offset) || is_suite) && !is_example
}

fn is_durable_or_definition(source: &Source, index: usize) -> bool {
    let before = |steps: usize| index.checked_sub(steps).map(|at| source.tokens()[at].text());
    let is_durable = before(1) == Some(".") && before(2).is_some_and(|name| name.ends_with("ctx"));
    is_durable || before(1) == Some("fn")
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    #[test]
    fn a_test_that_sleeps_is_found() {
        let manifest = ("crates/a/Cargo.toml", "");
        let text = "//! A.\n#[test]\nfn t() {\n    std::thread::sleep(x);\n}";
        let files = [manifest, ("crates/a/tests/it/main.rs", text)];
        assert_found(&CHECK, &files, "crates/a/tests/it/main.rs:4", "signal");
        let files = [manifest, ("crates/a/src/lib.rs", text)];
        assert_found(&CHECK, &files, "crates/a/src/lib.rs:4", "signal");
        let suite = "crates/bowline-store/src/conformance/claim.rs";
        assert_found(&CHECK, &[(suite, "fn f() { sleep(x); }")], &format!("{suite}:1"), "signal");
    }

    #[test]
    fn a_test_that_waits_by_a_clock_is_found() {
        let manifest = ("crates/a/Cargo.toml", "");
        for wait in ["since.elapsed() < LONG", "LONG >= self.since.elapsed()"] {
            let text = format!("fn t() {{ while {wait} {{ look(); }} }}");
            let files = [manifest, ("crates/a/tests/a.rs", &text)];
            assert_found(&CHECK, &files, "crates/a/tests/a.rs:1", "time has passed");
        }
        let text = "fn t() { say(since.elapsed()); let left = LONG - since.elapsed(); }";
        assert_clean(&CHECK, &[manifest, ("crates/a/tests/a.rs", text)]);
    }

    #[test]
    fn a_file_of_a_test_module_is_test_code() {
        let files = [
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "#[cfg(test)] mod tests;"),
            ("crates/a/src/tests.rs", "fn wait() { sleep(x); }"),
        ];
        assert_found(&CHECK, &files, "crates/a/src/tests.rs:1", "signal");
    }

    #[test]
    fn durable_sleeps_definitions_and_allowed_lines_pass() {
        let text = "async fn flow(ctx: Ctx) { ctx.sleep(x).await; }\nfn sleep() {}\n\
                    // tidy: allow(sleep) The file system has coarse times.\nthread::sleep(x);\n";
        let files = [("crates/a/Cargo.toml", ""), ("crates/a/tests/a.rs", text)];
        assert_clean(&CHECK, &files);
    }

    #[test]
    fn code_that_is_no_test_may() {
        assert_clean(&CHECK, &[("crates/a/src/clock.rs", "fn f() { sleep(x); }")]);
    }
}
