//! The TypeScript SDK, with its default settings; its own replayer reads every history.

use std::process::Command;

use crate::{
    program::{Program, prepared},
    server::Server,
};

fn program() -> Option<Program> {
    let main = prepared("TypeScript", "BOWLINE_TYPESCRIPT")?;
    let command = move || {
        let mut command = Command::new("node");
        command.arg(&main);
        command
    };
    Some(Program { language: "TypeScript", command: Box::new(command) })
}

/// What every user of the SDK meets, and the scopes that TypeScript has.
#[test]
fn typescript_plays_every_scene() {
    let Some(program) = program() else { return };
    let scenes = [
        "hello",
        "signals",
        "queries",
        "updates",
        "children",
        "pushed",
        "terminated",
        "by_workflow",
        "cleans_up",
        "timers",
        "continues",
        "local",
        "retries",
        "signal_with_start",
        "markers",
        "scopes",
        "evicted",
        "replay",
    ];
    program.plays(&Server::start(), &scenes);
}

/// A worker whose heartbeats are switched off has no control channel, and hears of a cancel from
/// the answer to its activity's own heartbeat.
#[test]
fn typescript_without_a_control_channel() {
    let Some(program) = program() else { return };
    program.plays(&Server::start(), &["heartbeats", "replay"]);
}

/// Another worker goes on where one was killed.
#[test]
fn typescript_loses_a_worker() {
    let Some(program) = program() else { return };
    program.loses_a_worker();
}
