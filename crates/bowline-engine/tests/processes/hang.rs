//! A process that hangs for longer than its lease, and then goes on as if nothing had happened: it
//! was given up meanwhile, its runs went on elsewhere, and what it still does changes nothing. It
//! stops its code, and enters again without being restarted.

use std::time::Duration;

use bowline_core::{Payload, RunEnding};
use bowline_engine::{CancelRequest, Engine, StartOptions};
use bowline_store::Phase;

use crate::{
    child::PATIENCE,
    flows::{PULSE, QUEUE, holds},
    kill::{Team, parent},
    longer,
    schema::Schema,
    soak,
    verify::{ending, verify, within},
    worker::{Promises, Worker},
};

/// Waits until a process is a member, or is none any more because others have given it up. Who was
/// given up is soon forgotten, so nobody is looked for there.
async fn is_member(schema: &Schema, worker: &Worker, is: bool) {
    let rows = format!("members WHERE state = 0 AND identity = '{}'", worker.identity());
    let waits = async {
        while (schema.rows(&rows).await > 0) != is {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waits).await;
    assert!(waited.is_ok(), "{} is {}a member", worker.identity(), if is { "not " } else { "" });
}

/// Waits until an attempt of this number runs.
async fn runs(engine: &Engine, run: bowline_core::RunId, attempt: u32) -> bowline_core::EventId {
    let looks = async {
        loop {
            let left = engine.leftovers(run).await?;
            let running = left.attempts.iter().find(|line| line.running && line.attempt == attempt);
            if let Some(line) = running {
                return Ok::<_, bowline_engine::Error>(line.activity);
            }
        }
    };
    within("an attempt to run", looks).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_hangs_is_given_up_and_enters_again() {
    let schema = Schema::new();
    let engine = parent(&schema).await;
    let promises = Promises::default();
    let begin = || Worker::spawn(&schema.life, &promises);
    let mut hangs = begin();
    hangs.says("at work").await;
    let start = |id: &str| engine.start(StartOptions::new("hold", id, QUEUE, None));
    let run = within("a start", start("hold")).await;
    hangs.says(&holds(run)).await;
    let held = runs(&engine, run, 1).await;
    let mut other = begin();
    other.says("at work").await;

    hangs.hang();
    is_member(&schema, &hangs, false).await;
    assert_eq!(runs(&engine, run, 2).await, held, "its activity is tried again, by the other one");
    assert!(!hangs.has_said("told"), "nobody could tell it");

    hangs.wake();
    is_member(&schema, &hangs, true).await;
    assert!(!hangs.has_said("told"), "its code is dropped, and takes no further step");
    assert!(hangs.lives(), "nobody restarted it");
    assert_eq!(runs(&engine, run, 2).await, held, "what it did when it woke changed nothing");

    // It is alone, and works.
    other.kill();
    runs(&engine, run, 3).await;
    hangs.says_times(&holds(run), 2).await;
    let request = CancelRequest::new("enough", "parent");
    within("a cancel", engine.cancel_one(run, held, request)).await;
    let told = RunEnding::Completed(Some(Payload::json("\"told\"")));
    assert_eq!(ending(&engine, run).await, told);
    hangs.says("told requested").await;
    verify(&schema, &engine, &promises).await;
    drop(hangs);
    engine.close(Duration::from_secs(5)).await.expect("it ends well");
}

/// A process stood still for longer than its lease, and somebody else ran what it had run. Its code
/// was ready to go on when it woke, and did, until somebody told it. Now it takes no further step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_wakes_after_its_lease_takes_no_further_step() {
    let schema = Schema::new();
    let engine = parent(&schema).await;
    let promises = Promises::default();
    let mut hangs = Worker::spawn(&schema.life, &promises);
    hangs.says("at work").await;
    let start = engine.start(StartOptions::new("pulse", "pulse", QUEUE, None));
    let run = within("a start", start).await;
    hangs.says_times(PULSE, 3).await;
    let mut other = Worker::spawn(&schema.life, &promises);
    other.says("at work").await;

    hangs.hang();
    other.says_times(PULSE, 3).await;
    let before = hangs.said_after(PULSE).len();
    hangs.wake();
    is_member(&schema, &hangs, true).await;
    assert_eq!(hangs.said_after(PULSE).len(), before, "it had lost its lease");
    let request = CancelRequest::new("enough", "parent");
    let receipt = within("a cancel", engine.cancel(run, request)).await;
    within("clean", engine.wait(receipt, Phase::Clean)).await;
    drop((hangs, other));
    engine.close(Duration::from_secs(5)).await.expect("it ends well");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_hangs_under_load_everything_acknowledged_comes_to_its_end() {
    let schema = Schema::new();
    let mut team = Team::up(&schema, 0x57a).await;
    for hang in 0..3 * longer() {
        team.work(20, schema.life.lease).await;
        let hangs = &team.workers[hang % 3];
        hangs.hang();
        is_member(&schema, hangs, false).await;
        hangs.wake();
        is_member(&schema, hangs, true).await;
    }
    team.calm().await;
    let after = verify(&schema, &team.engine, &team.promises).await;
    after.nothing_else_was_stopped();
    assert!(after.promised("start ") > 20, "the children got somewhere");
    assert!(team.workers.iter_mut().all(Worker::lives), "nobody was restarted");
    soak::tell("hang", &[("processes stopped and woken", 3 * longer())], &after);
    drop(team.workers);
    team.engine.close(Duration::from_secs(5)).await.expect("it ends well");
}
