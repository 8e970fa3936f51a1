//! The limits of an activity: each passes when it should, says which it was, and frees the code.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, Code as CauseCode, EventKind, Outcome, Payload, Place, RetryPolicy, RunEnding,
    RunId, Span, Timeout, Timeouts,
};
use bowline_engine::{Builder, Engine};
use bowline_store::{ActivityRow, Read};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::world::{Code, World, activity, ending, history, start, text, until, within};

crate::world::on_every_store! {
    an_activity_that_nobody_can_run_waits_until_its_limit,
    k5_a_result_after_a_limit_is_late_and_kept_on_the_row,
    all_attempts_together_have_one_limit,
    a_silent_attempt_times_out_and_hands_its_progress_on,
    an_attempt_that_speaks_does_not_time_out,
}

const SECOND: Duration = Duration::from_secs(1);

fn limited(name: &str, timeouts: Timeouts, retry: Option<RetryPolicy>) -> ActivitySpec {
    ActivitySpec { timeouts, retry, ..activity(name, "1") }
}

/// Calls one activity and tells how it ended.
fn caller(builder: Builder, spec: ActivitySpec) -> Builder {
    builder.flow("caller", move |ctx, _| {
        let spec = spec.clone();
        async move {
            let said = match ctx.activity(spec).await {
                Outcome::Completed(result) => format!("ok {}", text(&result)),
                Outcome::TimedOut(timeout) => format!("{timeout:?}"),
                other => format!("{other:?}"),
            };
            Ok(Some(Payload::json(said)))
        }
    })
}

async fn said(engine: &Engine, run: RunId) -> String {
    match ending(engine, run).await {
        RunEnding::Completed(said) => text(&said),
        other => panic!("{other:?}"),
    }
}

async fn rows(engine: &Engine, run: RunId) -> Vec<ActivityRow> {
    let read = Read { activities_max: 10, ..Read::inbox(run) };
    engine.read(read).await.expect("it reads").activities
}

/// An activity that nobody has the code for waits, visibly; its first limit ends it.
async fn an_activity_that_nobody_can_run_waits_until_its_limit(world: World) {
    let timeouts = Timeouts { schedule_to_start: Some(Span(60 * SECOND)), ..Timeouts::default() };
    let spec = limited("nowhere", timeouts, Some(RetryPolicy::default()));
    let engine = caller(world.builder(), spec)
        .act("somewhere", |_, _| async { Ok(None) })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    until(&engine, run, "ActivityScheduled").await;
    assert_eq!(engine.leftovers(run).await.expect("").queued, 1);
    let waiting = rows(&engine, run).await;
    assert!(matches!(waiting[0].live.place, Place::Queued { .. }));
    world.advance(60 * SECOND);
    assert_eq!(said(&engine, run).await, "ScheduleToStart");
    assert_eq!(engine.leftovers(run).await.expect("").queued, 0);
}

