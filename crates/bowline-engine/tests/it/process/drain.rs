//! The end of a process: no more work is taken, what can finish does, and the rest goes back.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, Code as CauseCode, Outcome, Payload, Place, RetryPolicy, RunEnding, RunId,
};
use bowline_engine::{Builder, Engine, Error, worker::registry::activity_fn};
use bowline_store::{
    ActivityRow, Read,
    memory::{Method, When},
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{
    support::{
        flows::{any, retried},
        probe::Probe,
        stage::{self, settle_down},
    },
    world::{Code, World, activity, ending, signal, start, until, within},
};

crate::world::on_every_store! {
    r12_a_drain_gives_attempts_back_uncounted,
    a_drain_lets_finish_what_can,
    a_drain_ends_in_bounded_time,
    a_drain_lets_go_of_runs,
}

const SECOND: Duration = Duration::from_secs(1);

async fn row(engine: &Engine, run: RunId) -> ActivityRow {
    let read = Read { activities_max: 1, ..Read::inbox(run) };
    engine.read(read).await.expect("it reads").activities.remove(0)
}

/// Calls one activity, at most once by its policy.
fn caller(builder: Builder) -> Builder {
    builder.flow("caller", |ctx, _| async move {
        let retry = Some(RetryPolicy { attempts_max: 1, ..RetryPolicy::default() });
        match ctx.activity(ActivitySpec { retry, ..activity("work", "1") }).await {
            Outcome::Completed(result) => Ok(result),
            other => panic!("{other:?}"),
        }
    })
}

/// R12: an attempt that heeds the drain goes back to its queue, and that does not count against
/// its policy; another process runs it to its end.
async fn r12_a_drain_gives_attempts_back_uncounted(mut world: World) {
    let begun = Arc::new(Notify::new());
    let causes = Arc::new(Mutex::new(Vec::new()));
    let build = |world: &World| {
        let (begun, causes) = (begun.clone(), causes.clone());
        caller(world.builder()).act("work", move |ctx, _| {
            let (begun, causes) = (begun.clone(), causes.clone());
            async move {
                if ctx.info().attempt > 1 {
                    return Ok(Some(Payload::json("\"elsewhere\"")));
                }
                begun.notify_one();
                let cause = ctx.stopping().await;
                causes.lock().push(cause.code);
                Err(bowline_core::Failure::new("put down"))
            }
        })
    };
    let engine = build(&world).start().await.expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    within("the attempt to begin", begun.notified()).await;
    within("the drain", engine.drain(60 * SECOND)).await.expect("it drains");
    assert_eq!(*causes.lock(), [CauseCode::WorkerDrain]);
    let returned = row(&engine, run).await;
    assert!(matches!(returned.live.place, Place::Queued { .. }), "{returned:?}");
    assert_eq!((returned.live.attempt, returned.live.returned), (1, 1));
    let late = start(&engine, "caller", "c-2").await;
    assert!(!crate::world::kinds(&engine, late).await.contains(&"TurnStarted"), "no more work");
    engine.close(SECOND).await.expect("it closes");
    world.reopen();
    let engine = build(&world).start().await.expect("starts");
    let elsewhere = RunEnding::Completed(Some(Payload::json("\"elsewhere\"")));
    assert_eq!(ending(&engine, run).await, elsewhere);
    within("the run that came too late to begin", begun.notified()).await;
}

/// A claim was under way when the drain began. What the drain had given back was there by the time
/// that the claim came to the store, which handed it to the same process once more: another attempt
/// began in a process that was leaving. Now whatever runs is told when no claim is under way.
#[tokio::test]
async fn a_drain_gives_nothing_back_to_a_claim_of_its_own() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let begun = Arc::new(Notify::new());
        let begins = begun.clone();
        let work = activity_fn(move |ctx, _| {
            begins.notify_one();
            async move {
                ctx.stopping().await;
                Err(bowline_core::Failure::new("put down"))
            }
        });
        let failing = probe.answers(|_| Err(bowline_core::Failure::new("no")));
        let builder = caller(stage.builder()).activity("work", work).activity("later", failing);
        let builder = builder.flow("tries", |ctx, _| async move {
            ctx.activity(ActivitySpec { name: "later".into(), ..retried(60, 0) }).await;
            Ok(None)
        });
        let engine = builder.start().await.expect("starts");
        let run = start(&engine, "caller", "c-1").await;
        within("the attempt to begin", begun.notified()).await;
        let other = start(&engine, "tries", "t-1").await;
        probe.has_begun(1).await;
        probe.finish(1);
        until_queued(&engine, other).await;
        let claim = stage.gates.hold(Method::ClaimActivities, When::Before, any);
        // Another attempt is due, and so activities are looked for.
        stage.advance(60);
        claim.reached().await;
        let draining = {
            let engine = engine.clone();
            tokio::spawn(async move { engine.drain(60 * SECOND).await })
        };
        settle_down(&engine, run).await;
        claim.release();
        probe.finish(1);
        within("the drain", draining).await.expect("it ran").expect("it drains");
        let returned = row(&engine, run).await;
        assert!(matches!(returned.live.place, Place::Queued { .. }), "{returned:?}");
        assert_eq!((returned.live.attempt, returned.live.returned), (1, 1));
    })
    .await;
}

