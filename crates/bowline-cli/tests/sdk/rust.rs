//! The Rust SDK, with its default settings; its own replayer reads every history.
//!
//! The program is this same binary, started again: a test that plays scenes itself where it is told
//! to.

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
    command.args(["--exact", "rust::plays_every_scene", "--nocapture"]);
    command.env(CHILD, "");
    Some(command)
}

tests!(RUST, unless is_the_program);

/// The program: `--nocapture ADDRESS hello signals ...`, as the others have it. False where this
/// process is the one that starts it.
fn is_the_program() -> bool {
    if std::env::var_os(CHILD).is_none() {
        return false;
    }
    let arguments: Vec<String> =
        std::env::args().skip_while(|word| word != "--nocapture").collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let played = runtime.block_on(stage::play(&arguments[1], &arguments[2..]));
    played.expect("it connects and works");
    true
}
