//! The Java SDK, with its default settings but two (docs/temporal.md); it replays every history
//! itself.

use std::{path::PathBuf, process::Command};

use crate::program::{Program, prepared, tests};

const JAVA: Program =
    Program { language: "Java", command, own: &["heartbeats", "threads", "evicted"] };

fn command() -> Option<Command> {
    let folder = PathBuf::from(prepared("Java", "BOWLINE_JAVA")?);
    let classes = std::env::join_paths([folder.join("classes"), folder.join("lib/*")]);
    let mut command = Command::new("java");
    command.arg("-cp").arg(classes.expect("a path without colons")).arg("scenes.Main");
    Some(command)
}

tests!(JAVA);