/// Code that is stopped by a limit learns that it was one; what it returns then is kept beside the
/// outcome, and the workflow never sees it (K5).
async fn k5_a_result_after_a_limit_is_late_and_kept_on_the_row(world: World) {
    let timeouts = Timeouts { start_to_close: Some(Span(10 * SECOND)), ..Timeouts::default() };
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let causes = Arc::new(Mutex::new(Vec::new()));
    let (begins, goes_on, seen) = (begun.clone(), go_on.clone(), causes.clone());
    let engine = caller(world.builder(), limited("slow", timeouts, None))
        .act("slow", move |ctx, _| {
            let (begun, go_on, seen) = (begins.clone(), goes_on.clone(), seen.clone());
            async move {
                begun.notify_one();
                let cause = ctx.cancelled().await;
                seen.lock().push(cause.code);
                go_on.notified().await;
                Ok(Some(Payload::json("\"after all\"")))
            }
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    within("the code to begin", begun.notified()).await;
    world.advance(10 * SECOND);
    assert_eq!(said(&engine, run).await, "StartToClose");
    assert_eq!(*causes.lock(), [CauseCode::AttemptTimedOut]);
    go_on.notify_one();
    let late = within("the late result", async {
        loop {
            let row = rows(&engine, run).await.remove(0);
            if let Some(late) = row.live.ended().and_then(|end| end.late.clone()) {
                return late;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(late, Outcome::Completed(Some(Payload::json("\"after all\""))));
    let events = history(&engine, run).await;
    assert!(events.iter().all(|event| event.kind.name() != "ActivityCompleted"));
}

/// All attempts together have one limit, pauses included.
async fn all_attempts_together_have_one_limit(world: World) {
    let timeouts = Timeouts { schedule_to_close: Some(Span(10 * SECOND)), ..Timeouts::default() };
    let retry = RetryPolicy { coefficient: 1.0, initial: Span(4 * SECOND), ..Default::default() };
    let tries = Arc::new(Mutex::new(Vec::new()));
    let tried = tries.clone();
    let engine = caller(world.builder(), limited("flaky", timeouts, Some(retry)))
        .act("flaky", move |ctx, _| {
            tried.lock().push(ctx.info().attempt);
            async { Err(bowline_core::Failure::new("no")) }
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    for attempt in 1..=2 {
        within("an attempt", async {
            while tries.lock().len() < attempt {
                tokio::task::yield_now().await;
            }
        })
        .await;
        within("its pause", async {
            let queued = |row: &ActivityRow| matches!(row.live.place, Place::Queued { .. });
            while !rows(&engine, run).await.first().is_some_and(queued) {
                tokio::task::yield_now().await;
            }
        })
        .await;
        world.advance(4 * SECOND);
    }
    let end = ending(&engine, run).await;
    let RunEnding::Completed(said) = end else { panic!("{end:?}") };
    assert!(text(&said).contains("no"), "no time for a fourth: {}", text(&said));
    assert_eq!(*tries.lock(), [1, 2, 3]);
}

/// Code that falls silent is given up after its heartbeat limit; the next attempt reads what the
/// silent one had said last.
async fn a_silent_attempt_times_out_and_hands_its_progress_on(world: World) {
    let timeouts = Timeouts { heartbeat: Some(Span(5 * SECOND)), ..Timeouts::default() };
    let silent = Arc::new(Notify::new());
    let falls_silent = silent.clone();
    let engine = caller(world.builder(), limited("walker", timeouts, Some(RetryPolicy::default())))
        .act("walker", move |ctx, _| {
            let silent = falls_silent.clone();
            async move {
                if let Some(before) = ctx.last_heartbeat() {
                    return Ok(Some(before.clone()));
                }
                ctx.heartbeat(Some(Payload::json("\"half way\"")));
                silent.notify_one();
                ctx.cancelled().await;
                Ok(None)
            }
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    within("the code to fall silent", silent.notified()).await;
    within("its progress to be stored", async {
        while rows(&engine, run).await[0].live.heartbeat.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.advance(5 * SECOND);
    within("the pause before the next attempt", async {
        while rows(&engine, run).await[0].live.last_failure.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.advance(SECOND);
    assert_eq!(said(&engine, run).await, "ok \"half way\"");
    let events = history(&engine, run).await;
    let started = events.iter().find_map(|event| match &event.kind {
        EventKind::ActivityStarted(started) => Some(started.clone()),
        _ => None,
    });
    let started = started.expect("it was started");
    assert_eq!(started.attempt, 2);
    let before = started.last_failure.expect("the first attempt failed");
    assert!(before.message.contains(&format!("{:?}", Timeout::Heartbeat)), "{before}");
}

/// Code that keeps speaking is not silent, however long it takes.
async fn an_attempt_that_speaks_does_not_time_out(world: World) {
    let timeouts = Timeouts { heartbeat: Some(Span(5 * SECOND)), ..Timeouts::default() };
    let (step, stepped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (steps, has_stepped) = (step.clone(), stepped.clone());
    let engine = caller(world.builder(), limited("talker", timeouts, None))
        .act("talker", move |ctx, _| {
            let (step, stepped) = (steps.clone(), has_stepped.clone());
            async move {
                for _ in 0..10 {
                    step.notified().await;
                    ctx.heartbeat(None);
                    stepped.notify_one();
                }
                Ok(Some(Payload::json("\"done\"")))
            }
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    for _ in 0..10 {
        step.notify_one();
        within("a step", stepped.notified()).await;
        world.advance(4 * SECOND);
    }
    assert_eq!(said(&engine, run).await, "ok \"done\"");
}
