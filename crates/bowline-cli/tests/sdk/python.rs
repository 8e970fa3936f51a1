//! A script in Python, run with the SDK that `cargo xtask test` has prepared.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Lines, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
};

/// The interpreter; none if this machine has no such SDK, which is said.
pub(crate) fn interpreter() -> Option<OsString> {
    let found = std::env::var_os("BOWLINE_PYTHON");
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "the Python SDK is missing, and this is where it must be: run `cargo xtask test`"
        );
        say("SKIPPED: there is no Python SDK here; `cargo xtask test` prepares one");
    }
    found
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

#[track_caller]
fn check(script: &str, output: Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} failed\n--- out\n{out}\n--- err\n{err}");
    out.lines().filter(|line| line.contains("latency")).for_each(say);
    out
}

/// Past the capture of a test's output: skips and latencies are there to be seen.
fn say(line: &str) {
    // Nobody may be listening, and that is no failure of the test.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A script that goes on beside the test.
pub(crate) struct Script {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Script {
    /// Starts one.
    pub(crate) fn start(interpreter: &OsString, script: &str, arguments: &[&str]) -> Self {
        let mut command = command(interpreter, script, arguments);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the script starts");
        let lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        Self { process, lines }
    }

    /// Waits until it has printed this line.
    #[track_caller]
    pub(crate) fn hears(&mut self, wanted: &str) {
        let found = self.lines.by_ref().map_while(Result::ok).any(|line| line == wanted);
        assert!(found, "the script ended without saying {wanted:?}");
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it has ended");
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
