//! A crowd of runs in real time, each of which is signalled, cancelled and terminated while its
//! activities end, fail and are tried again: whatever the threads make of it, a witness sees every
//! order kept.

use std::{sync::Arc, time::Duration};

use bowline_core::{ActivitySpec, Cause, Failure, RetryPolicy, RunId, Span};
use bowline_engine::{Engine, QueueOptions};
use bowline_replay::{Context, Either, either};

use crate::{
    support::{
        stage::{cancel, slots},
        stores::{self, Kept},
        witness::{Seen, Witness},
    },
    world::{Code, QUEUE, activity, options, signal, within},
};

const RUNS: usize = 40;
/// How often a run hears of something before it is content.
const STEPS: usize = 12;
/// Fewer than there is work for, so that much waits.
const SLOTS: usize = 6;

fn work() -> ActivitySpec {
    let initial = Span(Duration::from_millis(1));
    let policy = RetryPolicy { initial, attempts_max: 5, ..RetryPolicy::default() };
    ActivitySpec { retry: Some(policy), ..activity("work", "1") }
}

/// Takes what comes first, again and again. One of its calls is shielded, and goes on whatever
/// happens to the run.
async fn busy(ctx: Context) {
    let signals = ctx.signals("more");
    let kept = ctx.shield(ctx.activity(work()));
    for _ in 0..STEPS {
        let call = ctx.activity(work()).start();
        match either(call, signals.recv()).await {
            Either::Left(_) | Either::Right(_) => {}
        }
    }
    kept.await;
}

async fn started(kept: &Kept, seen: &Arc<Seen>) -> Engine {
    let options: QueueOptions = slots(SLOTS);
    Engine::builder(Arc::new(Witness { inner: (kept.open)(), seen: seen.clone() }))
        .identity("worker")
        .threads(2)
        .queue(QUEUE, options)
        .flow("busy", |ctx, _| async move {
            busy(ctx).await;
            Ok(None)
        })
        .act("work", |ctx, _| async move {
            for _ in 0..ctx.info().activity.0 % 7 {
                tokio::task::yield_now().await;
            }
            match (ctx.info().activity.0 + u64::from(ctx.info().attempt)).is_multiple_of(3) {
                true => Err(Failure::new("not yet")),
                false => Ok(None),
            }
        })
        .start()
        .await
        .expect("the engine starts")
}

/// One of those who want something of a run, all at once.
async fn wants(engine: Engine, number: usize) {
    let run: RunId =
        engine.start(options("busy", &format!("busy-{number}"))).await.expect("starts");
    for step in 0..STEPS / 2 {
        // It may have closed by then.
        let _ = engine.signal(run, signal("more")).await;
        for _ in 0..(number + step) % 5 {
            tokio::task::yield_now().await;
        }
    }
    match number % 4 {
        0 => drop(cancel(&engine, run).await),
        1 => {
            let why = Cause::requested("enough", "alice");
            engine.terminate(run, why).await.map(drop).expect("the termination is taken");
        }
        2 => {
            cancel(&engine, run).await;
            cancel(&engine, run).await;
        }
        _ => {}
    }
    within("a run to close", engine.outcome(run)).await.expect("it has an outcome");
}

async fn storm(kept: Option<Kept>) {
    let Some(kept) = kept else { return };
    let seen = Arc::new(Seen::default());
    let engine = started(&kept, &seen).await;
    let crowd: Vec<_> =
        (0..RUNS).map(|number| tokio::spawn(wants(engine.clone(), number))).collect();
    for one in crowd {
        one.await.expect("nobody panics");
    }
    assert_eq!(seen.broken(), None);
    let tally = seen.tally();
    assert!(tally.asked >= RUNS / 2 && tally.started > RUNS && tally.ends > 0, "{tally:?}");
    eprintln!("{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_order_is_kept_in_memory() {
    storm(stores::memory()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_order_is_kept_on_sqlite() {
    storm(stores::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_order_is_kept_on_postgres() {
    storm(stores::postgres()).await;
}
