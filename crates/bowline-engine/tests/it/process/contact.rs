//! A process that has been out of contact with its store for a lease: others may have given it up,
//! and run the same. It stops what it runs by its own clock, and begins nothing.

use std::{sync::Arc, time::Duration};

use bowline_core::{Ending, Rung};
use bowline_engine::worker::registry::{ActivityCode, activity_fn};
use bowline_store::memory::{Method, When};

use crate::{
    support::{
        bench::Bench,
        flows::{any, claimed, work},
        probe::Probe,
        stage::{self, Process, Stage, cancel, comes_clean},
    },
    world::{Code, done, start, until, within},
};

const LEASE: Duration = Duration::from_secs(30);

/// A process whose workflow runs one activity.
async fn process(stage: &Stage, code: Arc<dyn ActivityCode>) -> Process {
    let builder = stage.builder().lease(LEASE).flow("one", |ctx, _| async move {
        done(ctx.activity(work(1_000, 5)).await)?;
        Ok(None)
    });
    stage.process(builder.activity("work", code)).await
}

/// Time passes until something has come about: slowly, so that the process keeps up. Otherwise its
/// lease is over again before it has done anything, and every attempt is lost.
async fn passes_until(stage: &Stage, what: &str, is_so: impl Fn() -> bool) {
    within(what, async {
        while !is_so() {
            stage.advance(1);
            std::thread::park_timeout(Duration::from_millis(5));
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// An outage that lasted longer than the lease left its code running, beside that of whoever had
/// taken over. Now it ends with the lease, without grace, and the process enters again when it can.
#[tokio::test]
async fn code_ends_with_the_lease_if_the_store_is_out_of_reach() {
    let stage = Stage::many();
    let probe = Probe::new();
    let only = process(&stage, probe.ignores()).await;
    let engine = &only.engine;
    let run = start(engine, "one", "one-1").await;
    probe.has_begun(1).await;
    stage::settle_down(engine, run).await;
    stage.gates.cut(true);
    stage.advance(29);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(probe.running(), 1, "a shorter outage disturbs nobody");
    stage.advance(2);
    probe.has_ended(1).await;
    assert_eq!(engine.metrics().rejoins, 0, "nobody was asked");
    stage.gates.cut(false);
    passes_until(&stage, "it to enter again", || engine.metrics().rejoins > 0).await;
    passes_until(&stage, "another attempt", || probe.begun() >= 2).await;
    let receipt = cancel(engine, run).await;
    passes_until(&stage, "the code to end", || probe.running() == 0).await;
    comes_clean(engine, receipt).await;
}

/// It was handed an attempt, and heard of it when its lease was over.
#[tokio::test]
async fn nothing_begins_when_the_lease_is_over() {
    let stage = Stage::many();
    let probe = Probe::new();
    let claim = stage.gates.hold(Method::ClaimActivities, When::After, claimed);
    let resting = stage.gates.hold(Method::ClaimActivities, When::Before, any);
    let only = process(&stage, probe.obeys()).await;
    let engine = &only.engine;
    resting.reached().await;
    let run = start(engine, "one", "one-1").await;
    until(engine, run, "ActivityScheduled").await;
    resting.release();
    claim.reached().await;
    stage.gates.cut(true);
    stage.advance(31);
    claim.release();
    // It gives itself up, and tries to enter again.
    let joins = || stage.gates.calls().iter().filter(|method| **method == Method::Join).count();
    passes_until(&stage, "it to try to enter again", || joins() >= 2).await;
    assert_eq!(probe.begun(), 0);
    stage.gates.cut(false);
    passes_until(&stage, "another attempt", || probe.begun() > 0).await;
    // Time passes so fast here that others may be lost in the same way before one begins.
    assert!(!probe.attempts().contains(&"attempt 1".to_owned()), "{:?}", probe.attempts());
}

/// Code that becomes ready at the moment at which its process wakes makes no further step.
#[tokio::test]
async fn code_that_may_not_run_is_not_polled() {
    let mut bench = Bench::new(1);
    let go = Arc::new(tokio::sync::Notify::new());
    let steps = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (ready, counted) = (go.clone(), steps.clone());
    let may_run = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let asked = may_run.clone();
    bench.asks(move || asked.load(std::sync::atomic::Ordering::SeqCst));
    bench.start(activity_fn(move |_, _| {
        let (ready, counted) = (ready.clone(), counted.clone());
        async move {
            loop {
                counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                ready.notified().await;
            }
        }
    }));
    tokio::task::yield_now().await;
    may_run.store(false, std::sync::atomic::Ordering::SeqCst);
    go.notify_one();
    let ended = bench.ended().await;
    assert_eq!(steps.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!((ended.ending, ended.rung), (Ending::Returned, None::<Rung>), "it has ended here");
}
