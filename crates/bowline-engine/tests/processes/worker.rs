//! A child process as its parent sees it: begun, heard, killed, stopped and woken.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use bowline_postgres::PostgresStore;
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::watch;

use crate::{
    child::{PATIENCE, identity},
    flows::Build,
    kill, schema,
};

/// What a child is told about its life, by its environment.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) url: String,
    pub(crate) schema: String,
    pub(crate) lease: Duration,
    /// How often everything is looked at, in case a hint was lost.
    pub(crate) poll: Duration,
    pub(crate) hints: bool,
    /// Makes the choices of its requests; without it, it makes none.
    pub(crate) seed: Option<u64>,
    /// By how many seconds its clock is wrong.
    pub(crate) skew: i64,
    /// Which code it has.
    pub(crate) build: Build,
}

/// Holds all of it; unset in the parent.
const VARIABLE: &str = "BOWLINE_TEST_LIFE";

impl Life {
    /// What the environment says, in a child.
    pub(crate) fn read() -> Option<Self> {
        let told = std::env::var(VARIABLE).ok()?;
        let words: Vec<&str> = told.split(' ').collect();
        let [url, schema, lease, poll, hints, seed, skew, build] = words[..] else {
            panic!("eight words: {told}")
        };
        let millis = |text: &str| Duration::from_millis(text.parse().expect("a number"));
        Some(Self {
            url: url.to_owned(),
            schema: schema.to_owned(),
            lease: millis(lease),
            poll: millis(poll),
            hints: hints == "true",
            seed: seed.parse().ok(),
            skew: skew.parse().expect("a number"),
            build: Build::read(build),
        })
    }

    fn written(&self) -> String {
        let Self { url, schema, lease, poll, hints, seed, skew, build } = self;
        let seed = seed.map_or("none".to_owned(), |seed| seed.to_string());
        let (lease, poll) = (lease.as_millis(), poll.as_millis());
        let build = build.name();
        format!("{url} {schema} {lease} {poll} {hints} {seed} {skew} {build}")
    }

    pub(crate) fn open(&self) -> PostgresStore {
        schema::open(self)
    }
}

/// What was promised by any child, whatever became of it.
pub(crate) type Promises = Arc<Mutex<BTreeSet<String>>>;

/// A process that works.
pub(crate) struct Worker {
    child: Child,
    /// How many lines it has said, and which they were apart from promises.
    said: watch::Receiver<(usize, Vec<String>)>,
}

impl Worker {
    pub(crate) fn spawn(life: &Life, promises: &Promises) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", kill::NAME, "--nocapture"])
            .env(VARIABLE, life.written())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child begins");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let (saying, said) = watch::channel((0, Vec::new()));
        let promises = promises.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let promise = line.strip_prefix("ack ").map(str::to_owned);
                saying.send_modify(|(count, others)| match promise {
                    Some(promise) => {
                        *count += 1;
                        promises.lock().expect("nobody panics with it").insert(promise);
                    }
                    None => others.push(line),
                });
            }
        });
        Self { child, said }
    }

    /// Waits until it has said a line.
    pub(crate) async fn says(&mut self, what: &str) {
        self.says_times(what, 1).await;
    }

    /// Waits until it has said a line so many times.
    pub(crate) async fn says_times(&mut self, what: &str, times: usize) {
        assert!(self.is_heard(what, times).await, "a child never said {what}");
    }

    /// Whether it says a line so many times before anybody loses patience.
    pub(crate) async fn is_heard(&mut self, what: &str, times: usize) -> bool {
        let count =
            |others: &[String]| others.iter().filter(|line| line.contains(what)).count() >= times;
        let said = self.said.wait_for(|(_, others)| count(others));
        let Ok(heard) = tokio::time::timeout(PATIENCE, said).await else { return false };
        assert!(heard.is_ok(), "a child ended and did not say {what}");
        true
    }

    /// What it has said after these words.
    pub(crate) fn said_after(&self, words: &str) -> Vec<String> {
        let said = self.said.borrow();
        let after = said.1.iter().filter_map(|line| Some(line.split_once(words)?.1.to_owned()));
        after.collect()
    }

    /// Whether it has said a line.
    pub(crate) fn has_said(&self, what: &str) -> bool {
        self.said.borrow().1.iter().any(|line| line.contains(what))
    }

    /// Waits until it has made so many promises more, but not for longer than so.
    pub(crate) async fn promises(&mut self, more: usize, within: Duration) {
        let most = self.said.borrow().0 + more;
        let _ = tokio::time::timeout(within, self.said.wait_for(|(count, _)| *count >= most)).await;
    }

    /// Asks it to make no more requests.
    pub(crate) fn calm(&mut self) {
        let input = self.child.stdin.as_mut().expect("it has one");
        input.write_all(b"calm").and_then(|()| input.flush()).expect("it listens");
    }

    /// With SIGKILL: nobody says goodbye.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
    }

    /// How it calls itself as a member.
    pub(crate) fn identity(&self) -> String {
        identity(self.child.id())
    }

    /// It hangs, until it is woken.
    pub(crate) fn hang(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn wake(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("it has a number"), signal).expect("it is there");
    }

    /// Whether its process is there still.
    pub(crate) fn lives(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_none()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
