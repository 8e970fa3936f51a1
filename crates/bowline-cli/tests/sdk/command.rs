//! The official command line for Temporal against the real server: every command that it has, and
//! what it says, in `command/session.txt`.
//!
//! A line there that begins with `$ temporal` is run, in the order of the file; what follows it is
//! what the command said, without what differs from run to run. To add one, write its line and run
//! this test with `UPDATE_EXPECT=1`.

mod plain;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use expect_test::expect_file;

use crate::{go::GO, program::prepared, server::Server};

/// How a line begins that is a command.
const PROMPT: &str = "$ temporal ";

/// Commands that ask no server anything.
const LOCAL: &[&str] =
    &["completion", "config", "env", "help", "server start-dev", "workflow fix-history-json"];

fn session() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/command/session.txt")
}

/// The command line, with an empty home, so that nobody's settings count.
struct Tool {
    program: std::ffi::OsString,
    home: tempfile::TempDir,
}

impl Tool {
    /// None if this machine has no such command, which is said.
    fn find() -> Option<Self> {
        let program = prepared("official command line's", "BOWLINE_TEMPORAL")?;
        Some(Self { program, home: tempfile::tempdir().expect("a folder") })
    }

    /// What a command says, and whether it went well.
    fn run(&self, address: &str, words: &[String]) -> (String, bool) {
        let mut command = Command::new(&self.program);
        command.env_clear().env("HOME", self.home.path()).env("TEMPORAL_ADDRESS", address);
        command.args(words).stdin(Stdio::null());
        let output = command.output().expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        (String::from_utf8_lossy(&said).into_owned(), output.status.success())
    }

    /// Every command below this one that has none below itself.
    fn leaves(&self, group: &str, found: &mut BTreeSet<String>) {
        let mut words: Vec<_> = group.split_whitespace().map(str::to_owned).collect();
        words.push("--help".to_owned());
        let (said, _) = self.run("", &words);
        let list = said.split("Available Commands:\n").nth(1).unwrap_or_default();
        let names = list.lines().take_while(|line| line.starts_with("  "));
        let names: Vec<_> = names.filter_map(|line| line.split_whitespace().next()).collect();
        for name in &names {
            let command = format!("{group} {name}").trim_start().to_owned();
            if !LOCAL.contains(&command.as_str()) {
                self.leaves(&command, found);
            }
        }
        if names.is_empty() {
            found.insert(group.to_owned());
        }
    }
}

/// Whether a command says things in the order of a map, which is another one each time.
fn is_map(command: &str) -> bool {
    let maps = ["operator search-attribute list", "task-queue describe"];
    maps.iter().any(|map| command.starts_with(map))
}

/// The words of a command, as a shell would part them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for character in line.chars() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("there is one").push(character),
        }
    }
    words
}

/// The command line plays its whole session, and says what it said before.
#[test]
fn every_command_says_what_it_said_before() {
    let Some(tool) = Tool::find() else { return };
    let Some(server) = GO.is_here().then(Server::start) else { return };
    let _worker = GO.worker(&server);
    let before = std::fs::read_to_string(session()).expect("the session is there");
    let mut now = String::new();
    for command in before.lines().filter_map(|line| line.strip_prefix(PROMPT)) {
        let mut all = words(command);
        all.extend(["--color", "never"].map(str::to_owned));
        let (said, went_well) = tool.run(&server.address, &all);
        now.push_str(&format!("{PROMPT}{command}\n"));
        now.push_str(&plain::plain(&said, is_map(command)));
        if !went_well {
            now.push_str("it failed\n");
        }
        now.push('\n');
    }
    expect_file![session()].assert_eq(&now);
}

/// No command is forgotten, also of a newer version.
#[test]
fn every_command_stands_in_the_session() {
    let Some(tool) = Tool::find() else { return };
    let mut all = BTreeSet::new();
    tool.leaves("", &mut all);
    assert!(all.len() > 80, "{all:?}");
    let session = std::fs::read_to_string(session()).expect("the session is there");
    let played: Vec<_> = session.lines().filter_map(|line| line.strip_prefix(PROMPT)).collect();
    let is_played = |command: &String| {
        let rests = played.iter().filter_map(|line| line.strip_prefix(&**command));
        rests.into_iter().any(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let missing: Vec<_> = all.iter().filter(|command| !is_played(command)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
