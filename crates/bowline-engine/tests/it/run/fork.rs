//! A new run from the first events of another one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bowline_core::{Cause, EventId, EventKind, Payload, RunEnding, RunId, Status, TurnFault};
use bowline_engine::{Builder, Engine, Error};

use crate::world::{
    Code, World, activity, done, ending, history, idle, signal, start, text, until, within,
};

crate::world::on_every_store! {
    a_fork_replays_its_prefix_and_decides_the_rest_again,
    an_activity_that_was_open_at_the_cut_is_run_again,
    a_bad_cut_is_refused_and_changes_nothing,
    a_fork_draws_the_same_numbers,
}

/// Two activities, a signal, and the sum of all three.
fn summer(builder: Builder, calls: Arc<AtomicUsize>) -> Builder {
    builder
        .flow("summer", |ctx, _| async move {
            let first: u64 =
                text(&done(ctx.activity(activity("one", "1")).await)?).parse().expect("a number");
            let second: u64 =
                text(&done(ctx.activity(activity("one", "2")).await)?).parse().expect("a number");
            let third: u64 =
                text(&ctx.signals("add").recv().await.input).parse().expect("a number");
            Ok(Some(Payload::json((first + second + third).to_string())))
        })
        .act("one", move |_, input| {
            let calls = calls.clone();
            async move {
                calls.fetch_add(1, Ordering::Relaxed);
                Ok(input)
            }
        })
}

fn add(number: &str) -> bowline_core::Signal {
    bowline_core::Signal { input: Some(Payload::json(number)), ..signal("add") }
}

fn because() -> Cause {
    Cause::requested("a bad deploy", "alice")
}

/// The turns of a run, by the events that started them.
async fn turns(engine: &Engine, run: RunId) -> Vec<EventId> {
    let events = history(engine, run).await;
    let started = events.iter().filter(|event| event.kind.name() == "TurnStarted");
    started.map(|event| event.id).collect()
}

/// A fork replays the prefix, decides the rest again, brings later signals along, and terminates
/// the run that had the id.
async fn a_fork_replays_its_prefix_and_decides_the_rest_again(world: World) {
    let calls = Arc::new(AtomicUsize::new(0));
    let engine = summer(world.builder(), calls.clone()).start().await.expect("starts");
    let run = start(&engine, "summer", "s-1").await;
    until(&engine, run, "ActivityCompleted").await;
    idle(&engine, run).await;
    within("two activities", async {
        while calls.load(Ordering::Relaxed) < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    engine.signal(run, add("40")).await.expect("taken");
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("43"))));
    let second = turns(&engine, run).await[1];
    let new = engine.fork(run, second, because()).await.expect("it forks");
    assert_eq!(ending(&engine, new).await, RunEnding::Completed(Some(Payload::json("43"))));
    assert_eq!(calls.load(Ordering::Relaxed), 3, "the first activity was not run again");
    let (old, forked) = (history(&engine, run).await, history(&engine, new).await);
    let cut = usize::try_from(second.0).expect("small");
    assert_eq!(old[..cut], forked[..cut], "the prefix is the same");
    let EventKind::TurnFailed(failed) = &forked[cut].kind else { panic!("{:?}", forked[cut]) };
    assert_eq!((failed.fault, failed.forked), (TurnFault::Forked, Some((run, new))));
    assert_eq!(engine.current("s-1").await.expect("").run, new);
}

/// An activity that was open at the cut waits in its queue again; the old run is terminated, in
/// the same step, and its own attempt is told to stop.
async fn an_activity_that_was_open_at_the_cut_is_run_again(world: World) {
    let starts = Arc::new(AtomicUsize::new(0));
    let counted = starts.clone();
    let engine = world
        .builder()
        .flow("w", |ctx, _| async move {
            let slow = ctx.activity(activity("slow", "1")).start();
            ctx.timer(Duration::from_secs(1)).await.expect("it rings");
            ctx.signals("go").recv().await;
            done(slow.await)
        })
        .act("slow", move |ctx, input| {
            let number = counted.fetch_add(1, Ordering::Relaxed);
            async move {
                if number == 0 {
                    ctx.cancelled().await;
                }
                Ok(input)
            }
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "w", "w-1").await;
    until(&engine, run, "TimerStarted").await;
    world.advance(Duration::from_secs(1));
    until(&engine, run, "TimerFired").await;
    idle(&engine, run).await;
    within("the first attempt", async {
        while starts.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let second = turns(&engine, run).await[1];
    let new = engine.fork(run, second, because()).await.expect("it forks");
    assert!(matches!(ending(&engine, run).await, RunEnding::Terminated(_)));
    engine.signal(new, signal("go")).await.expect("taken");
    assert_eq!(ending(&engine, new).await, RunEnding::Completed(Some(Payload::json("1"))));
    assert_eq!(starts.load(Ordering::Relaxed), 2);
    assert!(engine.orphans().await.expect("").is_empty());
}

/// History can be cut at the start of a turn and nowhere else; a refusal changes nothing.
async fn a_bad_cut_is_refused_and_changes_nothing(world: World) {
    let engine = summer(world.builder(), Arc::default()).start().await.expect("starts");
    let run = start(&engine, "summer", "s-1").await;
    until(&engine, run, "ActivityCompleted").await;
    idle(&engine, run).await;
    let before = world.rows().await;
    for at in [1, 2, 4, 1_000] {
        let error = engine.fork(run, EventId(at), because()).await.expect_err("a bad cut");
        assert_eq!(error.code(), "cannot_fork", "{error}");
        assert!(error.to_string().contains(&at.to_string()), "{error}");
    }
    let missing = RunId { uuid: 99, ..run };
    let missing = engine.fork(missing, EventId(3), because()).await.expect_err("no such run");
    assert!(matches!(missing, Error::NotFound("run")), "{missing}");
    assert_eq!(world.rows().await, before);
    assert_eq!(engine.head(run).await.expect("").status, Status::Running);
}

/// A fork of a fork keeps the numbers that the code had drawn: they are seeded by the first run.
async fn a_fork_draws_the_same_numbers(world: World) {
    let engine = world
        .builder()
        .flow("draw", |ctx, _| async move {
            let first = ctx.random();
            ctx.signals("go").recv().await;
            Ok(Some(Payload::json(format!("[{first},{}]", ctx.random()))))
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "draw", "d-1").await;
    until(&engine, run, "TurnCompleted").await;
    engine.signal(run, signal("go")).await.expect("taken");
    let drawn = ending(&engine, run).await;
    let mut last = run;
    for _ in 0..2 {
        let at = turns(&engine, last).await[1];
        last = engine.fork(last, at, because()).await.expect("it forks");
        assert_eq!(ending(&engine, last).await, drawn);
    }
}