/// Waits until the only activity of a run waits for its next attempt.
async fn until_queued(engine: &Engine, run: RunId) {
    within("an attempt to fail", async {
        while !matches!(row(engine, run).await.live.place, Place::Queued { .. }) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// What can finish in time does, and its result counts.
async fn a_drain_lets_finish_what_can(mut world: World) {
    let (begun, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let build = |world: &World| {
        let (begun, finish) = (begun.clone(), finish.clone());
        caller(world.builder()).act("work", move |_, _| {
            let (begun, finish) = (begun.clone(), finish.clone());
            async move {
                begun.notify_one();
                finish.notified().await;
                Ok(Some(Payload::json("\"finished\"")))
            }
        })
    };
    let engine = build(&world).start().await.expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    within("the attempt to begin", begun.notified()).await;
    let draining = {
        let engine = engine.clone();
        tokio::spawn(async move { engine.close(60 * SECOND).await })
    };
    tokio::task::yield_now().await;
    finish.notify_one();
    within("the drain", draining).await.expect("it ran").expect("it drains");
    let refused = engine.signal(run, signal("s")).await;
    assert!(refused.is_err(), "a closed engine takes nothing");
    world.reopen();
    let engine = build(&world).start().await.expect("starts");
    let finished = RunEnding::Completed(Some(Payload::json("\"finished\"")));
    assert_eq!(ending(&engine, run).await, finished);
}

/// Code that ignores everything is dropped at the deadline, and its activity is tried again
/// elsewhere: a drain ends in bounded time.
async fn a_drain_ends_in_bounded_time(mut world: World) {
    let begun = Arc::new(Notify::new());
    let build = |world: &World| {
        let begun = begun.clone();
        // Time outruns the code here, so its attempt may be lost instead of given back.
        let patient = world.builder().flow("caller", |ctx, _| async move {
            match ctx.activity(activity("work", "1")).await {
                Outcome::Completed(result) => Ok(result),
                other => panic!("{other:?}"),
            }
        });
        patient.act("work", move |ctx, _| {
            let begun = begun.clone();
            async move {
                if ctx.info().attempt > 1 {
                    return Ok(Some(Payload::json("\"again\"")));
                }
                begun.notify_one();
                std::future::pending().await
            }
        })
    };
    let engine = build(&world).start().await.expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    within("the attempt to begin", begun.notified()).await;
    let draining = {
        let engine = engine.clone();
        tokio::spawn(async move { engine.close(30 * SECOND).await })
    };
    // Beyond this the clock stands still: a drain that needs more does not end at all.
    let last = engine.now().after(100 * SECOND);
    within("the drain, as time passes", async {
        while !draining.is_finished() {
            tokio::task::yield_now().await;
            if engine.now() < last {
                world.advance(Duration::from_millis(100));
            }
        }
    })
    .await;
    draining.await.expect("it ran").expect("it drains");
    world.reopen();
    let engine = build(&world).start().await.expect("starts");
    let again = RunEnding::Completed(Some(Payload::json("\"again\"")));
    assert_eq!(ending(&engine, run).await, again);
}

/// Runs that wait for something are let go of by a drain and taken up by the next process, which
/// finds them as they were.
async fn a_drain_lets_go_of_runs(mut world: World) {
    let build = |world: &World| {
        world.builder().flow("waiter", |ctx, _| async move {
            let said = ctx.signals("go").recv().await;
            Ok(said.input)
        })
    };
    let engine = build(&world).start().await.expect("starts");
    let mut runs = Vec::new();
    for number in 0..20 {
        let run = start(&engine, "waiter", &format!("w-{number}")).await;
        until(&engine, run, "TurnCompleted").await;
        runs.push(run);
    }
    within("the close", engine.close(SECOND)).await.expect("it closes");
    let error = engine.start(crate::world::options("waiter", "late")).await;
    assert!(matches!(error, Err(Error::ShuttingDown | Error::Store(_))), "{error:?}");
    world.reopen();
    let engine = build(&world).start().await.expect("starts");
    for (number, run) in runs.into_iter().enumerate() {
        assert_eq!(engine.head(run).await.expect("").holder, None, "nobody holds it");
        let input = Some(Payload::json(number.to_string()));
        let go = bowline_core::Signal { input: input.clone(), ..signal("go") };
        engine.signal(run, go).await.expect("taken");
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(input));
    }
}
