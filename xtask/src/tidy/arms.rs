//! The parent file holds the `match`, each arm is a file: an arm over messages, commands or events
//! has at most three lines.

use std::ops::Range;

use super::{Check, Finding};
use crate::source::Source;
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "arms",
    about: "In core's decide, intake and state, an arm over what happens has at most 3 lines",
    run,
};

const LINES_MAX: usize = 3;
const FILES: &[&str] = &["decide.rs", "intake.rs", "state.rs"];
const KINDS: &[&str] = &["Command", "Event", "Message"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.crate_sources() {
        let is_parent = file.path.rsplit('/').next().is_some_and(|name| FILES.contains(&name));
        if !is_parent || file.crate_name() != Some("bowline-core") {
            continue;
        }
        for start in source.find(&["match"]) {
            if file.is_test(source.tokens()[start].start()) {
                continue;
            }
            for (line, lines) in long_arms(source, start) {
                let text = format!("the arm has {lines} lines: move its body to a file of its own");
                findings.push(Finding::failure(&file.path, line, text).or_allow("arms"));
            }
        }
    }
    findings
}

/// The line and length of every arm that is too long, if the `match` is over what happens.
fn long_arms(source: &Source, start: usize) -> Vec<(usize, usize)> {
    let arms = arms(source, start).unwrap_or_default();
    if !arms.iter().any(|arm| names_kind(source, arm.pattern.clone())) {
        return Vec::new();
    }
    let line = |index: usize| source.line(source.tokens()[index].start());
    arms.iter()
        .map(|arm| (line(arm.pattern.start), line(arm.end) - line(arm.pattern.end) + 1))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .collect()
}

/// An arm: the tokens of its pattern up to its arrow, and the last token of its body.
struct Arm {
    pattern: Range<usize>,
    end: usize,
}

/// The arms of the `match` at this token; nothing if it does not read like one.
fn arms(source: &Source, start: usize) -> Option<Vec<Arm>> {
    let tokens = source.tokens();
    let open = source.body(start + 1)?;
    let close = source.close(open)?;
    let mut arms = Vec::new();
    let mut at = open + 1;
    while at < close {
        let arrow = outside_brackets(source, at, close, |index| {
            tokens[index].is("=")
                && tokens[index + 1].is(">")
                && tokens[index].start() + 1 == tokens[index + 1].start()
        })?;
        let body = arrow + 2;
        let end = if tokens[body].is("{") {
            source.close(body)?
        } else {
            outside_brackets(source, body, close, |index| tokens[index].is(","))
                .map_or(close - 1, |comma| comma - 1)
        };
        arms.push(Arm { pattern: at..arrow, end });
        at = end + 1;
        if tokens[at].is(",") {
            at += 1;
        }
    }
    Some(arms)
}

/// The first token before `close`, not inside brackets that open on the way, that satisfies.
fn outside_brackets(
    source: &Source,
    from: usize,
    close: usize,
    is_it: impl Fn(usize) -> bool,
) -> Option<usize> {
    let mut index = from;
    while index < close {
        if is_it(index) {
            return Some(index);
        }
        let is_open = matches!(source.tokens()[index].text(), "{" | "(" | "[");
        index = if is_open { source.close(index)? + 1 } else { index + 1 };
    }
    None
}

fn names_kind(source: &Source, pattern: Range<usize>) -> bool {
    let tokens = &source.tokens()[pattern];
    tokens.windows(2).any(|pair| KINDS.iter().any(|kind| pair[0].is(kind)) && pair[1].is(":"))
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    const PATH: &str = "crates/bowline-core/src/decide.rs";

    #[test]
    fn an_arm_with_a_body_is_found() {
        let text = "match message {\n    Message::Cancel { cause } => cancel(cause),\n    \
                    Message::Signal(a, b) if a >= b => {\n        one();\n        two();\n        \
                    three()\n    }\n}\n";
        assert_found(&CHECK, &[(PATH, text)], "crates/bowline-core/src/decide.rs:3", "5 lines");
    }

    #[test]
    fn short_arms_other_matches_and_other_files_pass() {
        let short = "match event {\n    Event::A { a,\n b } | Event::B => {\n        f(a)\n    }\n\
                     \n    _ => g(),\n}";
        assert_clean(&CHECK, &[(PATH, short)]);
        let other = "match status {\n    Status::A => {\n        f();\n        g();\n    }\n}";
        assert_clean(&CHECK, &[(PATH, other)]);
        let long = "match event {\n    Event::A => {\n        f();\n        g();\n    }\n}";
        assert_clean(&CHECK, &[("crates/bowline-core/src/codec.rs", long)]);
        assert_found(&CHECK, &[(PATH, long)], "crates/bowline-core/src/decide.rs:2", "4 lines");
    }
}
