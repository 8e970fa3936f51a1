//! A process that writes is killed at a moment of its own; whatever it was told is done, is there.
//!
//! This program is both: started with a path, it writes until it is killed and says what was
//! acknowledged; started without, it starts and kills itself, several times on the same file.

mod locks;
mod transaction;
#[path = "../it/world.rs"]
#[allow(dead_code)]
mod world;

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use bowline_sqlite::SqliteStore;
use bowline_store::{Read, Store};
use world::{assert_whole, claiming, commit, head, join, run_id, scheduling, spec, start, sweep};

const ROUNDS: u128 = 6;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[..] {
        [_, word, path, round] if word == "write" => {
            write(Path::new(path), round.parse().expect("a round is a number")).await;
        }
        [_, word, path, what, round] if word == "transaction" => {
            let round = round.parse().expect("a round is a number");
            transaction::act(Path::new(path), what, round).await;
        }
        [_, word, path, again] if word == "hold" => {
            locks::hold(Path::new(path), Path::new(again)).await;
        }
        [_, word, path] if word == "look" => locks::look(Path::new(path)),
        _ => {
            locks::open_twice_and_look().await;
            kill_and_look().await;
            transaction::kill_and_look().await;
        }
    }
}

/// Writes for ever, and says after each commit which run has how many.
async fn write(path: &Path, round: u128) {
    let store = SqliteStore::open(path).expect("the file is free");
    let epoch = join(&store).await;
    sweep(&store, epoch).await;
    let mut out = std::io::stdout();
    for turn in 0.. {
        for uuid in 1..=4 {
            let run = run_id(round * 100 + uuid);
            if turn == 0 {
                start(&store, run.uuid).await;
            }
            let now = head(&store, run).await;
            let id = round << 64 | turn << 8 | uuid;
            let decided = scheduling(&now, id, 3, &spec("work"));
            let committed = commit(&store, decided).await.expect("nobody else writes");
            writeln!(out, "{} {}", run.uuid, committed.version).expect("the parent listens");
            out.flush().expect("the parent listens");
        }
    }
}

async fn kill_and_look() {
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let path = folder.path().join("store.db");
    let mut acknowledged = Vec::new();
    for round in 1..=ROUNDS {
        acknowledged.extend(killed(&path, round));
        let store = SqliteStore::open(&path).expect("a crash leaves a file that opens");
        assert_whole(&store).await;
        for (uuid, version) in &acknowledged {
            let run = store.read(Read::whole(run_id(*uuid))).await.expect("it reads");
            let run = run.expect("an acknowledged start is there");
            assert!(run.head.version.0 >= *version, "{uuid}: {} of {version}", run.head.version);
            assert_eq!(run.batches.len() as u64, run.head.version.0, "one row per commit");
        }
        let epoch = join(&store).await;
        sweep(&store, epoch).await;
        let mut claim = claiming(epoch, 100);
        claim.queues = vec!["turns".into()];
        store.claim_runs(claim).await.expect("work goes on");
        store.close().await;
    }
}

/// Starts a writer, lets it write for a while, kills it, and tells what it had been told.
fn killed(path: &Path, round: u128) -> Vec<(u128, u64)> {
    let own = std::env::current_exe().expect("this program knows its place");
    let mut child = Command::new(own)
        .args(["write", &path.display().to_string(), &round.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let out = child.stdout.take().expect("it was piped");
    let mut lines = BufReader::new(out).lines();
    let enough = 40 + 31 * usize::try_from(round).expect("rounds are few");
    let mut told: Vec<String> = lines.by_ref().take(enough).map_while(Result::ok).collect();
    child.kill().expect("it runs");
    told.extend(lines.map_while(Result::ok));
    child.wait().expect("it is gone");
    let told: Vec<_> = told.iter().filter_map(|line| parse(line)).collect();
    assert!(told.len() >= enough - 1, "it wrote until it was killed: {}", told.len());
    told
}

/// A run and its version; none for a line that the kill cut short.
fn parse(line: &str) -> Option<(u128, u64)> {
    let (uuid, version) = line.split_once(' ')?;
    Some((uuid.parse().ok()?, version.parse().ok()?))
}
