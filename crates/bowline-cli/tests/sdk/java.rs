//! The Java SDK, with its default settings but one (docs/temporal.md); it replays every history
//! itself.

use std::{path::PathBuf, process::Command};

use crate::{
    fleet::Fleet,
    program::{Program, prepared},
    server::Server,
};

/// In this order.
const SCENES: &[&str] = &[
    "hello",
    "signals",
    "queries",
    "updates",
    "children",
    "pushed",
    "terminated",
    "heartbeats",
    "by_workflow",
    "cleans_up",
    "timers",
    "continues",
    "local",
    "retries",
    "signal_with_start",
    "threads",
    "markers",
    "evicted",
    "replay",
];

fn program() -> Option<Program> {
    let folder = PathBuf::from(prepared("Java", "BOWLINE_JAVA")?);
    let command = move || {
        let classes = std::env::join_paths([folder.join("classes"), folder.join("lib/*")]);
        let mut command = Command::new("java");
        command.arg("-cp").arg(classes.expect("a path without colons")).arg("scenes.Main");
        command
    };
    Some(Program { language: "Java", command: Box::new(command) })
}

/// What every user of the SDK meets, and the threads that Java's workflows have.
#[test]
fn java_plays_every_scene() {
    let Some(program) = program() else { return };
    program.plays(&Server::start().address, SCENES);
}

/// Another worker goes on where one was killed.
#[test]
fn java_loses_a_worker() {
    let Some(program) = program() else { return };
    program.loses_a_worker();
}

/// The same scenes, where three servers share a database: every connection ends at another one.
#[test]
fn java_plays_every_scene_at_three_servers() {
    let Some(program) = program() else { return };
    program.plays(&Fleet::start().address, SCENES);
}
