//! Builds come and go: a run that one process cannot go on with waits for one that can, and takes
//! no harm meanwhile.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bowline_core::{RunEnding, RunId, Status};
use bowline_engine::{
    Builder, CancelRequest, Engine, QueueOptions, clock::ManualClock, ids::CountedIds,
};
use bowline_store::{Filter, Store};

use crate::{
    support::stores,
    world::{Code, QUEUE, World, activity, done, ending, history, signal, start, until, within},
};

crate::world::on_every_store! {
    a_rollback_heals_every_run_by_itself,
    each_new_process_tries_once_and_pauses_grow,
    a_build_with_a_name_is_tried_at_once,
    what_takes_threads_along_is_not_tried_by_the_same_code,
    all_parked_runs_are_retried_at_once,
    mended_code_need_not_be_told_anything,
}

/// How often code was asked to go on.
type Tries = Arc<AtomicUsize>;

/// Charges, waits for a signal, and ends.
fn right(builder: Builder) -> Builder {
    builder
        .flow("order", |ctx, _| async move {
            done(ctx.activity(activity("charge", "1")).await)?;
            ctx.signals("go").recv().await;
            Ok(None)
        })
        .act("charge", |_, _| async { Ok(None) })
}

/// The same, as a build that does something else at that place.
fn wrong(builder: Builder, tries: Tries) -> Builder {
    builder.flow("order", move |ctx, _| {
        tries.fetch_add(1, Ordering::SeqCst);
        async move {
            done(ctx.activity(activity("refund", "1")).await)?;
            Ok(None)
        }
    })
}

/// Runs of the right build that wait for their signal.
async fn waiting(engine: &Engine, count: usize) -> Vec<RunId> {
    let mut runs = Vec::new();
    for n in 0..count {
        let run = start(engine, "order", &format!("order-{n}")).await;
        until(engine, run, "ActivityCompleted").await;
        runs.push(run);
    }
    runs
}

