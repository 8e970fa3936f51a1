//! What is asked in one process reaches the code that runs in another: at once, by a wake-up, where
//! nobody would renew a lease or look by time for an hour; and later, with the same result, where
//! there are no wake-ups at all.

use std::time::Duration;

use bowline_core::{
    Cause, EventId, Payload, RunEnding, RunId, Signal, Status, UpdateAnswer, UpdateStage,
};
use bowline_engine::{CancelRequest, Engine, StartOptions};
use bowline_store::Phase;

use crate::{
    flows::{QUEUE, add, holds},
    kill::parent,
    schema::Schema,
    verify::{ending, verify, within},
    worker::{Promises, Worker},
};

/// Whatever happens, it is not because time has passed.
const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wake_up_brings_everything_to_the_process_that_has_the_run() {
    let mut schema = Schema::new();
    (schema.life.lease, schema.life.poll) = (HOUR, HOUR);
    everything(&schema).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_wake_ups_everything_comes_later() {
    let mut schema = Schema::new();
    (schema.life.lease, schema.life.poll) = (HOUR, Duration::from_millis(300));
    schema.life.hints = false;
    everything(&schema).await;
}

async fn everything(schema: &Schema) {
    let engine = parent(schema).await;
    let promises = Promises::default();
    let mut other = Worker::spawn(&schema.life, &promises);
    other.says("at work").await;
    cancel_a_run(&engine, &mut other).await;
    cancel_one_activity(&engine, &mut other).await;
    cancel_many(&engine, &mut other).await;
    cancel_a_tree(&engine).await;
    terminate(&engine).await;
    updates_queries_and_signals(&engine).await;
    verify(schema, &engine, &promises).await;
    drop(other);
    engine.close(Duration::from_secs(5)).await.expect("it ends well");
}

async fn start(engine: &Engine, name: &str, id: &str) -> RunId {
    within("a start", engine.start(StartOptions::new(name, id, QUEUE, None))).await
}

/// Waits until an attempt runs, and says of which activity.
async fn running(engine: &Engine, run: RunId) -> EventId {
    let looks = async {
        loop {
            let left = engine.leftovers(run).await?;
            if let Some(line) = left.attempts.iter().find(|line| line.running) {
                return Ok::<_, bowline_engine::Error>(line.activity);
            }
        }
    };
    within("an attempt to run", looks).await
}

async fn cancel(engine: &Engine, run: RunId) {
    let request = CancelRequest::new("enough", "parent");
    let receipt = within("a cancel", engine.cancel(run, request)).await;
    let left = within("it to be clean", engine.wait(receipt, Phase::Clean)).await;
    assert!(left.remainder().is_empty(), "{left:#?}");
    assert!(left.attempts.iter().all(|line| !line.lost && line.stopped_at.is_some()), "{left:#?}");
}

async fn cancel_a_run(engine: &Engine, other: &mut Worker) {
    let run = start(engine, "hold", "cancelled").await;
    // What is cancelled before the answer of its claim has come never begins.
    other.says(&holds(run)).await;
    cancel(engine, run).await;
    other.says("told").await;
    assert!(matches!(ending(engine, run).await, RunEnding::Cancelled(..)));
}

/// The workflow sees the outcome and goes on.
async fn cancel_one_activity(engine: &Engine, other: &mut Worker) {
    let run = start(engine, "hold", "operated").await;
    other.says(&holds(run)).await;
    let activity = running(engine, run).await;
    let request = CancelRequest::new("this one", "an operator");
    within("a cancel", engine.cancel_one(run, activity, request)).await;
    let told = RunEnding::Completed(Some(Payload::json("\"told\"")));
    assert_eq!(ending(engine, run).await, told);
}

/// A hundred at once, by a mark.
async fn cancel_many(engine: &Engine, other: &mut Worker) {
    let run = start(engine, "fan", "many").await;
    other.says_times(&holds(run), 100).await;
    cancel(engine, run).await;
}

/// A run with a clean-up and a child, somewhere in the middle of it.
async fn cancel_a_tree(engine: &Engine) {
    let run = start(engine, "order", "tree").await;
    running(engine, run).await;
    cancel(engine, run).await;
    let head = within("a look", engine.head(run)).await;
    assert_eq!(head.status, Status::Cancelled);
}

/// The run is closed long before its code has stopped: only the row of the activity can tell.
async fn terminate(engine: &Engine) {
    let run = start(engine, "linger", "terminated").await;
    running(engine, run).await;
    let cause = Cause::requested("no more", "an operator");
    let receipt = within("it", engine.terminate(run, cause)).await;
    let left = within("it to be clean", engine.wait(receipt, Phase::Clean)).await;
    assert!(left.attempts.iter().all(|line| line.stopped_at.is_some()), "{left:#?}");
}

/// An answer is waited for here and given there; who asks afterwards sees what it did.
async fn updates_queries_and_signals(engine: &Engine) {
    let run = start(engine, "count", "count").await;
    for number in 1..=5 {
        let json = Payload::json(number.to_string());
        let stage = within("an update", engine.update(run, add(&format!("u{number}")))).await;
        assert_eq!(stage, UpdateStage::Completed(UpdateAnswer::Done(Some(json.clone()))));
        let sum = within("a query", engine.query(run, "sum", None)).await;
        assert_eq!(sum, Some(json));
    }
    let end = Signal { name: "end".into(), ..Signal::default() };
    within("a signal", engine.signal(run, end)).await;
    assert_eq!(ending(engine, run).await, RunEnding::Completed(Some(Payload::json("5"))));
    let sum = within("a query of a closed run", engine.query(run, "sum", None)).await;
    assert_eq!(sum, Some(Payload::json("5")));
}
