//! Workers that are lost: their attempts are tried again, up to a bound, and late words of theirs
//! change nothing.

use std::{sync::Arc, time::Duration};

use bowline_core::{ActivitySpec, Outcome, Payload, RetryPolicy, RunEnding, limits};
use bowline_engine::Builder;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::world::{Code, World, activity, ending, kinds, start, text, within};

crate::world::on_every_store! {
    a_lost_attempt_is_tried_again_by_the_next_process,
    work_that_loses_every_worker_is_given_up,
    a_policy_counts_lost_attempts_too,
    a_fenced_process_changes_nothing,
}

/// Calls an activity that never ends by itself in its first `lost` attempts.
fn caller(builder: Builder, retry: Option<RetryPolicy>, lost: u32, begun: Arc<Notify>) -> Builder {
    builder
        .flow("caller", move |ctx, _| {
            let spec = ActivitySpec { retry: retry.clone(), ..activity("work", "1") };
            async move {
                let said = match ctx.activity(spec).await {
                    Outcome::Completed(result) => text(&result),
                    Outcome::Failed(failure) => failure.kind,
                    other => format!("{other:?}"),
                };
                Ok(Some(Payload::json(said)))
            }
        })
        .act("work", move |ctx, _| {
            let begun = begun.clone();
            async move {
                let attempt = ctx.info().attempt;
                if attempt > lost {
                    return Ok(Some(Payload::json(format!("attempt {attempt}"))));
                }
                begun.notify_one();
                std::future::pending().await
            }
        })
}

/// A killed process loses its attempts; the next one runs them again, without any retry policy.
async fn a_lost_attempt_is_tried_again_by_the_next_process(mut world: World) {
    let begun = Arc::new(Notify::new());
    let engine = caller(world.builder(), None, 1, begun.clone()).start().await.expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    within("the first attempt", begun.notified()).await;
    world.reopen();
    let engine = caller(world.builder(), None, 1, begun).start().await.expect("starts");
    let end = ending(&engine, run).await;
    assert_eq!(end, RunEnding::Completed(Some(Payload::json("attempt 2"))));
    assert!(engine.orphans().await.expect("").is_empty());
}

/// Work that takes its worker down every time is given up after ten attempts.
async fn work_that_loses_every_worker_is_given_up(mut world: World) {
    let begun = Arc::new(Notify::new());
    let mut engine = caller(world.builder(), None, 99, begun.clone()).start().await.expect("");
    let run = start(&engine, "caller", "c-1").await;
    for attempt in 1..=limits::LOST_ATTEMPTS_MAX {
        within(&format!("attempt {attempt}"), begun.notified()).await;
        world.reopen();
        engine = caller(world.builder(), None, 99, begun.clone()).start().await.expect("");
    }
    assert_eq!(
        ending(&engine, run).await,
        RunEnding::Completed(Some(Payload::json("worker_lost")))
    );
    assert_eq!(kinds(&engine, run).await.iter().filter(|k| **k == "ActivityFailed").count(), 1);
}

/// With a policy, a lost attempt counts as one of its own, and pauses as it says.
async fn a_policy_counts_lost_attempts_too(mut world: World) {
    let retry = Some(RetryPolicy { attempts_max: 2, ..RetryPolicy::default() });
    let begun = Arc::new(Notify::new());
    let build = |world: &World| caller(world.builder(), retry.clone(), 99, begun.clone());
    let engine = build(&world).start().await.expect("starts");
    let run = start(&engine, "caller", "c-1").await;
    within("the first attempt", begun.notified()).await;
    world.reopen();
    let engine = build(&world).start().await.expect("starts");
    within("its pause", async {
        while engine.leftovers(run).await.expect("").queued == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.advance(Duration::from_secs(1));
    within("the second attempt", begun.notified()).await;
    world.reopen();
    let engine = build(&world).start().await.expect("starts");
    assert_eq!(
        ending(&engine, run).await,
        RunEnding::Completed(Some(Payload::json("worker_lost")))
    );
}

/// A process that was taken for dead and lives on can settle nothing: its result changes neither
/// the row nor history.
async fn a_fenced_process_changes_nothing(mut world: World) {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let said = Arc::new(Mutex::new(Vec::new()));
    let build = |world: &World, name: &'static str| {
        let (begun, go_on, said) = (begun.clone(), go_on.clone(), said.clone());
        world
            .builder()
            .flow("caller", |ctx, _| async move {
                match ctx.activity(activity("work", "1")).await {
                    Outcome::Completed(result) => Ok(result),
                    other => panic!("{other:?}"),
                }
            })
            .act("work", move |_, _| {
                let (begun, go_on, said) = (begun.clone(), go_on.clone(), said.clone());
                async move {
                    begun.notify_one();
                    if name == "old" {
                        go_on.notified().await;
                    }
                    said.lock().push(name);
                    Ok(Some(Payload::json(name)))
                }
            })
    };
    let old = build(&world, "old").start().await.expect("starts");
    let run = start(&old, "caller", "c-1").await;
    within("the old process to begin", begun.notified()).await;
    world.reopen();
    let new = build(&world, "new").start().await.expect("starts");
    assert_eq!(ending(&new, run).await, RunEnding::Completed(Some(Payload::json("new"))));
    let before = world.rows().await;
    go_on.notify_one();
    within("the old process to finish", async {
        while said.lock().len() < 2 {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(world.rows().await, before);
}
