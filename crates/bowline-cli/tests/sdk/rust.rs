//! The Rust SDK, with its default settings; its own replayer reads every history.
//!
//! The program is this same binary, started again: a test that does nothing unless it is told to.

mod cancels;
mod features;
mod flows;
mod stage;

use std::process::Command;

use crate::program::{Program, tests};

/// Set for the process that is the program.
const CHILD: &str = "BOWLINE_RUST_SCENES";

const RUST: Program = Program { language: "Rust", command, own: &["heartbeats", "evicted"] };

fn command() -> Option<Command> {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "rust::child_plays_what_it_is_told", "--nocapture"]);
    command.env(CHILD, "");
    Some(command)
}

tests!(RUST);

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
