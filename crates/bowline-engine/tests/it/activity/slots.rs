//! How much runs at once, how fast it begins, and that limits can be changed while it does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bowline_core::{ActivitySpec, Outcome, Payload, RunEnding};
use bowline_engine::{Builder, CancelRequest, Engine, Error, QueueOptions};
use bowline_replay::join_all;
use bowline_store::Phase;
use tokio::sync::Semaphore;

use crate::world::{Code, QUEUE, World, activity, ending, start, text, until, within};

crate::world::on_every_store! {
    no_more_run_at_once_than_there_are_slots,
    r23_slots_of_unwanted_work_are_freed_for_the_next,
    a_rate_paces_the_starts,
    r18_limits_are_changed_while_work_runs,
    a_full_queue_holds_up_no_other,
}

/// How many activities run, how many ran at once at the most, and who may end.
#[derive(Clone)]
struct Crowd {
    begun: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    may_end: Arc<Semaphore>,
}

impl Crowd {
    fn new() -> Self {
        Self {
            begun: Arc::default(),
            running: Arc::default(),
            most: Arc::default(),
            may_end: Arc::new(Semaphore::new(0)),
        }
    }

    async fn pass(self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.may_end.acquire().await.expect("it is never closed").forget();
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    async fn until_begun(&self, count: usize) {
        within(&format!("{count} to have begun"), async {
            while self.begun.load(Ordering::SeqCst) < count {
                tokio::task::yield_now().await;
            }
        })
        .await;
        // Whoever could begin as well would have done so by now.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        assert_eq!(self.begun.load(Ordering::SeqCst), count);
    }
}

/// Fans out over as many activities as its input says.
fn fan(builder: Builder, crowd: Crowd) -> Builder {
    builder
        .flow("fan", |ctx, input| async move {
            let count: usize = text(&input).parse().expect("a number");
            let calls = (0..count).map(|_| ctx.activity(activity("wait", "1")));
            let ends = join_all(calls).await;
            let done = ends.iter().filter(|end| matches!(end, Outcome::Completed(_))).count();
            Ok(Some(Payload::json(done.to_string())))
        })
        .act("wait", move |_, _| {
            let crowd = crowd.clone();
            async move {
                crowd.pass().await;
                Ok(None)
            }
        })
}

async fn fan_out(engine: &Engine, count: usize) -> bowline_core::RunId {
    let input = Some(Payload::json(count.to_string()));
    let options = bowline_engine::StartOptions::new("fan", "fan", QUEUE, input);
    engine.start(options).await.expect("starts")
}

fn completed(count: usize) -> RunEnding {
    RunEnding::Completed(Some(Payload::json(count.to_string())))
}

/// Never more run at once than there are slots, and every slot that is freed is filled.
async fn no_more_run_at_once_than_there_are_slots(world: World) {
    let crowd = Crowd::new();
    let queue = QueueOptions { slots: 3, rate: None };
    let engine = fan(world.builder(), crowd.clone()).queue(QUEUE, queue).start().await.expect("");
    let run = fan_out(&engine, 20).await;
    crowd.until_begun(3).await;
    crowd.may_end.add_permits(1);
    crowd.until_begun(4).await;
    crowd.may_end.add_permits(16);
    crowd.until_begun(20).await;
    crowd.may_end.add_permits(3);
    assert_eq!(ending(&engine, run).await, completed(20));
    assert_eq!(crowd.most.load(Ordering::SeqCst), 3);
}

/// R23: two slots, both held by work that nobody wants any more. A cancel frees them for the next,
/// long before that work would have ended by itself.
async fn r23_slots_of_unwanted_work_are_freed_for_the_next(world: World) {
    let stuck = Arc::new(AtomicUsize::new(0));
    let counted = stuck.clone();
    let engine = world
        .builder()
        .queue(QUEUE, QueueOptions { slots: 2, rate: None })
        .flow("stuck", |ctx, _| async move {
            join_all((0..2).map(|_| ctx.activity(activity("stuck", "1")))).await;
            Ok(None)
        })
        .flow("next", |ctx, _| async move {
            match ctx.activity(activity("quick", "1")).await {
                Outcome::Completed(result) => Ok(result),
                other => panic!("{other:?}"),
            }
        })
        .act("stuck", move |ctx, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::select! {
                    cause = ctx.cancelled() => Err(bowline_core::Failure::new(cause.to_string())),
                    () = std::future::pending() => Ok(None),
                }
            }
        })
        .act("quick", |_, _| async { Ok(Some(Payload::json("\"ran\""))) })
        .start()
        .await
        .expect("starts");
    let unwanted = start(&engine, "stuck", "s-1").await;
    within("both slots to be taken", async {
        while stuck.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let next = start(&engine, "next", "n-1").await;
    until(&engine, next, "ActivityScheduled").await;
    assert_eq!(engine.leftovers(next).await.expect("").queued, 1, "there is no slot for it");
    let request = CancelRequest::new("nobody wants it", "alice");
    let receipt = engine.cancel(unwanted, request).await.expect("taken");
    let ran = RunEnding::Completed(Some(Payload::json("\"ran\"")));
    assert_eq!(ending(&engine, next).await, ran, "without the clock having moved at all");
    within("it to end clean", engine.wait(receipt, Phase::Clean)).await.expect("it does");
}

/// Starts are paced; time that passes lets more begin, and no faster.
async fn a_rate_paces_the_starts(world: World) {
    let crowd = Crowd::new();
    crowd.may_end.add_permits(100);
    let queue = QueueOptions { slots: 100, rate: Some(2) };
    let engine = fan(world.builder(), crowd.clone()).queue(QUEUE, queue).start().await.expect("");
    let run = fan_out(&engine, 6).await;
    crowd.until_begun(2).await;
    for more in 3..=6 {
        world.advance(Duration::from_millis(499));
        crowd.until_begun(more - 1).await;
        world.advance(Duration::from_millis(1));
        crowd.until_begun(more).await;
    }
    assert_eq!(ending(&engine, run).await, completed(6));
}

/// R18: limits are changed while work runs: more slots are filled at once; fewer let what runs run
/// on.
async fn r18_limits_are_changed_while_work_runs(world: World) {
    let crowd = Crowd::new();
    let queue = |slots| QueueOptions { slots, rate: None };
    let builder = fan(world.builder(), crowd.clone());
    let engine = builder.queue(QUEUE, queue(1)).start().await.expect("");
    let run = fan_out(&engine, 10).await;
    crowd.until_begun(1).await;
    engine.configure(QUEUE, queue(4)).expect("it works on that queue");
    crowd.until_begun(4).await;
    engine.configure(QUEUE, queue(1)).expect("it works on that queue");
    crowd.may_end.add_permits(3);
    crowd.until_begun(4).await;
    crowd.may_end.add_permits(1);
    crowd.until_begun(5).await;
    engine.configure(QUEUE, queue(10)).expect("it works on that queue");
    crowd.may_end.add_permits(6);
    assert_eq!(ending(&engine, run).await, completed(10));
    let unknown = engine.configure("elsewhere", queue(1)).expect_err("not its queue");
    assert!(matches!(&unknown, Error::Invalid(why) if why.contains("elsewhere")), "{unknown}");
}

/// Each queue has slots of its own: a full one does not hold up another.
async fn a_full_queue_holds_up_no_other(world: World) {
    let crowd = Crowd::new();
    let engine = fan(world.builder(), crowd.clone())
        .queue(QUEUE, QueueOptions { slots: 1, rate: None })
        .queue("other", QueueOptions { slots: 1, rate: None })
        .flow("elsewhere", |ctx, _| async move {
            let spec = ActivitySpec { queue: "other".into(), ..activity("quick", "1") };
            ctx.activity(spec).await;
            Ok(None)
        })
        .act("quick", |_, _| async { Ok(None) })
        .start()
        .await
        .expect("starts");
    let full = fan_out(&engine, 3).await;
    crowd.until_begun(1).await;
    let other = start(&engine, "elsewhere", "e-1").await;
    assert_eq!(ending(&engine, other).await, RunEnding::Completed(None));
    crowd.may_end.add_permits(3);
    assert_eq!(ending(&engine, full).await, completed(3));
}
