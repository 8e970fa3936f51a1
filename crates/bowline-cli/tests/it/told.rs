//! Real processes are told to stop with real signals.
//!
//! The program that embeds the crate is this very test, started again by itself.

use std::{
    io::{BufRead, BufReader, Lines, Write},
    path::Path,
    process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio},
};

use bowline::prelude::*;
use bowline_engine::store::Store;
use rustix::process::{Pid, Signal as Sign, kill_process};
use serde_json::Value;

use crate::{bowline, err, out};

/// Names the file of a program; unset in the test itself.
const FILE: &str = "BOWLINE_TOLD_FILE";

/// Says that it has begun, and never ends.
async fn stubborn() -> bowline::Result<()> {
    say("begun");
    std::future::pending().await
}

async fn hold(ctx: Ctx) -> bowline::Result<()> {
    Ok(ctx.activity(stubborn, ()).await?)
}

/// Says that it has begun, and ends when the parent says so.
async fn greet() -> bowline::Result<()> {
    say("begun");
    let heard = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    heard.await.expect("it ends").expect("a line");
    Ok(())
}

async fn pass(ctx: Ctx) -> bowline::Result<()> {
    Ok(ctx.activity(greet, ()).await?)
}

#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn say(text: &str) {
    println!("{text}");
}

/// A process that somebody watches.
struct Watched {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl Watched {
    fn new(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it begins");
        let out = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let err = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        Self { child, out, err }
    }

    /// A program on a file with one run of this workflow.
    fn program(folder: &Path, workflow: &str) -> Self {
        let file = folder.join("told.db");
        // The file comes to be, and has a run that waits for its code.
        let store = bowline_sqlite::SqliteStore::open(&file).expect("it is made");
        tokio::runtime::Runtime::new().expect("a runtime").block_on(store.shut());
        let started = bowline(&["start", file.to_str().expect("text"), workflow, "one"]);
        assert!(started.status.success(), "{}", err(&started));
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        command.args(["--exact", "told::the_program", "--nocapture", "--test-threads=1"]);
        command.env(FILE, &file);
        Self::new(command)
    }

    /// Reads until a line has this.
    fn until(lines: &mut Lines<impl BufRead>, says: &str) -> String {
        let found = lines.map_while(Result::ok).find(|line| line.contains(says));
        found.unwrap_or_else(|| panic!("it ended, and did not say {says:?}"))
    }

    fn tell(&self, sign: Sign) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, sign).expect("it is there");
    }

    fn ended(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        for line in self.err.by_ref().map_while(Result::ok) {
            rest.push_str(&line);
            rest.push('\n');
        }
        (self.child.wait().expect("it ends"), rest)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // A test that has failed leaves nobody behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test of its own: what the others start again.
#[test]
fn the_program() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let app = Bowline::open(file).workflow(hold).workflow(pass).activity(stubborn).activity(greet);
    runtime.block_on(app.run()).expect("it stops in peace");
}

#[test]
fn a_program_drains_whoever_tells_it_to_stop() {
    for (sign, name) in [(Sign::TERM, "SIGTERM"), (Sign::INT, "Ctrl-C")] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut program = Watched::program(folder.path(), "pass");
        Watched::until(&mut program.out, "begun");
        program.tell(sign);
        let said = Watched::until(&mut program.err, "bowline: ");
        let says = "no more work is taken, and what runs has 30 seconds to finish; a second signal \
                    ends at once";
        assert_eq!(said, format!("bowline: {name}: {says}"));
        // What runs may finish.
        let mut ear = program.child.stdin.take().expect("a pipe");
        ear.write_all(b"now\n").expect("it listens");
        let (status, rest) = program.ended();
        assert!(status.success() && rest.contains("bowline: stopped\n"), "{status}: {rest}");
        let file = folder.path().join("told.db");
        let shown =
            bowline(&["show", file.to_str().expect("text"), "one", "--last", "0", "--json"]);
        let shown: Value = serde_json::from_str(out(&shown).trim()).expect("a run");
        let left = shown["activities"].as_array().expect("a list");
        // Whether or not the run has heard of it: it neither waits to be tried again, nor runs.
        let is_over = |one: &Value| one["state"] != "waiting" && one["state"] != "running";
        assert!(left.iter().all(is_over), "its end is durable: {shown}");
    }
}

#[test]
fn a_second_signal_ends_a_program_at_once() {
    for (first, second, code) in [(Sign::TERM, Sign::TERM, 143), (Sign::TERM, Sign::INT, 130)] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut program = Watched::program(folder.path(), "hold");
        Watched::until(&mut program.out, "begun");
        program.tell(first);
        Watched::until(&mut program.err, "no more work is taken");
        program.tell(second);
        let said = Watched::until(&mut program.err, "bowline: ");
        assert!(said.ends_with("again: ended at once; what ran is taken up by the next start"));
        let (status, rest) = program.ended();
        assert_eq!(status.code(), Some(code), "{rest}");
        let file = folder.path().join("told.db");
        let shown = bowline(&["list", file.to_str().expect("text"), "--json"]);
        assert!(out(&shown).contains("\"status\":\"running\""), "{}{}", out(&shown), err(&shown));
    }
}

#[test]
fn a_server_drains_whoever_tells_it_to_stop() {
    for sign in [Sign::TERM, Sign::INT] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bowline"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--http", "off", "--store"]);
        let mut server = Watched::new(command_with(command, &folder.path().join("served.db")));
        Watched::until(&mut server.out, "listening on");
        server.tell(sign);
        Watched::until(&mut server.out, "finishing calls in flight");
        Watched::until(&mut server.out, "closed");
        let (status, rest) = server.ended();
        assert!(status.success(), "{status}: {rest}");
    }
}

fn command_with(mut command: Command, path: &Path) -> Command {
    command.arg(path);
    command
}
