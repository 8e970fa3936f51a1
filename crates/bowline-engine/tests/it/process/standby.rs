//! A standby takes over that has not heard of the last commits. What stands there in a member's
//! name, and what that member knows, are of two pasts: it lets go of the one, and finds the other.

use std::{sync::Arc, time::Duration};

use bowline_core::{Fence, Payload, RunEnding, RunId};
use bowline_engine::{
    Builder, CancelRequest, Engine, QueueOptions, clock::ManualClock,
    worker::registry::ActivityCode,
};
use bowline_replay::Context;
use bowline_store::memory::MemoryStore;

use crate::{
    support::{flows::Flows, probe::Probe},
    world::{Code, QUEUE, activity, done, ending, idle, kinds, signal, start, until, within},
};

fn builder(store: &MemoryStore) -> Builder {
    Engine::builder(Arc::new(store.clone()))
        .clock(Arc::new(ManualClock::default()))
        .identity("worker")
        .stuck_after(Duration::MAX)
        .threads(1)
        .queue(QUEUE, QueueOptions::default())
        .flow("waits", |ctx: Context, _| async move {
            ctx.signals("go").recv().await;
            Ok(Some(Payload::json("7")))
        })
}

async fn holder(engine: &Engine, run: RunId) -> Option<Fence> {
    engine.head(run).await.expect("the run is there").holder
}

/// A run was let go of, and the standby has not heard of it: the lease stands again, in the name of
/// a member that is alive and does not know of it.
#[tokio::test]
async fn a_lease_that_was_given_back_and_stands_again_stops_nobody() {
    let store = MemoryStore::new();
    let engine = builder(&store).cached_runs(1).up().await;
    let run = start(&engine, "waits", "one").await;
    idle(&engine, run).await;
    assert!(holder(&engine, run).await.is_some(), "it is held from the beginning");
    let standby = store.standby();
    let other = start(&engine, "waits", "other").await;
    idle(&engine, other).await;
    within("its place to be wanted", async {
        while holder(&engine, run).await.is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    store.promote(&standby);
    engine.signal(run, signal("go")).await.expect("the signal is taken");
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("7"))));
    engine.head(other).await.expect_err("the standby has never heard of it");
}

/// An attempt has ended, with the run that had begun it, and the standby has not heard of either:
/// the attempt stands there as begun, and nobody runs it. And the run is further in memory than it
/// is stored.
#[tokio::test]
async fn an_attempt_that_has_ended_and_stands_again_is_tried_again() {
    let (store, probe) = (MemoryStore::new(), Probe::new());
    let engine = builder(&store)
        .flow("asks", |ctx: Context, _| async move {
            done(ctx.activity(activity("work", "1")).await)?;
            ctx.signals("go").recv().await;
            Ok(None)
        })
        .activity("work", probe.obeys())
        .up()
        .await;
    let run = start(&engine, "asks", "one").await;
    probe.has_begun(1).await;
    let standby = store.standby();
    probe.finish(1);
    until(&engine, run, "ActivityCompleted").await;
    idle(&engine, run).await;
    store.promote(&standby);
    // Nobody says anything to the run: it is found that it waits for what is not coming.
    probe.has_begun(2).await;
    probe.finish(1);
    until(&engine, run, "ActivityCompleted").await;
    engine.signal(run, signal("go")).await.expect("the signal is taken");
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    let ends =
        kinds(&engine, run).await.iter().filter(|kind| **kind == "ActivityCompleted").count();
    assert_eq!(ends, 1);
}

/// An attempt of which the standby has not heard was told to stop, and another one has begun.
async fn begun_anew(probe: &Probe, code: Arc<dyn ActivityCode>) -> (Engine, RunId) {
    let store = MemoryStore::new();
    let engine = builder(&store)
        .flow("asks", |ctx: Context, _| async move {
            ctx.signals("go").recv().await;
            done(ctx.activity(activity("work", "1")).await)
        })
        .activity("work", code)
        .up()
        .await;
    let run = start(&engine, "asks", "one").await;
    idle(&engine, run).await;
    let standby = store.standby();
    engine.signal(run, signal("go")).await.expect("the signal is taken");
    probe.has_begun(1).await;
    store.promote(&standby);
    probe.was_told(1).await;
    // What was lost is asked for again.
    engine.signal(run, signal("go")).await.expect("the signal is taken");
    probe.has_begun(2).await;
    (engine, run)
}

/// An attempt has begun, and the standby has not heard of it: nobody could cancel it there.
#[tokio::test]
async fn code_of_which_the_standby_has_not_heard_is_told_to_stop() {
    let probe = Probe::new();
    let (engine, run) = begun_anew(&probe, probe.obeys()).await;
    probe.finish(1);
    let done = RunEnding::Completed(Some(Payload::json("\"done\"")));
    assert_eq!(ending(&engine, run).await, done);
}

/// The same, of code that takes its time. The attempt that begins in its place has the same number,
/// and is not mistaken for it: when the first one has ended, the second is still to be reached.
#[tokio::test]
async fn an_attempt_that_begins_again_beside_itself_can_be_cancelled() {
    let probe = Probe::new();
    let (engine, run) = begun_anew(&probe, probe.completes_late()).await;
    assert_eq!(probe.attempts(), ["attempt 1", "attempt 1"]);
    probe.finish(1);
    probe.has_ended(1).await;
    let request = CancelRequest::new("enough", "test");
    engine.cancel(run, request).await.expect("the request is taken");
    probe.was_told(2).await;
    probe.finish(1);
    probe.has_ended(2).await;
    ending(&engine, run).await;
}
