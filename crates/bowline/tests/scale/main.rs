//! What a step costs does not depend on how many there were before: rows and calls are counted,
//! not seconds.

mod beginning;

use std::sync::Arc;

use bowline_engine::{
    Engine, QueueOptions, StartOptions,
    core::{ActivitySpec, Failure, Name, Outcome, Payload, Queue, RunEnding, RunId},
    worker::registry::activity_fn,
};
use bowline_replay::{Context, Ended};
use bowline_sqlite::{SqliteStore, Stats};

const QUEUE: &str = "work";

fn step() -> ActivitySpec {
    ActivitySpec {
        name: Name::from("step"),
        queue: Queue::from(QUEUE),
        input: Some(Payload::json("1")),
        ..ActivitySpec::default()
    }
}

/// As many steps, one after the other, as the input says.
async fn chain(ctx: Context, input: Option<Payload>) -> Result<Option<Payload>, Ended> {
    let bytes = input.unwrap_or_default().bytes;
    let steps: u32 = std::str::from_utf8(bytes.as_slice())
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Ended::Failed(Failure::new("the input is not a number")))?;
    for _ in 0..steps {
        match ctx.activity(step()).await {
            Outcome::Completed(_) => {}
            other => return Err(Ended::Failed(Failure::new(format!("{other:?}")))),
        }
    }
    Ok(None)
}

async fn engine(store: &Arc<SqliteStore>) -> Engine {
    Engine::builder(store.clone())
        .queue(QUEUE, QueueOptions::default())
        .workflow("chain", Arc::new(chain))
        .activity("step", activity_fn(|_, _| async { Ok(None) }))
        .start()
        .await
        .expect("the engine starts")
}

async fn run(engine: &Engine, steps: u32) -> RunId {
    let input = Some(Payload::json(steps.to_string()));
    let options = StartOptions::new("chain", format!("chain-{steps}"), QUEUE, input);
    let run = engine.start(options).await.expect("the run starts");
    let (_, ending) = engine.outcome(run).await.expect("the run ends");
    assert_eq!(ending, RunEnding::Completed(None));
    run
}

/// Whole rows per hundred steps, so that a beginning and an end do not count.
fn per_hundred(before: Stats, after: Stats, steps: u64) -> [u64; 3] {
    [
        (after.rows_written - before.rows_written) * 100 / steps,
        (after.batches_read - before.batches_read) * 100 / steps,
        (after.calls - before.calls) * 100 / steps,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_ten_thousand_costs_what_a_step_of_a_hundred_costs() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(SqliteStore::open(folder.path().join("scale.db")).expect("opens"));
    let engine = engine(&store).await;
    run(&engine, 10).await;
    let start = store.stats();
    run(&engine, 100).await;
    let short = store.stats();
    run(&engine, 10_000).await;
    let long = store.stats();
    let [few, many] = [per_hundred(start, short, 100), per_hundred(short, long, 10_000)];
    for (cheap, dear) in few.iter().zip(many) {
        // Whether an end is written with its turn or alone is a matter of moments, and a short
        // run's beginning and end are spread over few steps: what grew with their number would be
        // a hundred times as dear.
        assert!(dear <= cheap * 2, "per hundred steps: {few:?}, later {many:?}");
    }
    engine.close(std::time::Duration::from_secs(10)).await.expect("closes");
}

/// A run that left the cache is replayed once, from each row of its history exactly once.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_comes_back_reads_its_history_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scale.db");
    let runs = {
        let store = Arc::new(SqliteStore::open(&path).expect("opens"));
        let engine = engine(&store).await;
        let run = run(&engine, 1_000).await;
        engine.close(std::time::Duration::from_secs(10)).await.expect("closes");
        store.close().await;
        run
    };
    let store = Arc::new(SqliteStore::open(&path).expect("opens"));
    let engine = engine(&store).await;
    let before = store.stats();
    let asked = engine.query(runs, "nothing", None).await.expect_err("no such query");
    assert_eq!(asked.code(), "query_failed");
    let batches = store.stats().batches_read - before.batches_read;
    let events = engine.history(runs).await.expect("history reads");
    assert!(batches <= 2 * 1_000 + 10, "{batches} rows for {} events", events.len());
    engine.close(std::time::Duration::from_secs(10)).await.expect("closes");
}
