//! The TypeScript SDK, with its default settings; its own replayer reads every history.

use std::process::Command;

use crate::program::{Program, prepared, tests};

const TYPESCRIPT: Program =
    Program { language: "TypeScript", command, own: &["scopes", "evicted"] };

fn command() -> Option<Command> {
    let mut command = Command::new("node");
    command.arg(prepared("TypeScript", "BOWLINE_TYPESCRIPT")?);
    Some(command)
}

tests!(TYPESCRIPT);

/// A worker whose heartbeats are switched off has no control channel, and hears of a cancel from
/// the answer to its activity's own heartbeat. The switch is the process's.
#[test]
fn hears_a_cancel_without_a_control_channel() {
    TYPESCRIPT.plays(&["heartbeats"]);
}
