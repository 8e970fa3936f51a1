//! Runs whose code cannot go on are parked: visible, untouched, and tried again when told to.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bowline_core::Parked;
use bowline_core::{Failure, Payload, RunEnding, RunId};
use bowline_engine::{Engine, clock::SystemClock};
use bowline_store::Filter;

use crate::world::{Code, World, activity, done, ending, history, start, until, within};

crate::world::on_every_store! {
    a_thread_that_is_stuck_is_replaced_and_its_other_runs_finish,
    a_run_that_keeps_panicking_is_parked_and_can_be_tried_again,
    a_run_whose_code_drifted_is_parked_and_resumes_with_the_right_code,
    a_panic_in_an_activity_is_its_failure_and_nothing_more,
    a_panic_in_a_query_leaves_the_run_alone,
}

/// Waits until a run is parked, while the time passes.
async fn parked(world: &World, engine: &Engine, run: RunId) -> Parked {
    let wait = async {
        loop {
            let head = engine.head(run).await.expect("the run is there");
            if let Some(parked) = head.parked {
                return parked;
            }
            world.advance(Duration::from_millis(100));
            tokio::task::yield_now().await;
        }
    };
    within("the run to be parked", wait).await
}

/// A workflow that panics is tried a few times and then parked. Its history is as it was, others
/// go on, and when somebody says so it is tried again.
async fn a_run_that_keeps_panicking_is_parked_and_can_be_tried_again(world: World) {
    let broken = Arc::new(AtomicBool::new(true));
    let flag = broken.clone();
    let engine = world
        .builder()
        .flow("fragile", move |_, _| {
            let broken = flag.load(Ordering::SeqCst);
            async move {
                assert!(!broken, "the wheel came off");
                Ok(Some(Payload::json("1")))
            }
        })
        .flow("sound", |_, _| async { Ok(None) })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "fragile", "fragile").await;
    let parked = parked(&world, &engine, run).await;
    assert!(parked.reason.contains("the wheel came off"), "{}", parked.reason);
    assert!(parked.failures >= 3);
    assert_eq!(history(&engine, run).await.len(), 1, "nothing was written");
    let other = start(&engine, "sound", "sound").await;
    assert_eq!(ending(&engine, other).await, RunEnding::Completed(None));
    let filter = Filter { parked: Some(true), limit: 10, ..Filter::default() };
    let listed = engine.find(filter).await.expect("they are listed");
    assert_eq!(listed.runs.iter().map(|head| head.run).collect::<Vec<_>>(), [run]);
    broken.store(false, Ordering::SeqCst);
    engine.retry(run).await.expect("it is tried again");
    let result = within("the run to end", ending(&engine, run)).await;
    assert_eq!(result, RunEnding::Completed(Some(Payload::json("1"))));
}

/// Code that does not match history is parked at once, with both sides in the reason; nothing is
/// written. With the right code again, the run goes on where it was.
async fn a_run_whose_code_drifted_is_parked_and_resumes_with_the_right_code(mut world: World) {
    let first = world
        .builder()
        .flow("order", |ctx, _| async move {
            done(ctx.activity(activity("charge", "1")).await)?;
            ctx.signals("go").recv().await;
            Ok(None)
        })
        .act("charge", |_, _| async { Ok(None) })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&first, "order", "order").await;
    until(&first, run, "ActivityCompleted").await;
    let before = history(&first, run).await.len();
    world.reopen();
    let drifted = world
        .builder()
        .flow("order", |ctx, _| async move {
            done(ctx.activity(activity("refund", "1")).await)?;
            Ok(None)
        })
        .act("refund", |_, _| async { Ok(None) })
        .start()
        .await
        .expect("the engine starts");
    drifted.signal(run, crate::world::signal("go")).await.expect("the signal is taken");
    let parked = parked(&world, &drifted, run).await;
    assert!(parked.reason.contains("charge"), "{}", parked.reason);
    assert!(parked.reason.contains("refund"), "{}", parked.reason);
    assert_eq!(history(&drifted, run).await.len(), before, "nothing was written");
    world.reopen();
    let right = world
        .builder()
        .flow("order", |ctx, _| async move {
            done(ctx.activity(activity("charge", "1")).await)?;
            ctx.signals("go").recv().await;
            Ok(None)
        })
        .act("charge", |_, _| async { Ok(None) })
        .start()
        .await
        .expect("the engine starts");
    right.retry(run).await.expect("it is tried again");
    let result = within("the run to end", ending(&right, run)).await;
    assert_eq!(result, RunEnding::Completed(None));
}

/// A workflow thread that is stuck in user code is given up: its run is parked, and the other runs
/// of that thread are replayed elsewhere and finish.
async fn a_thread_that_is_stuck_is_replaced_and_its_other_runs_finish(world: World) {
    let free = Arc::new(AtomicBool::new(false));
    let loose = free.clone();
    let engine = world
        .builder()
        .clock(Arc::new(SystemClock::default()))
        .threads(1)
        .stuck_after(Duration::from_millis(600))
        .flow("wait", |ctx, _| async move {
            ctx.signals("go").recv().await;
            Ok(None)
        })
        .flow("stuck", move |_, _| {
            let free = loose.clone();
            async move {
                while !free.load(Ordering::SeqCst) {
                    std::thread::park_timeout(Duration::from_millis(1));
                }
                Ok(None)
            }
        })
        .start()
        .await
        .expect("the engine starts");
    let waiting = start(&engine, "wait", "wait").await;
    until(&engine, waiting, "TurnCompleted").await;
    let stuck = start(&engine, "stuck", "stuck").await;
    let parked = parked(&world, &engine, stuck).await;
    assert!(parked.reason.contains("did not return"), "{}", parked.reason);
    engine.signal(waiting, crate::world::signal("go")).await.expect("the signal is taken");
    let result = within("the other run to end", ending(&engine, waiting)).await;
    assert_eq!(result, RunEnding::Completed(None));
    assert_eq!(history(&engine, stuck).await.len(), 1, "the stuck turn wrote nothing");
    free.store(true, Ordering::SeqCst);
}

/// A panic in an activity is a failure of that activity, with its message and its place.
async fn a_panic_in_an_activity_is_its_failure_and_nothing_more(world: World) {
    let engine = world
        .builder()
        .flow("call", |ctx, _| async move { done(ctx.activity(activity("burst", "1")).await) })
        .act("burst", |_, _| async { panic!("the pipe burst") })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "call", "call").await;
    let RunEnding::Failed(failure, _) = within("the run to end", ending(&engine, run)).await else {
        panic!("the run did not fail");
    };
    assert!(failure.message.contains("the pipe burst"), "{failure}");
    assert_eq!(failure.kind, "panic");
}

/// A query whose code panics is answered with the panic; the run does not notice.
async fn a_panic_in_a_query_leaves_the_run_alone(world: World) {
    let engine = world
        .builder()
        .flow("asked", |ctx, _| async move {
            ctx.expose("bad", |_| -> Result<Option<Payload>, Failure> { panic!("no idea") });
            ctx.signals("go").recv().await;
            Ok(None)
        })
        .start()
        .await
        .expect("the engine starts");
    let run = start(&engine, "asked", "asked").await;
    until(&engine, run, "TurnCompleted").await;
    let answer = engine.query(run, "bad", None).await.expect_err("there is no answer");
    assert!(answer.to_string().contains("no idea"), "{answer}");
    engine.signal(run, crate::world::signal("go")).await.expect("the signal is taken");
    let result = within("the run to end", ending(&engine, run)).await;
    assert_eq!(result, RunEnding::Completed(None));
}
