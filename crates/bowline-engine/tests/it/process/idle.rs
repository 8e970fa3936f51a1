//! What it costs to wait, and that a crowd of open runs makes nobody's poll dearer. Counted in
//! calls of the store, not in time.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use bowline_core::{Command, Queue, Rules, Signal, Span, StartTurn, Sticky, TurnAnswer};
use bowline_engine::{Engine, StartOptions};
use tokio::task::JoinHandle;

use crate::{
    support::remote::{self, QUEUE},
    world::{World, within},
};

const WORKERS: usize = 100;
/// Polls of one kind that a worker has waiting.
const POLLS: usize = 5;
const DAY: Duration = Duration::from_secs(24 * 3_600);

fn own_queue(worker: usize) -> Queue {
    Queue::from(format!("sticky-{worker}"))
}

/// The polls of many workers, each as an SDK has them: for turns of all and of its own, for
/// activities, and on its control channel. What they take is let go.
async fn crowd(world: &World, engine: &Engine) -> Vec<JoinHandle<()>> {
    let mut polls = Vec::new();
    let until = engine.now().after(DAY);
    for worker in 0..WORKERS {
        for queue in [Queue::from(QUEUE), own_queue(worker)] {
            for _ in 0..POLLS {
                let (engine, queue) = (engine.clone(), queue.clone());
                polls.push(tokio::spawn(async move {
                    let _ = engine.poll_turn(&queue, StartTurn::default(), until).await;
                }));
            }
        }
        for _ in 0..POLLS {
            let engine = engine.clone();
            polls.push(tokio::spawn(async move {
                let (queue, control) = (Queue::from(QUEUE), format!("c-{worker}").as_str().into());
                let _ = engine.poll_activity(&queue, "sdk".into(), control, until).await;
            }));
        }
        let engine = engine.clone();
        polls.push(tokio::spawn(async move {
            engine.poll_control(&format!("c-{worker}").as_str().into(), until).await;
        }));
    }
    let all = (WORKERS * POLLS) as u64;
    within("all polls to wait", async {
        while world.book.counts().of("claim_runs") < 2 * all
            || world.book.counts().of("claim_activities") < all
            || world.book.counts().of("renew") < WORKERS as u64
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    rest().await;
    polls
}

/// Lets everything go on that can.
async fn rest() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

fn calls(world: &World) -> u64 {
    world.book.counts().calls.values().sum()
}

/// Sixteen hundred polls wait for an hour, and nothing is asked of the store.
#[tokio::test]
async fn polls_that_wait_ask_nothing_of_the_store() {
    let world = World::memory();
    let engine = world.builder().start().await.expect("starts");
    let polls = crowd(&world, &engine).await;
    let before = calls(&world);
    for _ in 0..60 {
        world.advance(Duration::from_secs(60));
        rest().await;
    }
    assert_eq!(calls(&world) - before, 0, "{:?}", world.book.counts().calls);
    assert!(polls.iter().all(|poll| !poll.is_finished()), "all of them wait still");
    polls.iter().for_each(JoinHandle::abort);
}

/// A turn in one worker's own queue wakes that worker and no other; and the look for what a lost
/// hint may have hidden is one call for all queues.
#[tokio::test]
async fn a_turn_wakes_who_waits_for_it_and_nobody_else() {
    let world = World::memory();
    let engine = world.builder().start().await.expect("starts");
    let run = remote::start(&engine, "r-1").await;
    let turn = remote::turn(&engine).await;
    let sticky = Some(Sticky { queue: own_queue(7), patience: Span(DAY) });
    let answer = |token| TurnAnswer { sticky: sticky.clone(), ..TurnAnswer::new(token, vec![]) };
    engine.answer_turn(turn.token.as_slice(), answer, None).await.expect("it is taken");
    let polls = crowd(&world, &engine).await;
    let before = world.book.counts();
    engine.signal(run, Signal { name: "s".into(), ..Signal::default() }).await.expect("taken");
    within("its worker to have it", async {
        while polls.iter().filter(|poll| poll.is_finished()).count() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    rest().await;
    let woken = |since: &crate::checked::Counts| {
        world.book.counts().of("claim_runs") - since.of("claim_runs")
    };
    // The one that took it, the next one in the same queue, and intake.
    assert!(woken(&before) <= 8, "{} looked", woken(&before));
    let before = world.book.counts();
    // Something was written, so everything is looked at once, a third of a lease later.
    world.advance(Duration::from_secs(11));
    rest().await;
    assert!(woken(&before) <= 8, "{} looked", woken(&before));
    polls.iter().for_each(JoinHandle::abort);
}

/// A turn is handed out and answered with the same calls, and as much read, beside ten thousand
/// open runs as beside ten: most of them wait in another queue, some for a timer.
#[tokio::test]
async fn ten_thousand_open_runs_make_no_poll_dearer() {
    let world = World::memory();
    let engine = world.builder().start().await.expect("starts");
    open(&engine, 0..10).await;
    let few = cost(&world, &engine, "beside few").await;
    open(&engine, 10..10_000).await;
    assert_eq!(cost(&world, &engine, "beside many").await, few);
    let nothing = calls(&world);
    let (queue, now) = (Queue::from(QUEUE), engine.now());
    let taken = engine.poll_turn(&queue, StartTurn::default(), now).await.expect("answered");
    assert!(taken.is_none(), "nothing waits there");
    assert_eq!(calls(&world) - nothing, 1, "an empty poll is one call");
}

/// Runs that wait, and have nothing to do with the queue that is polled.
async fn open(engine: &Engine, numbers: Range<usize>) {
    for number in numbers {
        let id = format!("open-{number}");
        if number % 10 != 0 {
            let mut options = StartOptions::new("remote", id.as_str(), "crowd", None);
            options.started.rules = Rules::REMOTE;
            engine.start(options).await.expect("the run starts");
            continue;
        }
        remote::start(engine, &id).await;
        let turn = remote::turn(engine).await;
        remote::answer(engine, &turn, vec![Command::StartTimer("t".into(), Span(DAY))]).await;
    }
}

/// Calls, by method, and events read, from a start to the answer of its turn.
async fn cost(world: &World, engine: &Engine, id: &str) -> (BTreeMap<&'static str, u64>, u64) {
    rest().await;
    let before = world.book.counts();
    remote::start(engine, id).await;
    let turn = remote::turn(engine).await;
    remote::answer(engine, &turn, Vec::new()).await;
    rest().await;
    let after = world.book.counts();
    let calls = after.calls.iter().map(|(name, calls)| (*name, calls - before.of(name)));
    (calls.collect(), after.events_read - before.events_read)
}
