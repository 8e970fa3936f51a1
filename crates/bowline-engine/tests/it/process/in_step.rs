//! Engines in step with a runtime whose time is paused: time jumps only where nothing goes on, the
//! same story gives the same histories, and a killed engine does nothing more.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bowline_core::{Event, RunEnding, Rung, Time};
use bowline_engine::{
    Builder, CancelRequest, Engine, QueueOptions,
    clock::{Clock, RuntimeClock},
    ids::CountedIds,
    worker::activity::{Assignment, Passing, Probe},
};
use bowline_replay::Ended;
use bowline_store::{Phase, memory::MemoryStore};
use parking_lot::Mutex;
use tokio::runtime::{Handle, Runtime};

use crate::world::{Code, QUEUE, activity, done, ending, history, start, until};

fn paused() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap()
}

/// An engine in step, on the runtime that this is called in.
fn builder(store: &MemoryStore, clock: &RuntimeClock, ids: &Arc<CountedIds>) -> Builder {
    Engine::builder(Arc::new(store.clone()))
        .clock(Arc::new(clock.clone()))
        .ids(ids.clone())
        .identity("worker")
        .queue(QUEUE, QueueOptions::default())
        // So that a month has few renewals.
        .lease(Duration::from_secs(3 * 24 * 3600))
        .in_step()
}

fn clock() -> RuntimeClock {
    RuntimeClock::new(Handle::current(), Time(0))
}

/// Three rounds of an activity that takes its time, a race that it loses, and a month of sleep.
fn rounds(builder: Builder) -> Builder {
    let flow = |ctx: bowline_replay::Context, _| async move {
        for _ in 0..3 {
            done(ctx.activity(activity("work", "1")).await)?;
            let lost = ctx.activity(activity("slow", "2")).start();
            ctx.timer(Duration::from_secs(30 * 24 * 3600)).await.map_err(Ended::Cancelled)?;
            drop(lost);
        }
        Ok(None)
    };
    builder
        .flow("rounds", flow)
        .act("work", |_, _| async {
            tokio::time::sleep(Duration::from_secs(90)).await; // tidy: allow(sleep) Its time jumps.
            Ok(None)
        })
        .act("slow", |ctx, _| async move {
            ctx.cancelled().await;
            Err(bowline_core::Failure::new("stopped"))
        })
}

fn story() -> (Time, Vec<Vec<Event>>) {
    paused().block_on(async {
        let (store, clock, ids) = (MemoryStore::new(), clock(), Arc::default());
        let engine = rounds(builder(&store, &clock, &ids)).threads(3).start().await.unwrap();
        let mut runs = Vec::new();
        for id in ["a", "b", "c", "d"] {
            runs.push(start(&engine, "rounds", id).await);
        }
        let mut histories = Vec::new();
        for run in runs {
            engine.outcome(run).await.unwrap();
            histories.push(history(&engine, run).await);
        }
        (clock.now(), histories)
    })
}

#[test]
fn the_same_story_gives_the_same_histories_and_months_pass_in_a_moment() {
    let (now, first) = story();
    assert_eq!(now, Time(0).after(Duration::from_secs(3 * (90 + 30 * 24 * 3600))));
    for _ in 0..5 {
        assert_eq!(story(), (now, first.clone()));
    }
}

/// Dies at one point, once.
struct Dies {
    at: Passing,
    engine: Mutex<Option<Engine>>,
}

impl Probe for Dies {
    fn passes(&self, _: &Assignment, at: Passing) -> bool {
        let dies = at == self.at;
        if let Some(engine) = self.engine.lock().take_if(|_| dies) {
            engine.kill();
            return false;
        }
        true
    }
}

/// Whatever a killed engine was about to do, the next one does: the code of the first attempt
/// does not go on past the point, and the attempt is known to be dead.
async fn dies_at(at: Passing) {
    let (store, clock, ids) = (MemoryStore::new(), clock(), Arc::default());
    let gone_on = Arc::new(AtomicUsize::new(0));
    let app = |builder: Builder| {
        let gone_on = gone_on.clone();
        builder
            .flow("one", |ctx, _| async move {
                let work = ctx.activity(activity("work", "1"));
                done(work.await)
            })
            .act("work", move |ctx, _| {
                let gone_on = gone_on.clone();
                async move {
                    ctx.cancelled().await;
                    gone_on.fetch_add(1, Ordering::Relaxed);
                    Err(bowline_core::Failure::new("stopped"))
                }
            })
    };
    let dies = Arc::new(Dies { at, engine: Mutex::new(None) });
    let first = builder(&store, &clock, &ids).probe(dies.clone());
    let first = app(first).start().await.unwrap();
    *dies.engine.lock() = Some(first.clone());
    let run = start(&first, "one", "a").await;
    until(&first, run, "ActivityScheduled").await;
    let request = CancelRequest::new("enough", "alice");
    let receipt = first.cancel(run, request).await.unwrap();
    // The waiter at the doors of the dead engine is told that it is dead.
    assert!(first.wait(receipt, Phase::Clean).await.is_err(), "{at:?}");
    assert!(dies.engine.lock().is_none(), "{at:?}");

    let second = app(builder(&store.reopen(), &clock, &ids)).start().await.unwrap();
    let left = second.wait(receipt, Phase::Clean).await.unwrap();
    // Its process is dead, and its code with it.
    assert_eq!(left.attempts[0].rung, Some(Rung::Died), "{at:?}: {left:?}");
    assert_eq!(gone_on.load(Ordering::Relaxed), 0, "{at:?}");
    assert!(matches!(ending(&second, run).await, RunEnding::Cancelled(..)), "{at:?}");
}

#[test]
fn an_engine_that_is_killed_at_any_point_of_a_cancel_leaves_it_to_the_next_one() {
    for at in
        [Passing::BeforeDelivered, Passing::Delivered, Passing::BeforeObserved, Passing::Observed]
    {
        paused().block_on(dies_at(at));
    }
}
