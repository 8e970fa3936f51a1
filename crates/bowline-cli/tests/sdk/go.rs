//! The Go SDK, with its default settings; its own replayer reads every history.

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
    "heartbeats",
    "by_workflow",
    "cleans_up",
    "timers",
    "continues",
    "local",
    "retries",
    "signal_with_start",
    "routines",
    "markers",
    "session",
    "replay",
];

fn program() -> Option<Program> {
    let scenes = prepared("Go", "BOWLINE_GO")?;
    Some(Program { language: "Go", command: Box::new(move || Command::new(&scenes)) })
}

/// What every user of the SDK meets, and what only Go has.
#[test]
fn go_plays_every_scene() {
    let Some(program) = program() else { return };
    program.plays(&Server::start().address, SCENES);
}

/// Runs that find no room in the worker's cache are replayed from their whole history.
#[test]
fn go_replays_what_its_cache_has_lost() {
    let Some(program) = program() else { return };
    program.plays(&Server::start().address, &["evicted", "replay"]);
}

/// Another worker goes on where one was killed.
#[test]
fn go_loses_a_worker() {
    let Some(program) = program() else { return };
    program.loses_a_worker();
}

/// The same scenes, where three servers share a database: every connection ends at another one.
#[test]
fn go_plays_every_scene_at_three_servers() {
    let Some(program) = program() else { return };
    program.plays(&Fleet::start().address, SCENES);
}
