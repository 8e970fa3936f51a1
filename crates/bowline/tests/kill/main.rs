//! A real process is killed with SIGKILL, again and again, in the middle of its work.
//!
//! The child (the same test, started again by itself) opens the store, starts runs, signals and
//! cancels them, works on them, and says what was acknowledged, one line each. The parent kills it
//! after a number of lines that nobody could foresee. In the end everything that was acknowledged
//! must be there, and nothing twice.

mod child;
mod hold;
mod promise;
mod verify;

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

/// How often the child is killed.
const KILLS: u64 = 300;
/// The child is killed after at most this many acknowledgements.
const LINES_MAX: u64 = 60;
/// Names the folder that a child works in; unset in the parent.
const FOLDER: &str = "BOWLINE_KILL_FOLDER";
/// Names the number that makes a child's choices.
const SEED: &str = "BOWLINE_KILL_SEED";

#[test]
fn what_was_acknowledged_survives_every_kill() {
    if let (Ok(folder), Ok(seed)) = (std::env::var(FOLDER), std::env::var(SEED)) {
        return child::work(Path::new(&folder), seed.parse().expect("a number"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut promises = BTreeSet::new();
    let mut chance = Chance(0x5eed);
    for kill in 0..KILLS {
        promises.extend(live(folder.path(), kill, 1 + chance.next() % LINES_MAX));
    }
    let starts = promises.iter().filter(|p| p.starts_with("start ")).count();
    assert!(starts > 100, "the children got somewhere: {starts} starts");
    verify::verify(folder.path(), &promises);
}

/// One life of a child, and what it was heard to promise.
fn live(folder: &Path, seed: u64, lines: u64) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "what_was_acknowledged_survives_every_kill"])
        .args(["--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child begins");
    let heard = BufReader::new(child.stdout.take().expect("its output"));
    let mut promises = Vec::new();
    for line in heard.lines() {
        let Ok(line) = line else { break };
        if let Some(promise) = line.strip_prefix("ack ") {
            promises.push(promise.to_owned());
        }
        if promises.len() as u64 >= lines {
            break;
        }
    }
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    assert!(!promises.is_empty(), "child {seed} died before it did anything");
    promises
}

/// Numbers that look random and are the same every time.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
