//! Workflow code that does not return: its thread is replaced, its run parked, and everybody else
//! goes on. These tests use the machine's clock, because the code is really stuck.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bowline_core::{RunEnding, RunId};
use bowline_engine::{Builder, Engine, clock::SystemClock};

use crate::world::{Code, World, ending, signal, start, until, within};

crate::world::on_every_store! {
    a_loop_that_wakes_itself_is_found_out,
    a_stuck_thread_is_replaced_and_its_other_runs_finish,
    a_stuck_thread_keeps_no_place_from_others,
    a_stuck_run_can_be_terminated,
    a_stuck_query_is_found_out,
}

/// Whoever gets stuck here is let out when the test ends.
struct Trap(Arc<AtomicBool>);

impl Trap {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn open(&self) -> impl Fn() + Clone + Send + Sync + 'static + use<> {
        let opened = self.0.clone();
        move || {
            while !opened.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_millis(1));
            }
        }
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn build(world: &World, trap: &Trap) -> Builder {
    let (stuck, queried) = (trap.open(), trap.open());
    world
        .builder()
        .clock(Arc::new(SystemClock::default()))
        .threads(1)
        // Longer than a healthy turn waits for a processor on a machine that has much else to do.
        .stuck_after(Duration::from_millis(600))
        .flow("stuck", move |ctx, _| {
            let stuck = stuck.clone();
            async move {
                ctx.signals("go").recv().await;
                stuck();
                Ok(None)
            }
        })
        .flow("healthy", move |ctx, _| {
            let queried = queried.clone();
            async move {
                ctx.expose("trap", move |_| {
                    queried();
                    Ok(None)
                });
                ctx.signals("go").recv().await;
                ctx.timer(Duration::from_millis(1)).await.expect("it rings");
                Ok(None)
            }
        })
}

async fn parked(engine: &Engine, run: RunId) -> String {
    within("the run to be parked", async {
        loop {
            let head = engine.head(run).await.expect("it is there");
            if let Some(parked) = head.parked {
                return parked.reason;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// The run that is stuck is parked with a hint at what to look for. Runs that sat on the same
/// thread, those that waited for it included, finish on another one.
async fn a_stuck_thread_is_replaced_and_its_other_runs_finish(world: World) {
    let trap = Trap::new();
    let engine = build(&world, &trap).start().await.expect("starts");
    let stuck = start(&engine, "stuck", "s-1").await;
    let beside = start(&engine, "healthy", "h-1").await;
    until(&engine, stuck, "TurnCompleted").await;
    until(&engine, beside, "TurnCompleted").await;
    engine.signal(stuck, signal("go")).await.expect("taken");
    engine.signal(beside, signal("go")).await.expect("taken");
    let waiting = start(&engine, "healthy", "h-2").await;
    engine.signal(waiting, signal("go")).await.expect("taken");
    let reason = parked(&engine, stuck).await;
    assert!(reason.contains("did not return"), "{reason}");
    for run in [beside, waiting] {
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    }
    let later = start(&engine, "healthy", "h-3").await;
    engine.signal(later, signal("go")).await.expect("taken");
    assert_eq!(ending(&engine, later).await, RunEnding::Completed(None));
}

/// A place in memory that a stuck thread had is free again: with a single place, others go on.
async fn a_stuck_thread_keeps_no_place_from_others(world: World) {
    let trap = Trap::new();
    let engine = build(&world, &trap).cached_runs(1).start().await.expect("starts");
    let stuck = start(&engine, "stuck", "s-1").await;
    engine.signal(stuck, signal("go")).await.expect("taken");
    parked(&engine, stuck).await;
    let later = start(&engine, "healthy", "h-1").await;
    engine.signal(later, signal("go")).await.expect("taken");
    assert_eq!(ending(&engine, later).await, RunEnding::Completed(None));
}

/// A stuck run can be terminated before anybody has noticed that it is stuck.
async fn a_stuck_run_can_be_terminated(world: World) {
    let trap = Trap::new();
    let patient = build(&world, &trap).stuck_after(Duration::from_secs(3_600));
    let engine = patient.start().await.expect("starts");
    let stuck = start(&engine, "stuck", "s-1").await;
    engine.signal(stuck, signal("go")).await.expect("taken");
    let cause = bowline_core::Cause::requested("enough", "alice");
    engine.terminate(stuck, cause).await.expect("taken");
    assert!(matches!(ending(&engine, stuck).await, RunEnding::Terminated(_)));
}

/// A query that does not return is found out too, and whoever asked is answered.
async fn a_stuck_query_is_found_out(world: World) {
    let trap = Trap::new();
    let engine = build(&world, &trap).start().await.expect("starts");
    let run = start(&engine, "healthy", "h-1").await;
    until(&engine, run, "TurnCompleted").await;
    let asked = within("an answer", engine.query(run, "trap", None)).await;
    assert_eq!(asked.expect_err("there is no answer").code(), "timed_out");
    let reason = parked(&engine, run).await;
    assert!(reason.contains("did not return"), "{reason}");
    let other = start(&engine, "healthy", "h-2").await;
    engine.signal(other, signal("go")).await.expect("taken");
    assert_eq!(ending(&engine, other).await, RunEnding::Completed(None));
}

/// A loop that wakes itself again and again is found out without any clock.
async fn a_loop_that_wakes_itself_is_found_out(world: World) {
    let engine = world
        .builder()
        .flow("spin", |_, _| async move {
            std::future::poll_fn(|cx| {
                cx.waker().wake_by_ref();
                std::task::Poll::<()>::Pending
            })
            .await;
            Ok(None)
        })
        .start()
        .await
        .expect("starts");
    let run = start(&engine, "spin", "s-1").await;
    let reason = parked(&engine, run).await;
    assert!(reason.contains("wakes itself"), "{reason}");
}
