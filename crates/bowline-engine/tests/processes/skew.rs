//! Processes whose clocks are wrong by minutes: leases do not care, since only the database's clock
//! counts.

use std::{convert::Infallible, time::Duration};

use bowline_core::Time;
use bowline_engine::StartOptions;

use crate::{
    flows::QUEUE,
    kill::parent,
    schema::Schema,
    verify::{verify, within},
    worker::{Life, Promises, Worker},
};

/// Long enough for a machine that has much else to do.
const LEASE: Duration = Duration::from_secs(9);
/// So wrong, in seconds.
const SKEW: i64 = 600;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_are_wrong_break_no_lease() {
    let mut schema = Schema::new();
    schema.life.lease = LEASE;
    let engine = parent(&schema).await;
    let promises = Promises::default();
    let mut workers: Vec<Worker> = [(-SKEW, 1), (0, 2), (SKEW, 3)]
        .into_iter()
        .map(|(skew, seed)| Worker::spawn(&Life { skew, ..schema.seeded(seed) }, &promises))
        .collect();
    for worker in &mut workers {
        worker.says("at work").await;
    }
    // One of them has it, and keeps it for longer than any lease.
    let options = StartOptions::new("hold", "kept", QUEUE, None);
    let run = within("a start", engine.start(options)).await;
    let openings = schema.openings().await;
    let begun = schema.now().await;
    let works = async {
        while schema.outlasted(begun).await < 4 {
            for worker in &mut workers {
                worker.promises(10, LEASE / 4).await;
            }
        }
        Ok::<_, Infallible>(())
    };
    within("leases to be outlasted", works).await;
    assert_eq!(schema.rows("members WHERE state = 0").await, 4);
    let same = schema.openings().await == openings;
    assert!(same, "nobody was given up, and had to enter again");
    let left = within("a look", engine.leftovers(run)).await;
    let line = left.attempts.first().expect("it runs");
    assert!(line.attempt == 1 && line.running, "{line:?}");
    let request = bowline_engine::CancelRequest::new("enough", "parent");
    within("a cancel", engine.cancel_one(run, line.activity, request)).await;
    for worker in &mut workers {
        worker.calm();
        worker.says("calm").await;
    }
    let after = verify(&schema, &engine, &promises).await;
    after.nothing_else_was_stopped();
    after.nothing_was_stolen_before(Time::MAX);
    assert!(after.promised("start ") > 10, "the children got somewhere");
    drop(workers);
    engine.close(Duration::from_secs(5)).await.expect("it ends well");
}
