//! Several real processes on one Postgres, one of them killed again and again, and every connection
//! ended now and then.
//!
//! The children (this same binary) work; the parent starts runs, cancels some, and kills. In the
//! end every run that was acknowledged has closed as it should, every history is lawful, every
//! receipt is settled, and nothing is left over.

mod child;
mod schema;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use bowline_core::{ReceiptId, RunEnding, RunId, lawful};
use bowline_engine::{CancelRequest, Engine, StartOptions};
use bowline_store::{Phase, Store};
use child::{LEASE, QUEUE, SCHEMA};
use schema::Schema;

/// How often a process is killed.
const KILLS: usize = 8;
/// How long the parent waits for what must come.
const PATIENCE: Duration = Duration::from_secs(150);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_killed_everything_acknowledged_comes_to_its_end() {
    let schema = Schema::new();
    let store: Arc<dyn Store> = Arc::new(schema.open());
    let engine = Engine::builder(store.clone()).identity("parent").lease(LEASE).start().await;
    let engine = engine.expect("the engine starts");
    let mut children: Vec<Worker> = (0..3).map(|_| Worker::begin(&schema)).collect();
    let (mut steps, mut holds, mut receipts) = (Vec::new(), Vec::new(), Vec::new());
    for kill in 0..KILLS {
        for at in 0..6 {
            steps.push(start(&engine, "steps", &format!("steps-{kill}-{at}")).await);
        }
        // Those of the round before may run, wait or be lost by now.
        for run in holds.iter().skip(receipts.len()) {
            receipts.push(cancel(&engine, *run).await);
        }
        for at in 0..2 {
            holds.push(start(&engine, "hold", &format!("hold-{kill}-{at}")).await);
        }
        // Work gets somewhere between two kills.
        within("a run of this round to close", engine.outcome(steps[kill * 6])).await;
        children[kill % 3].kill();
        children[kill % 3] = Worker::begin(&schema);
        if kill % 2 == 0 {
            schema.cut().await;
        }
    }
    for run in holds.iter().skip(receipts.len()) {
        receipts.push(cancel(&engine, *run).await);
    }
    for run in &steps {
        let ending = ending(&engine, *run).await;
        assert!(matches!(ending, RunEnding::Completed(_)), "{run}: {ending:?}");
    }
    for run in &holds {
        let ending = ending(&engine, *run).await;
        assert!(matches!(ending, RunEnding::Cancelled(..)), "{run}: {ending:?}");
    }
    for run in steps.iter().chain(&holds) {
        let events = engine.history(*run).await.expect("history reads");
        lawful::check(*run, &events).expect("history is lawful");
    }
    for receipt in receipts {
        let settled = within("the receipt to settle", engine.wait(receipt, Phase::Settled)).await;
        assert!(settled.settled(), "{settled:?}");
    }
    let orphans = engine.orphans().await.expect("the question can be asked");
    assert!(orphans.is_empty(), "{orphans:?}");
    drop(children);
    engine.close(Duration::from_secs(5)).await.expect("it ends well");
}

/// A cancel that is requested here stops code in another process at once: long before anybody
/// would renew a lease by time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_reaches_the_process_that_runs_the_code() {
    let schema = Schema::new();
    let store: Arc<dyn Store> = Arc::new(schema.open());
    let engine = Engine::builder(store.clone()).identity("parent").lease(LEASE).start().await;
    let engine = engine.expect("the engine starts");
    let child = Worker::begin(&schema);
    let run = start(&engine, "hold", "hold").await;
    within("the activity to run", async {
        while engine.leftovers(run).await.expect("it is there").attempts.is_empty() {
            tokio::task::yield_now().await;
        }
        Ok::<_, ()>(())
    })
    .await;
    let receipt = cancel(&engine, run).await;
    let left = within("it to be clean", engine.wait(receipt, Phase::Clean)).await;
    let attempt = &left.attempts[0];
    assert!(attempt.delivered_at.is_some() || attempt.stopped_at.is_some(), "{attempt:?}");
    assert!(!attempt.lost, "its process lives");
    drop(child);
    engine.close(Duration::from_secs(5)).await.expect("it ends well");
}

async fn start(engine: &Engine, name: &str, id: &str) -> RunId {
    let options = StartOptions::new(name, id, QUEUE, None);
    within("a start", engine.start(options)).await
}

async fn cancel(engine: &Engine, run: RunId) -> ReceiptId {
    within("a cancel", engine.cancel(run, CancelRequest::new("enough", "parent"))).await
}

async fn ending(engine: &Engine, run: RunId) -> RunEnding {
    within("a run to close", engine.outcome(run)).await.1
}

async fn within<T, E: std::fmt::Debug>(
    what: &str,
    answer: impl Future<Output = Result<T, E>>,
) -> T {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(answer) => answer.expect(what),
        Err(_) => panic!("waited for {what}, and it did not come"),
    }
}

/// A process that works.
struct Worker(Child);

impl Worker {
    fn begin(schema: &Schema) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "child::works_until_it_is_killed", "--nocapture"])
            .env(SCHEMA, &schema.name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child begins");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.contains("at work"))), "it works");
        Self(child)
    }

    /// With SIGKILL: nobody says goodbye.
    fn kill(&mut self) {
        self.0.kill().expect("it lives");
        self.0.wait().expect("it ends");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
