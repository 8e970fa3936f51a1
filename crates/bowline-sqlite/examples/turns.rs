//! How many turns a second this store takes, by how many share a transaction.
//!
//! A turn: three events of 300 bytes, one activity, one message consumed and one sent, on one of
//! 5,000 runs at random. `cargo run --release -p bowline-sqlite --example turns [seconds]`
//! prints a line for calls of so many turns, and one for so many callers with one turn each.

#![allow(clippy::print_stdout)]

#[path = "../tests/it/world.rs"]
#[allow(dead_code)]
mod world;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bowline_core::{Address, EventId, MarkerRecorded, Message, Payload, Post};
use bowline_sqlite::{SqliteStore, Stats};
use bowline_store::{Commit, Head, NewActivity, Store};
use tokio::{sync::Mutex, task::JoinSet};
use world::{event, head, spec, start, turn_of};

const RUNS: u128 = 5_000;
const GROUPS: [usize; 4] = [1, 8, 64, 256];

#[tokio::main]
async fn main() {
    let seconds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(5);
    let span = Duration::from_secs(seconds);
    println!(
        "{:>8} {:>9} {:>11} {:>13} {:>12}",
        "way", "turns", "turns/s", "turns/commit", "cpu µs"
    );
    for group in GROUPS {
        report("calls", group, span, false).await;
    }
    for group in GROUPS {
        report("callers", group, span, true).await;
    }
}

async fn report(way: &str, group: usize, span: Duration, apart: bool) {
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let store = SqliteStore::open(folder.path().join("turns.db")).expect("the file is new");
    let store = Arc::new(store);
    let heads = begin_runs(&store).await;
    let (before, begun, cpu) = (store.stats(), Instant::now(), cpu());
    let turns = match apart {
        false => calls(&store, heads, group, span).await,
        true => callers(&store, heads, group, span).await,
    };
    let (after, took, cpu) = (store.stats(), begun.elapsed().as_secs_f64(), self::cpu() - cpu);
    let shared = turns as f64 / (after.transactions - before.transactions) as f64;
    let rate = turns as f64 / took;
    let each = cpu * 1e6 / turns as f64;
    println!("{:>8} {turns:>9} {rate:>11.0} {shared:>13.1} {each:>12.1}", format!("{group} {way}"));
    assert_sane(&before, &after);
}

fn assert_sane(before: &Stats, after: &Stats) {
    assert_eq!(before.rollbacks, after.rollbacks, "nobody loses a race here");
    assert_eq!(before.batches_read, after.batches_read, "a turn reads no history");
}

async fn begin_runs(store: &Arc<SqliteStore>) -> Vec<Head> {
    let posts = (1..=RUNS).map(|uuid| world::starting(world::run_id(uuid))).collect();
    assert!(store.post(posts).await.iter().all(|posted| posted.is_ok()), "they are new");
    start(&**store, RUNS + 1).await;
    let mut heads = Vec::new();
    for uuid in 1..=RUNS {
        heads.push(head(&**store, world::run_id(uuid)).await);
    }
    heads
}

/// One caller, whose calls have so many turns of different runs.
async fn calls(
    store: &Arc<SqliteStore>,
    mut heads: Vec<Head>,
    group: usize,
    span: Duration,
) -> usize {
    let (begun, mut turns, mut random) = (Instant::now(), 0, Random(1));
    while begun.elapsed() < span {
        let chosen = random.some(heads.len(), group);
        let commits = chosen.iter().map(|at| turn(&heads[*at])).collect();
        for (at, done) in chosen.iter().zip(store.commit(commits).await) {
            done.expect("nobody else writes");
            advance(&mut heads[*at]);
        }
        turns += group;
    }
    turns
}

/// So many callers, each with one turn at a time.
async fn callers(
    store: &Arc<SqliteStore>,
    heads: Vec<Head>,
    group: usize,
    span: Duration,
) -> usize {
    let share = heads.len() / group;
    let heads = Arc::new(heads.into_iter().map(Mutex::new).collect::<Vec<_>>());
    let mut callers = JoinSet::new();
    let begun = Instant::now();
    for caller in 0..group {
        let (store, heads) = (store.clone(), heads.clone());
        callers.spawn(async move {
            let (mut turns, mut random) = (0, Random(caller as u64 + 1));
            while begun.elapsed() < span {
                let mut head = heads[caller * share + random.below(share)].lock().await;
                let done = store.commit(vec![turn(&head)]).await.remove(0);
                done.expect("nobody else writes");
                advance(&mut head);
                turns += 1;
            }
            turns
        });
    }
    callers.join_all().await.into_iter().sum()
}

fn turn(head: &Head) -> Commit {
    let wire = bowline_core::Blob::from(vec![7; 270]);
    let events = (0..3).map(|n| {
        let mut event = event(head.next_event.plus(n), MarkerRecorded::default());
        event.wire = Some(wire.clone());
        event
    });
    let id = u128::from(head.version.0) << 64 | head.run.uuid;
    let mut commit = turn_of(head, id, events.collect());
    let input = Some(Payload::wire(vec![7; 100]));
    let spec = Arc::new(bowline_core::ActivitySpec { input, ..spec("work") });
    commit.activities = vec![NewActivity { activity: head.next_event, spec, start: None }];
    let message = Message::FireTimer(EventId(head.next_event.0));
    let to = Address::Run(head.run);
    commit.posts = vec![Post { to, message, child_of: None, answer: None }];
    commit
}

/// What the turn has done to the run.
fn advance(head: &mut Head) {
    head.version.0 += 1;
    head.inbox.0 += 1;
    head.next_event = head.next_event.plus(3);
}

/// Enough to spread turns over runs.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// Different numbers.
    fn some(&mut self, bound: usize, count: usize) -> Vec<usize> {
        let mut chosen = std::collections::BTreeSet::new();
        while chosen.len() < count {
            chosen.insert(self.below(bound));
        }
        chosen.into_iter().collect()
    }
}

/// Processor time of this process so far, in seconds; zero where it cannot be told.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(12) + ticks(13)) / 100.0
}