async fn parked(engine: &Engine, runs: &[RunId]) {
    within("all runs to be parked", async {
        let filter = || Filter { parked: Some(true), limit: 100, ..Filter::default() };
        while engine.find(filter()).await.expect("it lists").runs.len() < runs.len() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The wrong build, up for long enough to park all of these.
async fn fails(world: &World, runs: &[RunId], builder: Builder) -> usize {
    let tries = Tries::default();
    let engine = wrong(builder, tries.clone()).start().await.expect("it starts");
    for run in runs {
        // One that is parked already, and is not tried, has it in its inbox.
        engine.signal(*run, signal("go")).await.expect("taken");
    }
    parked(&engine, runs).await;
    world.advance(Duration::ZERO);
    tries.load(Ordering::SeqCst)
}

/// After a bad deployment each of its parked runs had to be retried by hand. The process that
/// brings the right code back goes on with all of them, and nothing is lost.
async fn a_rollback_heals_every_run_by_itself(mut world: World) {
    let first = right(world.builder()).start().await.expect("it starts");
    let runs = waiting(&first, 5).await;
    let before = history(&first, runs[0]).await.len();
    world.reopen();
    assert_eq!(fails(&world, &runs, world.builder()).await, 5);
    world.reopen();
    let back = right(world.builder()).start().await.expect("it starts");
    for run in &runs {
        assert_eq!(ending(&back, *run).await, RunEnding::Completed(None));
        assert_eq!(back.head(*run).await.expect("it is there").parked, None);
    }
    assert!(history(&back, runs[0]).await.len() > before);
}

/// A run stayed parked when the code that fits came back, until something happened to it: a second
/// cancel had brought it to the wrong build, and was no news to the right one.
async fn mended_code_need_not_be_told_anything(mut world: World) {
    let shielded = |builder: Builder| {
        builder.flow("order", |ctx, _| async move {
            let go = ctx.clone();
            ctx.shield(async move { go.signals("go").recv().await }).await;
            Ok(None)
        })
    };
    let ask = || CancelRequest::new("enough", "alice");
    let first = shielded(world.builder()).start().await.expect("it starts");
    let run = start(&first, "order", "order-1").await;
    until(&first, run, "TurnCompleted").await;
    first.cancel(run, ask()).await.expect("taken");
    until(&first, run, "WorkflowCancelRequested").await;
    world.reopen();
    let second = wrong(world.builder(), Tries::default()).start().await.expect("it starts");
    second.cancel(run, ask()).await.expect("taken");
    parked(&second, &[run]).await;
    world.reopen();
    let back = shielded(world.builder()).start().await.expect("it starts");
    within("the run to go on", async {
        while back.head(run).await.expect("it is there").is_parked() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    back.signal(run, signal("go")).await.expect("taken");
    assert!(matches!(ending(&back, run).await, RunEnding::Cancelled(..)));
}

/// A process that comes up again and again with the same bad code does not try without end, and
/// what is known of the run is kept.
async fn each_new_process_tries_once_and_pauses_grow(mut world: World) {
    let first = right(world.builder()).start().await.expect("it starts");
    let runs = waiting(&first, 1).await;
    world.reopen();
    assert_eq!(fails(&world, &runs, world.builder()).await, 1);
    let mut since = None;
    for tries in 2..5 {
        world.reopen();
        let count = Tries::default();
        let engine = wrong(world.builder(), count.clone()).start().await.expect("it starts");
        let tried = async {
            loop {
                let head = engine.head(runs[0]).await.expect("it is there");
                let own = head.parked.expect("it is parked");
                if own.tries == tries {
                    return own;
                }
                world.advance(Duration::from_millis(100));
                tokio::task::yield_now().await;
            }
        };
        let own = within("the next try", tried).await;
        assert_eq!(count.load(Ordering::SeqCst), 1, "once by each process");
        assert_eq!(*since.get_or_insert(own.since), own.since);
        assert!(own.reason.contains("charge") && own.reason.contains("refund"), "{}", own.reason);
    }
}

/// Where builds have names, it is known who has other code: the same build waits, another does not.
async fn a_build_with_a_name_is_tried_at_once(mut world: World) {
    let first = right(world.builder().build("a")).start().await.expect("it starts");
    let runs = waiting(&first, 1).await;
    for _ in 0..3 {
        world.reopen();
        fails(&world, &runs, world.builder().build("b")).await;
        // So that the next one of this build has to wait.
        world.advance(Duration::from_secs(60));
    }
    world.reopen();
    let back = right(world.builder().build("a")).start().await.expect("it starts");
    within("its end", async {
        // Whoever had it last may have died while it tried: it is looked at again, by the clock.
        while back.head(runs[0]).await.expect("it is there").status.is_open() {
            world.advance(Duration::from_millis(100));
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(ending(&back, runs[0]).await, RunEnding::Completed(None));
}

/// Code that does not return costs a thread each time: nobody tries it who may have the same.
async fn what_takes_threads_along_is_not_tried_by_the_same_code(mut world: World) {
    let stuck = |builder: Builder, tries: Tries| {
        builder.flow("stuck", move |ctx, _| {
            let tries = tries.clone();
            async move {
                ctx.signals("go").recv().await;
                tries.fetch_add(1, Ordering::SeqCst);
                std::thread::park();
                Ok(None)
            }
        })
    };
    let clock = || Arc::new(bowline_engine::clock::SystemClock::default());
    let builder = world.builder().clock(clock()).stuck_after(Duration::from_millis(600));
    let first = stuck(builder, Tries::default()).start().await.expect("it starts");
    let run = start(&first, "stuck", "s-1").await;
    first.signal(run, signal("go")).await.expect("taken");
    parked(&first, &[run]).await;
    world.reopen();
    let tries = Tries::default();
    let again = stuck(world.builder().clock(clock()), tries.clone()).start().await.expect("up");
    let calm = start(&again, "stuck", "s-2").await;
    until(&again, calm, "TurnCompleted").await;
    let own = again.head(run).await.expect("it is there").parked.expect("it is parked");
    assert_eq!((own.harms, own.tries, tries.load(Ordering::SeqCst)), (true, 1, 0));
    again.retry(run).await.expect("somebody insists");
    within("the code to be called", async {
        while tries.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Whoever has mended what is outside of the code says so once, for all or for some.
async fn all_parked_runs_are_retried_at_once(world: World) {
    let broken = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let code = |builder: Builder, name: &str| {
        let broken = broken.clone();
        builder.flow(name, move |_, _| {
            let broken = broken.clone();
            async move {
                assert!(!broken.load(Ordering::SeqCst), "not yet");
                Ok(None)
            }
        })
    };
    let engine = code(code(world.builder(), "a"), "b").start().await.expect("it starts");
    let mut runs = Vec::new();
    for n in 0..3 {
        for name in ["a", "b"] {
            runs.push((name, start(&engine, name, &format!("{name}-{n}")).await));
        }
    }
    within("all runs to be parked", async {
        let filter = || Filter { parked: Some(true), limit: 100, ..Filter::default() };
        while engine.find(filter()).await.expect("it lists").runs.len() < runs.len() {
            world.advance(Duration::from_millis(100));
            tokio::task::yield_now().await;
        }
    })
    .await;
    broken.store(false, Ordering::SeqCst);
    let some = Filter { name: Some("a".into()), ..Filter::default() };
    assert_eq!(engine.retry_all(some).await.expect("they are let go"), 3);
    for (_, run) in runs.iter().filter(|(name, _)| *name == "a") {
        assert_eq!(ending(&engine, *run).await, RunEnding::Completed(None));
    }
    let (_, other) = runs[1];
    assert!(engine.head(other).await.expect("it is there").parked.is_some());
    assert_eq!(engine.retry_all(Filter::default()).await.expect("they are let go"), 3);
    assert_eq!(ending(&engine, other).await, RunEnding::Completed(None));
}

/// A process of its own on a store that others have open too.
fn member(store: Arc<dyn Store>, clock: &Arc<ManualClock>, ids: &Arc<CountedIds>) -> Builder {
    Engine::builder(store)
        .clock(clock.clone())
        .ids(ids.clone())
        .threads(1)
        .stuck_after(Duration::MAX)
        .queue(QUEUE, QueueOptions::default())
}

/// Two builds work on one store. The new one meets runs that only the old one can go on with, again
/// and again, and nobody who waits for them hears that anything is the matter.
#[tokio::test]
async fn mixed_builds_do_not_park_each_others_runs() {
    let clock = Arc::new(ManualClock::default());
    for (name, open) in stores::shared(&clock) {
        eprintln!("on the store {name}");
        let ids = Arc::new(CountedIds::default());
        let tries = Tries::default();
        let old = right(member(open(), &clock, &ids)).cached_runs(1);
        let old = old.start().await.expect("it starts");
        let runs = waiting(&old, 12).await;
        let new = wrong(member(open(), &clock, &ids), tries.clone());
        let new = new.start().await.expect("it starts");
        let mut waits = Vec::new();
        for run in runs.clone() {
            let new = new.clone();
            waits.push(tokio::spawn(async move { new.result(run).await }));
        }
        // The new one hears of them first, and takes what nobody holds.
        for run in &runs {
            new.signal(*run, signal("go")).await.expect("taken");
        }
        for wait in waits {
            let ended = within("its end", wait).await.expect("no panic");
            let (_, ended) = ended.expect("nobody is told that it is parked");
            assert_eq!(ended, RunEnding::Completed(None));
        }
        for run in &runs {
            let head = old.head(*run).await.expect("it is there");
            assert_eq!((head.status, head.parked), (Status::Completed, None));
        }
        eprintln!("the new build has tried {} of {}", tries.load(Ordering::SeqCst), runs.len());
        assert!(tries.load(Ordering::SeqCst) > 0, "else nothing was shown");
        new.close(Duration::from_secs(5)).await.expect("it leaves");
        old.close(Duration::from_secs(5)).await.expect("it leaves");
    }
}
