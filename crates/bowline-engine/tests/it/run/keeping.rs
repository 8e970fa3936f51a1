//! How long things are kept: detached work, deletion, retention.

use std::{sync::Arc, time::Duration};

use bowline_core::{Cause, ChildSpec, Payload, RunEnding, Status};
use bowline_engine::Error;
use bowline_store::{Filter, Phase};
use tokio::sync::Notify;

use crate::world::{Code, World, activity, ending, signal, start, until, within};

crate::world::on_every_store! {
    detached_work_outlives_its_run,
    k17_a_deleted_run_is_gone,
    closed_runs_are_kept_for_as_long_as_was_said,
}

const HOUR: Duration = Duration::from_secs(3600);

/// A detached activity and a detached child outlive their run; nobody tells them to stop, and the
/// leftovers name the child as left.
async fn detached_work_outlives_its_run(world: World) {
    let (begun, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, finishes) = (begun.clone(), finish.clone());
    let engine = world
        .builder()
        .flow("parent", |ctx, _| async move {
            ctx.activity(activity("slow", "1")).detach();
            let kid = ChildSpec {
                name: "child".into(),
                workflow_id: "kid".into(),
                ..ChildSpec::default()
            };
            ctx.child(kid).detach();
            ctx.signals("end").recv().await;
            Ok(None)
        })
        .flow("child", |ctx, _| async move {
            ctx.signals("end").recv().await;
            Ok(Some(Payload::json("\"on my own\"")))
        })
        .act("slow", move |ctx, _| {
            let (begun, finish) = (begins.clone(), finishes.clone());
            async move {
                begun.notify_one();
                tokio::select! {
                    () = finish.notified() => Ok(None),
                    cause = ctx.cancelled() => panic!("nobody should tell it: {cause}"),
                }
            }
        })
        .start()
        .await
        .expect("starts");
    let parent = start(&engine, "parent", "p-1").await;
    within("the activity to begin", begun.notified()).await;
    until(&engine, parent, "ChildInitiated").await;
    engine.signal(parent, signal("end")).await.expect("taken");
    assert_eq!(ending(&engine, parent).await, RunEnding::Completed(None));
    let left = engine.leftovers(parent).await.expect("they are told");
    assert!(left.attempts.iter().any(|line| line.running && line.cause.is_none()), "{left:#?}");
    let kid = engine.current("kid").await.expect("it is there").run;
    assert_eq!(engine.head(kid).await.expect("").status, Status::Running);
    assert_eq!(left.remainder().left.iter().map(|line| line.run).collect::<Vec<_>>(), [kid]);
    assert!(engine.orphans().await.expect("").is_empty(), "let go of, not lost");
    finish.notify_one();
    engine.signal(kid, signal("end")).await.expect("taken");
    let own = RunEnding::Completed(Some(Payload::json("\"on my own\"")));
    assert_eq!(ending(&engine, kid).await, own);
    within("everything to end", async {
        while engine.leftovers(parent).await.expect("").phase() < Phase::Clean {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// K17: a deleted run is gone with everything that belongs to it; an open one is terminated first.
async fn k17_a_deleted_run_is_gone(world: World) {
    let engine = world
        .builder()
        .flow("w", |ctx, _| async move {
            ctx.signals("end").recv().await;
            Ok(None)
        })
        .receipts_kept(HOUR)
        .start()
        .await
        .expect("starts");
    let closed = start(&engine, "w", "closed").await;
    engine.signal(closed, signal("end")).await.expect("taken");
    ending(&engine, closed).await;
    let receipt = engine.delete(closed, Cause::requested("tidy", "alice")).await.expect("deleted");
    assert_eq!(receipt, None, "nothing had to be stopped");
    gone(&engine, closed).await;
    assert!(engine.current("closed").await.is_err(), "its id is free");
    let open = start(&engine, "w", "open").await;
    until(&engine, open, "TurnCompleted").await;
    let deleted = engine.delete(open, Cause::requested("tidy", "alice")).await;
    let receipt = deleted.expect("terminated first").expect("whoever asked has the receipt");
    assert!(engine.wait(receipt, Phase::Clean).await.expect("it is kept").clean());
    assert!(matches!(ending(&engine, open).await, RunEnding::Terminated(_)));
    assert!(engine.head(open).await.expect("its receipt is kept").deleted);
    world.advance(HOUR);
    gone(&engine, open).await;
    let missing = engine.delete(open, Cause::requested("again", "alice")).await;
    assert!(matches!(missing, Err(Error::NotFound("run"))));
}

/// Closed runs go after the retention, open ones stay however old they are.
async fn closed_runs_are_kept_for_as_long_as_was_said(world: World) {
    let engine = world
        .builder()
        .flow("w", |ctx, _| async move {
            ctx.signals("end").recv().await;
            Ok(None)
        })
        .retention(24 * HOUR)
        .start()
        .await
        .expect("starts");
    let (closed, open) = (start(&engine, "w", "closed").await, start(&engine, "w", "open").await);
    engine.signal(closed, signal("end")).await.expect("taken");
    ending(&engine, closed).await;
    until(&engine, open, "TurnCompleted").await;
    world.advance(23 * HOUR);
    let later = start(&engine, "w", "later").await;
    until(&engine, later, "TurnCompleted").await;
    assert!(engine.head(closed).await.is_ok(), "not yet");
    // It is looked at every hour, counted from when the last look was over.
    within("the run to expire", async {
        while engine.head(closed).await.is_ok() {
            world.advance(HOUR);
            tokio::task::yield_now().await;
        }
    })
    .await;
    gone(&engine, closed).await;
    assert!(engine.head(open).await.is_ok());
}

async fn gone(engine: &bowline_engine::Engine, run: bowline_core::RunId) {
    within("the run to be gone", async {
        while engine.head(run).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(matches!(engine.history(run).await, Err(Error::NotFound("run"))));
    let all = engine.find(Filter { limit: 100, ..Filter::default() }).await.expect("lists");
    assert!(all.runs.iter().all(|head| head.run != run));
}
