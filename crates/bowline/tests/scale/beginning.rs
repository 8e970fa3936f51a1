//! The beginning of a run and its first turn, in one transaction; and what is promised all the
//! same: a start is answered when it is durable, whatever its code does, and a start that is
//! refused leaves nothing of a first turn.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bowline_engine::{
    Builder, Engine, QueueOptions, StartOptions,
    clock::ManualClock,
    core::{Outcome, Payload, RunEnding, RunId},
    worker::registry::activity_fn,
};
use bowline_replay::{Context, Ended};
use bowline_sqlite::SqliteStore;
use tokio::sync::Semaphore;

use crate::{QUEUE, step};

struct World {
    store: Arc<SqliteStore>,
    _folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(folder.path().join("beginning.db")).expect("opens");
        Self { store: Arc::new(store), _folder: folder }
    }

    /// With an activity that is counted.
    fn builder(&self, steps: &Arc<AtomicUsize>) -> Builder {
        let steps = steps.clone();
        Engine::builder(self.store.clone()).queue(QUEUE, QueueOptions::default()).activity(
            "step",
            activity_fn(move |_, _| {
                steps.fetch_add(1, Ordering::SeqCst);
                async { Ok(None) }
            }),
        )
    }
}

fn options(id: &str) -> StartOptions {
    StartOptions::new("one", id, QUEUE, None)
}

async fn one(ctx: Context, _: Option<Payload>) -> Result<Option<Payload>, Ended> {
    match ctx.activity(step()).await {
        Outcome::Completed(_) => Ok(None),
        other => panic!("{other:?}"),
    }
}

/// Far from how long a run of these takes: one that has not ended by then never does.
const PATIENCE: Duration = Duration::from_secs(60);

async fn ends(engine: &Engine, run: RunId) {
    let outcome = tokio::time::timeout(PATIENCE, engine.outcome(run)).await;
    let (_, ending) = outcome.expect("it does not take for ever").expect("the run ends");
    assert_eq!(ending, RunEnding::Completed(None));
}

async fn close(engine: Engine) {
    engine.close(Duration::from_secs(10)).await.expect("closes");
}

/// Runs one after the other, of one step each: the writer is asked three times for each of them,
/// nobody asks for work that somebody has already, and two transactions carry it out.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_one_step_is_three_calls_and_two_transactions() {
    const RUNS: u64 = 200;
    let (world, steps) = (World::new(), Arc::default());
    let engine = world.builder(&steps).workflow("one", Arc::new(one)).start().await;
    let engine = engine.expect("starts");
    ends(&engine, engine.start(options("first")).await.expect("starts")).await;
    let before = world.store.stats();
    for number in 0..RUNS {
        let run = engine.start(options(&format!("one-{number}"))).await.expect("starts");
        ends(&engine, run).await;
    }
    let after = world.store.stats();
    let calls = after.calls - before.calls;
    let transactions = after.transactions - before.transactions;
    // An end that finds its thread busy for too long is written by itself, and a start that does:
    // on a machine that has much else to do, that may be most of them, and never all.
    assert!((3 * RUNS..4 * RUNS).contains(&calls), "{calls} for {RUNS} runs");
    assert!(transactions < 3 * RUNS, "{transactions} for {RUNS} runs");
    close(engine).await;
}

/// The code does not return from its first poll before the start is answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_turn_that_takes_its_time_does_not_hold_up_the_start() {
    let (world, steps) = (World::new(), Arc::default());
    let (go, gate) = std::sync::mpsc::sync_channel::<()>(1);
    let gate = Arc::new(std::sync::Mutex::new(gate));
    let slow = move |ctx: Context, input| {
        let gate = gate.clone();
        async move {
            let _ = gate.lock().expect("nobody panics").recv();
            one(ctx, input).await
        }
    };
    let engine = world.builder(&steps).workflow("one", Arc::new(slow)).start().await;
    let engine = engine.expect("starts");
    let run = engine.start(options("slow")).await.expect("the start is answered");
    assert_eq!(steps.load(Ordering::SeqCst), 0);
    go.send(()).expect("it waits");
    ends(&engine, run).await;
    close(engine).await;
}

