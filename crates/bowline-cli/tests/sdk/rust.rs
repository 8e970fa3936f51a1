//! The Rust SDK, with its default settings; its own replayer reads every history.
//!
//! The program is this same binary, started again: a test that does nothing unless it is told to.

mod cancels;
mod features;
mod flows;
mod stage;

use std::process::Command;

use crate::{fleet::Fleet, program::Program, server::Server};

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
    "markers",
    "evicted",
    "replay",
];

/// Set for the process that is the program.
const CHILD: &str = "BOWLINE_RUST_SCENES";

fn program() -> Program {
    let command = || {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        command.args(["--exact", "rust::child_plays_what_it_is_told", "--nocapture"]);
        command.env(CHILD, "");
        command
    };
    Program { language: "Rust", command: Box::new(command) }
}

/// What every user of the SDK meets.
#[test]
fn rust_plays_every_scene() {
    program().plays(&Server::start().address, SCENES);
}

/// Another worker goes on where one was killed.
#[test]
fn rust_loses_a_worker() {
    program().loses_a_worker();
}

/// The same scenes, where three servers share a database: every connection ends at another one.
#[test]
fn rust_plays_every_scene_at_three_servers() {
    program().plays(&Fleet::start().address, SCENES);
}

/// The program: `--nocapture ADDRESS hello signals ...`, as the others have it.
#[test]
fn child_plays_what_it_is_told() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let arguments: Vec<String> =
        std::env::args().skip_while(|word| word != "--nocapture").collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let played = runtime.block_on(stage::play(&arguments[1], &arguments[2..]));
    played.expect("it connects and works");
}
