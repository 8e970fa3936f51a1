//! A script in Python, run with the SDK that `cargo xtask test` has prepared.

use std::{
    ffi::OsString,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::program::{self, Script, say};

/// The interpreter; none if this machine has no such SDK, which is said.
pub(crate) fn interpreter() -> Option<OsString> {
    program::prepared("Python", "BOWLINE_PYTHON")
}

fn command(interpreter: &OsString, script: &str, arguments: &[&str]) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/python");
    let mut command = Command::new(interpreter);
    // Its caches belong to nobody's sources.
    command.arg("-B").arg(folder.join(script)).args(arguments).stdin(Stdio::null());
    command
}

/// Runs a script to its end; what it printed is the answer.
#[track_caller]
pub(crate) fn run(interpreter: &OsString, script: &str, arguments: &[&str]) -> String {
    let output = command(interpreter, script, arguments).output().expect("the script runs");
    check(script, output)
}

/// Runs a script to its end; what it printed, or why it failed.
pub(crate) fn tried(
    interpreter: &OsString,
    script: &str,
    arguments: &[&str],
) -> Result<String, String> {
    let output = command(interpreter, script, arguments).output().expect("the script runs");
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Starts a script that goes on beside the test.
pub(crate) fn start(interpreter: &OsString, script: &str, arguments: &[&str]) -> Script {
    Script::start(command(interpreter, script, arguments))
}

#[track_caller]
fn check(script: &str, output: Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} failed\n--- out\n{out}\n--- err\n{err}");
    out.lines().filter(|line| line.contains("latency")).for_each(say);
    out
}
