//! I7: other systems' words appear only in `bowline-temporal`. One word per thing here.
//!
//! Words are counted inside names too: `JobState` and `job_id` both say job. Prose may speak of
//! tasks; a name may not, unless it is the async runtime's own.

use super::{Check, Finding, escape};
use crate::source::Source;
use crate::tree::{File, Tree};

pub(super) const CHECK: Check = Check {
    name: "words",
    about: "I7: orchestration, execution, instance, job, task are other systems' words",
    run,
};

/// A banned word, and what we say instead.
const BANNED: &[(&str, &str)] = &[
    ("orchestration", "workflow or run"),
    ("execution", "run, turn or attempt"),
    ("instance", "run, or in prose `example`"),
    ("job", "activity"),
    ("canceled", "cancelled, with a double l"),
    ("canceling", "cancelling, with a double l"),
];

const TASK: (&str, &str) = ("task", "turn, activity or attempt");
const WORKFLOW_TASK: (&str, &str) = ("workflow task", "turn");

/// On these lines the async runtime's own tasks are meant.
const RUNTIME_MARKS: &[&str] =
    &["tokio::task", "tokio_util::task", "std::task", "core::task", "JoinHandle", "spawn"];

/// Names that the async runtime gives.
const RUNTIME_NAMES: &[&str] = &["TaskTracker", "TaskTrackerToken", "task_local"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| is_ours(file)) {
        for (index, line) in file.text.lines().enumerate() {
            // The comment that allows a word has to say it.
            let line = line.split(escape::MARK).next().unwrap_or(line);
            for (word, say) in banned(line) {
                findings.push(finding(file, index + 1, word, say));
            }
        }
        if let Some(source) = &file.source {
            for line in task_lines(file, source) {
                findings.push(finding(file, line, TASK.0, TASK.1));
            }
        }
    }
    findings
}

fn finding(file: &File, line: usize, word: &'static str, say: &str) -> Finding {
    let text = format!("`{word}` is another system's word: say {say}");
    Finding::failure(&file.path, line, text).or_allow(word)
}

/// The crates' sources and the documents, except where another system's language is the subject.
fn is_ours(file: &File) -> bool {
    let is_document = file.path.ends_with(".md")
        && (!file.path.contains('/') || file.path.starts_with("docs/"))
        && !file.path.starts_with("docs/temporal");
    let is_source = file.crate_path().is_some_and(|path| path.starts_with("src/"))
        && file.crate_name() != Some("bowline-temporal");
    is_document || is_source
}

/// The banned words of a line, each once.
fn banned(line: &str) -> Vec<(&'static str, &'static str)> {
    let words = split(line);
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| words[before].as_str());
        // The field that we work in has this name, and its readers search for it.
        if is_word(word, "execution") && before == Some("durable") {
            continue;
        }
        if is_word(word, "task") && before == Some("workflow") {
            found.push(WORKFLOW_TASK);
        }
        found.extend(BANNED.iter().filter(|(banned, _)| is_word(word, banned)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn is_word(word: &str, banned: &str) -> bool {
    word.strip_prefix(banned).is_some_and(|rest| rest.is_empty() || rest == "s")
}

/// The words of a text in lower case; names fall apart at underscores and humps.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in text.chars() {
        if !character.is_alphanumeric() || (character.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if character.is_alphanumeric() {
            let word = words.last_mut().expect("there is always a last word");
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase() || character.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The lines on which a name says task.
fn task_lines(file: &File, source: &Source) -> Vec<usize> {
    let lines: Vec<&str> = file.text.lines().collect();
    let tokens = source.tokens();
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let names_task = token.is_name()
            && !RUNTIME_NAMES.contains(&token.text())
            && split(token.text()).iter().any(|word| is_word(word, TASK.0));
        // `task::` is a path into the runtime's module: a module of ours is found at its `mod`.
        let is_path = token.is("task") && tokens.get(index + 1).is_some_and(|next| next.is(":"));
        let line = source.line(token.start());
        let is_runtime = RUNTIME_MARKS.iter().any(|mark| lines[line - 1].contains(mark));
        if names_task && !is_path && !is_runtime {
            found.push(line);
        }
    }
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::super::{assert_clean, assert_found};
    use super::*;

    fn check(line: &str, says: &str) {
        let text = format!("//! A.\n{line}\n");
        let files = [("crates/bowline-core/src/a.rs", text.as_str())];
        assert_found(&CHECK, &files, "crates/bowline-core/src/a.rs:2", says);
    }

    fn check_clean(line: &str) {
        assert_clean(&CHECK, &[("crates/bowline-core/src/a.rs", line)]);
    }

    #[test]
    fn banned_words_are_found_in_names_strings_and_prose() {
        check("struct JobState;", "`job`");
        check("let instance_id = 1;", "`instance`");
        check("/// The executions of a run.", "`execution`");
        check("let word = \"orchestration\";", "`orchestration`");
        check("/// A workflow task is out.", "`workflow task`");
        check("enum Status { Canceled }", "double l");
    }

    #[test]
    fn a_name_may_not_say_task_unless_it_is_the_runtimes() {
        check("let turn_task = 1;", "`task`");
        check("mod task;", "`task`");
        check_clean("/// Runs on a task of its own.\nuse std::task::Poll;");
        check_clean("use std::{\n    pin::Pin,\n    task::{Context, Poll},\n};");
        check_clean("let task = tokio::spawn(async {});\nlet tracker = TaskTracker::new();");
    }

    #[test]
    fn words_that_only_contain_a_banned_one_pass() {
        check_clean("// An instant, executed jobless; durable execution is the field.");
    }

    #[test]
    fn documents_are_read_and_the_temporal_door_is_not() {
        let files = [("docs/operating.md", "A job runs.\n")];
        assert_found(&CHECK, &files, "docs/operating.md:1", "`job`");
        assert_clean(
            &CHECK,
            &[
                ("crates/bowline-temporal/src/a.rs", "struct WorkflowExecution;"),
                ("docs/temporal.md", "A workflow task."),
                ("crates/bowline-core/tests/a.rs", "struct Job;"),
            ],
        );
    }
}
