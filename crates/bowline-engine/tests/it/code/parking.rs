//! Parked runs, seen from outside: listed, kept out of everybody's way, and still in
//! the hands of whoever looks after them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bowline_core::Parked;
use bowline_core::{Cause, RunEnding, RunId, Status};
use bowline_engine::{Builder, Engine, Error, limits};
use bowline_store::Filter;

use crate::world::{Code, World, activity, done, ending, history, signal, start, until, within};

crate::world::on_every_store! {
    a_panicking_run_is_parked_and_taken_up_again,
    a_panic_anywhere_in_a_workflow_parks_its_run_alone,
    a_parked_run_can_be_terminated,
    retrying_what_is_not_parked_changes_nothing,
    a_refused_command_parks_the_run_with_a_reason,
}

/// Waits until a run is parked, and tells why. Tries are paced by the clock, which moves on.
async fn parked(world: &World, engine: &Engine, run: RunId) -> Parked {
    within("the run to be parked", async {
        loop {
            if let Some(parked) = engine.head(run).await.expect("it is there").parked {
                return parked;
            }
            world.advance(Duration::from_millis(100));
            tokio::task::yield_now().await;
        }
    })
    .await
}

async fn listed(engine: &Engine) -> Vec<RunId> {
    let filter = Filter { parked: Some(true), limit: 10, ..Filter::default() };
    engine.find(filter).await.expect("it lists").runs.iter().map(|head| head.run).collect()
}

/// Panics on its signal for as long as `broken` says, and completes then.
fn moody(builder: Builder, broken: Arc<AtomicBool>, tries: Arc<AtomicUsize>) -> Builder {
    builder
        .flow("moody", move |ctx, _| {
            let (broken, tries) = (broken.clone(), tries.clone());
            async move {
                ctx.signals("go").recv().await;
                tries.fetch_add(1, Ordering::SeqCst);
                assert!(!broken.load(Ordering::SeqCst), "what a mood");
                Ok(None)
            }
        })
        .flow("calm", |ctx, _| async move {
            ctx.signals("go").recv().await;
            Ok(None)
        })
}

/// A workflow that panics is tried three times and parked; everybody can see it, others go on, its
/// messages are kept, and `retry` takes it up again where it was.
async fn a_panicking_run_is_parked_and_taken_up_again(world: World) {
    let (broken, tries) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let builder = moody(world.builder(), broken.clone(), tries.clone());
    let engine = builder.threads(1).start().await.expect("starts");
    let run = start(&engine, "moody", "m-1").await;
    let calm = start(&engine, "calm", "c-1").await;
    until(&engine, run, "TurnCompleted").await;
    let before = history(&engine, run).await;
    engine.signal(run, signal("go")).await.expect("taken");
    let parked = parked(&world, &engine, run).await;
    assert_eq!(tries.load(Ordering::SeqCst), 3);
    assert_eq!(parked.failures, limits::TURN_FAILURES);
    assert!(parked.reason.contains("what a mood"), "{parked:?}");
    assert_eq!(listed(&engine).await, [run]);
    assert_eq!(history(&engine, run).await, before, "nothing was written");
    assert_eq!(engine.head(run).await.expect("").status, Status::Running);
    engine.signal(calm, signal("go")).await.expect("taken");
    assert_eq!(ending(&engine, calm).await, RunEnding::Completed(None));
    engine.signal(run, signal("kept")).await.expect("messages still come in");
    broken.store(false, Ordering::SeqCst);
    engine.retry(run).await.expect("it is tried again");
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    assert!(listed(&engine).await.is_empty());
}

/// A panic in a clean-up, or at the very first line, is no other panic.
async fn a_panic_anywhere_in_a_workflow_parks_its_run_alone(world: World) {
    let engine = world
        .builder()
        .flow("first", |_, _| async move { panic!("at once") })
        .flow("cleanup", |ctx, _| async move {
            let body = async { Ok(ctx.signals("never").recv().await) };
            let scope = ctx.scope(body).cleanup(async |_, _| panic!("in the clean-up"));
            scope.await.map(|_| None).map_err(|stopped| stopped.why)
        })
        .flow("calm", |_, _| async move { Ok(None) })
        .threads(1)
        .start()
        .await
        .expect("starts");
    let first = start(&engine, "first", "f-1").await;
    let reason = parked(&world, &engine, first).await.reason;
    assert!(reason.contains("at once"), "{reason}");
    let cleanup = start(&engine, "cleanup", "c-1").await;
    until(&engine, cleanup, "TurnCompleted").await;
    let request = bowline_engine::CancelRequest::new("stop", "alice");
    engine.cancel(cleanup, request).await.expect("taken");
    let reason = parked(&world, &engine, cleanup).await.reason;
    assert!(reason.contains("in the clean-up"), "{reason}");
    let calm = start(&engine, "calm", "calm-1").await;
    assert_eq!(ending(&engine, calm).await, RunEnding::Completed(None));
}

/// A parked run can be terminated: that needs no code.
async fn a_parked_run_can_be_terminated(world: World) {
    let engine = world
        .builder()
        .flow("first", |_, _| async move { panic!("at once") })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "first", "f-1").await;
    parked(&world, &engine, run).await;
    engine.terminate(run, Cause::requested("enough", "alice")).await.expect("taken");
    assert!(matches!(ending(&engine, run).await, RunEnding::Terminated(_)));
    let again = start(&engine, "first", "f-1").await;
    assert_ne!(again, run, "its id is free");
}

/// Retrying a run that is not parked, closed or missing is harmless.
async fn retrying_what_is_not_parked_changes_nothing(world: World) {
    let engine = moody(world.builder(), Arc::default(), Arc::default()).start().await.expect("");
    let run = start(&engine, "calm", "c-1").await;
    until(&engine, run, "TurnCompleted").await;
    engine.retry(run).await.expect("nothing to do");
    engine.signal(run, signal("go")).await.expect("taken");
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    engine.retry(run).await.expect("nothing to do");
    let missing = engine.retry(RunId { uuid: 99, ..run }).await.expect_err("no such run");
    assert!(matches!(missing, Error::NotFound("run")), "{missing}");
}

/// A command that the rules refuse parks the run at once, and says what was wrong with it.
async fn a_refused_command_parks_the_run_with_a_reason(world: World) {
    let century = Duration::from_secs(101 * 366 * 24 * 3600);
    let engine = world
        .builder()
        .flow("patience", move |ctx, _| async move {
            ctx.timer(century).await.expect("it never rings");
            Ok(None)
        })
        .flow("nameless", |ctx, _| async move { done(ctx.activity(activity("", "1")).await) })
        .flow("heavy", |ctx, _| async move {
            let large = format!("\"{}\"", "x".repeat(bowline_core::limits::PAYLOAD_MAX));
            done(ctx.activity(activity("heavy", &large)).await)
        })
        .start()
        .await
        .expect("starts");
    for (name, wanted) in [("patience", "hundred years"), ("nameless", "name"), ("heavy", "MiB")] {
        let run = start(&engine, name, name).await;
        let parked = parked(&world, &engine, run).await;
        assert!(parked.reason.contains(wanted), "{}", parked.reason);
        assert_eq!(history(&engine, run).await.len(), 1, "nothing was written");
    }
}
