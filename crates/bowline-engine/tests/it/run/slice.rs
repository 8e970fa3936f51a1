//! The whole corridor once: a run starts, calls an activity, sleeps, and ends; and a cancel
//! reaches the code that is running.

use std::{sync::Arc, time::Duration};

use bowline_core::{Code as CauseCode, Payload, RunEnding, Status};
use bowline_engine::CancelRequest;
use bowline_store::Phase;
use tokio::sync::Notify;

use crate::world::{Code, World, activity, done, ending, kinds, start, until};

crate::world::on_every_store! {
    a_run_calls_an_activity_sleeps_and_completes,
    a_cancel_reaches_the_running_code_and_ends_clean,
}

async fn a_run_calls_an_activity_sleeps_and_completes(world: World) {
    let engine = world
        .builder()
        .flow("hello", |ctx, _| async move {
            let greeting = done(ctx.activity(activity("greet", "\"you\"")).await)?;
            ctx.timer(Duration::from_secs(60)).await.expect("nobody cancels it");
            Ok(greeting)
        })
        .act("greet", |_, input| async move { Ok(input) })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "hello", "hello-1").await;
    until(&engine, run, "TimerStarted").await;
    world.advance(Duration::from_secs(60));
    let result = ending(&engine, run).await;
    assert_eq!(result, RunEnding::Completed(Some(Payload::json("\"you\""))));
    assert_eq!(
        kinds(&engine, run).await,
        [
            "WorkflowStarted",
            "TurnScheduled",
            "TurnStarted",
            "TurnCompleted",
            "ActivityScheduled",
            "ActivityStarted",
            "ActivityCompleted",
            "TurnScheduled",
            "TurnStarted",
            "TurnCompleted",
            "TimerStarted",
            "TimerFired",
            "TurnScheduled",
            "TurnStarted",
            "TurnCompleted",
            "WorkflowCompleted",
        ]
    );
}

/// The promise of the product: the running code is told, the run closes as cancelled, and the
/// receipt proves that nothing is left.
async fn a_cancel_reaches_the_running_code_and_ends_clean(world: World) {
    let running = Arc::new(Notify::new());
    let begun = running.clone();
    let engine = world
        .builder()
        .flow("wait", |ctx, _| async move { done(ctx.activity(activity("hang", "1")).await) })
        .act("hang", move |ctx, _| {
            let begun = begun.clone();
            async move {
                begun.notify_one();
                let cause = ctx.cancelled().await;
                assert_eq!(cause.root().code, CauseCode::Requested);
                assert_eq!(cause.root().requested_by.as_str(), "alice");
                Err(bowline_core::Failure::new("stopped"))
            }
        })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "wait", "wait-1").await;
    running.notified().await;
    let request = CancelRequest::new("changed my mind", "alice");
    let receipt = engine.cancel(run, request).await.expect("the cancel is taken");
    let left = engine.wait(receipt, Phase::Clean).await.expect("it ends clean");
    assert_eq!(left.runs[0].status, Status::Cancelled);
    let attempt = &left.attempts[0];
    assert!(attempt.delivered_at.is_some() && attempt.observed_at.is_some());
    assert!(attempt.stopped_at.is_some());
    assert!(matches!(ending(&engine, run).await, RunEnding::Cancelled(..)));
    let orphans = engine.orphans().await.expect("orphans are listed");
    assert!(orphans.runs.is_empty() && orphans.attempts.is_empty());
}
