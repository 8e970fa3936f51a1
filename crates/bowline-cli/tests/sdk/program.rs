//! A worker and a client in one process, in a language of somebody's choice, as `cargo xtask test`
//! has built it. It plays the scenes that its command line names, one line of JSON for each.
//!
//! A language's own file says how its program is started, and what only that one plays.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use serde_json::Value;

use crate::{fleet::Fleet, server::Server};

/// What the program of every language plays, in this order.
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
];

/// The SDK's own replayer reads every history that there is.
const REPLAY: &str = "replay";

/// The tests that every language has. The first of them is the program itself in a process of
/// which that can be said.
macro_rules! tests {
    ($program:ident $(, unless $is_program:ident)?) => {
        /// What every user of the SDK meets, and what only this one has.
        #[test]
        fn plays_every_scene() {
            $(if $is_program() {
                return;
            })?
            $program.plays_every_scene();
        }

        /// The same, where three servers share a database: every connection ends at another one.
        #[test]
        fn plays_every_scene_at_three_servers() {
            $program.plays_every_scene_at_three_servers();
        }

        /// Another worker goes on where one was killed.
        #[test]
        fn loses_a_worker() {
            $program.loses_a_worker();
        }
    };
}

pub(crate) use tests;

/// What was prepared under this name; none if this machine lacks what it needs, which is said.
pub(crate) fn prepared(language: &str, variable: &str) -> Option<OsString> {
    let found = std::env::var_os(variable);
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "the {language} SDK is missing, and this is where it must be: run `cargo xtask test`"
        );
        say(&format!("SKIPPED: there is no {language} SDK here; `cargo xtask test` prepares one"));
    }
    found
}

/// Past the capture of a test's output: skips and latencies are there to be seen.
pub(crate) fn say(line: &str) {
    // Nobody may be listening, and that is no failure of the test.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The program of one SDK.
pub(crate) struct Program {
    /// How the language is called.
    pub(crate) language: &'static str,
    /// The command, which wants an address and scenes; none if this machine has no such SDK.
    pub(crate) command: fn() -> Option<Command>,
    /// What it plays besides.
    pub(crate) own: &'static [&'static str],
}

impl Program {
    /// Plays everything at a server of its own.
    #[track_caller]
    pub(crate) fn plays_every_scene(&self) {
        self.plays(&[SCENES, self.own].concat());
    }

    /// Plays these at a server of its own, in this order.
    #[track_caller]
    pub(crate) fn plays(&self, scenes: &[&str]) {
        if self.is_here() {
            self.plays_at(&Server::start().address, &[scenes, &[REPLAY]].concat());
        }
    }

    /// Plays everything where nobody knows which of three servers answers.
    #[track_caller]
    pub(crate) fn plays_every_scene_at_three_servers(&self) {
        if self.is_here() {
            let scenes = [SCENES, self.own, &[REPLAY]].concat();
            self.plays_at(&Fleet::start().address, &scenes);
        }
    }

    /// One worker is killed with a run in its cache and an activity in its hands; another one goes
    /// on with both.
    #[track_caller]
    pub(crate) fn loses_a_worker(&self) {
        if !self.is_here() {
            return;
        }
        let server = Server::start();
        let mut first = self.worker(&server);
        self.plays_at(&server.address, &["begin"]);
        first.kill();
        let _second = self.worker(&server);
        self.plays_at(&server.address, &["finish", REPLAY]);
    }

    /// Each scene must be told to have passed.
    #[track_caller]
    fn plays_at(&self, address: &str, scenes: &[&str]) {
        let mut command = self.with(address, scenes);
        let output = command.stdin(Stdio::null()).output().expect("the program runs");
        let told = Told::read(self.language, &output);
        let failures: Vec<_> = scenes.iter().filter_map(|scene| told.failure_of(scene)).collect();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(failures.is_empty(), "{}\n--- err\n{err}", failures.join("\n"));
        assert!(output.status.success(), "{} ended badly\n--- err\n{err}", self.language);
    }

    /// Whether this machine has it.
    pub(crate) fn is_here(&self) -> bool {
        (self.command)().is_some()
    }

    /// A worker that goes on beside the test.
    pub(crate) fn worker(&self, server: &Server) -> Script {
        let mut worker = Script::start(self.with(&server.address, &["worker"]));
        worker.hears("working");
        worker
    }

    fn with(&self, address: &str, scenes: &[&str]) -> Command {
        let mut command = (self.command)().expect("it was looked for before");
        command.arg(address).args(scenes);
        command
    }
}

/// What a program said, by scene.
struct Told {
    language: &'static str,
    outcomes: BTreeMap<String, Value>,
}

impl Told {
    fn read(language: &'static str, output: &Output) -> Self {
        let mut outcomes = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Ok(told) = serde_json::from_str::<Value>(line) else { continue };
            if let Some(scene) = told["scene"].as_str() {
                outcomes.insert(scene.to_owned(), told);
            } else if let (Some(what), Some(ms)) =
                (told["latency_of"].as_str(), &told["ms"].as_f64())
            {
                say(&format!("{language}: latency of a cancel, {what}: {ms:.1} ms"));
            }
        }
        Self { language, outcomes }
    }

    /// Why a scene does not count as played.
    fn failure_of(&self, scene: &str) -> Option<String> {
        match self.outcomes.get(scene) {
            Some(told) if told["passed"] == true => None,
            Some(told) => Some(format!("{}: {scene} failed: {}", self.language, told["error"])),
            None => Some(format!("{}: {scene} was not played", self.language)),
        }
    }
}

/// A process that goes on beside the test.
pub(crate) struct Script {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Script {
    /// Starts one.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the script starts");
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