/// The first turn of a second run is had, and forgotten: nothing of it happens.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_refused_leaves_nothing_of_its_first_turn() {
    let (world, steps) = (World::new(), Arc::<AtomicUsize>::default());
    let waits = |ctx: Context, _| async move {
        ctx.activity(step()).await;
        ctx.signals("end").recv().await;
        Ok(None)
    };
    let engine = world.builder(&steps).workflow("one", Arc::new(waits)).start().await;
    let engine = engine.expect("starts");
    let run = engine.start(options("same")).await.expect("starts");
    for _ in 0..20 {
        let refused = engine.start(options("same")).await.expect_err("its id is taken");
        assert_eq!(refused.code(), "id_taken");
    }
    let signal = bowline_engine::core::Signal { name: "end".into(), ..Default::default() };
    engine.signal(run, signal).await.expect("taken");
    ends(&engine, run).await;
    let again = engine.start(options("same")).await.expect("its id is free");
    engine.terminate(again, bowline_engine::core::Cause::requested("", "")).await.expect("ends");
    close(engine).await;
    assert!(steps.load(Ordering::SeqCst) <= 2, "of the runs that began");
}

/// Code that panics in its first turn, at first: the start is durable, and tried again.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_turn_that_panics_keeps_its_start() {
    let (world, steps) = (World::new(), Arc::default());
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let shaky = move |ctx: Context, input| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            assert!(number > 0, "the first try");
            one(ctx, input).await
        }
    };
    let engine = world.builder(&steps).workflow("one", Arc::new(shaky)).start().await;
    let engine = engine.expect("starts");
    let run = engine.start(options("shaky")).await.expect("the start is answered");
    ends(&engine, run).await;
    assert!(tries.load(Ordering::SeqCst) >= 2);
    close(engine).await;
}

/// Whoever asked for it went away before the answer: it begins all the same, and is worked on.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_whose_caller_has_gone_goes_on() {
    let world = World::new();
    let done = Arc::new(Semaphore::new(0));
    let told = done.clone();
    let steps = activity_fn(move |_, _| {
        told.add_permits(1);
        async { Ok(None) }
    });
    let engine = Engine::builder(world.store.clone())
        .queue(QUEUE, QueueOptions::default())
        .activity("step", steps)
        .workflow("one", Arc::new(one));
    let engine = engine.start().await.expect("starts");
    const RUNS: u32 = 20;
    for number in 0..RUNS {
        tokio::select! {
            biased;
            _ = engine.start(options(&format!("gone-{number}"))) => {}
            () = std::future::ready(()) => {}
        }
    }
    done.acquire_many(RUNS).await.expect("every step begins").forget();
    close(engine).await;
}

/// One of two workflow threads does not come back from a turn; runs that begin then find the other.
#[tokio::test(flavor = "multi_thread")]
async fn runs_that_begin_go_around_a_thread_that_is_busy() {
    let (world, steps) = (World::new(), Arc::default());
    let (say, mut entered) = tokio::sync::mpsc::channel(1);
    let (go, gate) = std::sync::mpsc::sync_channel::<()>(1);
    let gate = Arc::new(std::sync::Mutex::new(gate));
    let long = move |_: Context, _| {
        let (gate, say) = (gate.clone(), say.clone());
        async move {
            say.try_send(()).expect("it is the only one");
            let _ = gate.lock().expect("nobody panics").recv();
            Ok(None)
        }
    };
    let clock = Arc::new(ManualClock::default());
    let builder = world.builder(&steps).clock(clock.clone()).threads(2);
    let builder = builder.workflow("one", Arc::new(one)).workflow("long", Arc::new(long));
    let engine = builder.start().await.expect("starts");
    let long = StartOptions::new("long", "long", QUEUE, None);
    let long = engine.start(long).await.expect("starts");
    entered.recv().await.expect("its code runs");
    // Before that it is taken for a turn like any other.
    clock.advance(2 * bowline_engine::limits::BEHIND_MORE);
    for number in 0..40 {
        let run = engine.start(options(&format!("one-{number}"))).await.expect("starts");
        ends(&engine, run).await;
    }
    go.send(()).expect("it waits");
    ends(&engine, long).await;
    close(engine).await;
}
