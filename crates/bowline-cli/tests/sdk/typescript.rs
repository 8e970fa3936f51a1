//! The TypeScript SDK, with its default settings; its own replayer reads every history.

use std::process::Command;

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
    program.plays(&Server::start().address, SCENES);
}

/// A worker whose heartbeats are switched off has no control channel, and hears of a cancel from
/// the answer to its activity's own heartbeat.
#[test]
fn typescript_without_a_control_channel() {
    let Some(program) = program() else { return };
    program.plays(&Server::start().address, &["heartbeats", "replay"]);
}

/// Another worker goes on where one was killed.
#[test]
fn typescript_loses_a_worker() {
    let Some(program) = program() else { return };
    program.loses_a_worker();
}

/// The same scenes, where three servers share a database: every connection ends at another one.
#[test]
fn typescript_plays_every_scene_at_three_servers() {
    let Some(program) = program() else { return };
    program.plays(&Fleet::start().address, SCENES);
}
