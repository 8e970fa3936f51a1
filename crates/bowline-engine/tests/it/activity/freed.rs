//! The slot of an attempt is freed once, whatever races, and then belongs to the next.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bowline_core::{Cause, Code, Ending};
use bowline_engine::{
    clock::Clock,
    worker::{
        activity::{Notice, What},
        registry::{ActivityCode, activity_fn},
    },
};
use tokio::sync::{Barrier, Notify};

use crate::support::{bench::*, code::once};

/// Two slots, two activities of ten minutes, and nobody wants them any more: the third need not
/// wait for them.
#[tokio::test]
async fn slots_of_unwanted_work_are_free_for_the_next() {
    let mut bench = Bench::new(2);
    let attempts: Vec<_> = (0..2).map(|_| bench.start(activity_fn(|_, _| pending()))).collect();
    let third = tokio::spawn({
        let slots = bench.slots.clone();
        async move { slots.reserve(1).await }
    });
    tokio::task::yield_now().await;
    assert!(!third.is_finished());
    for attempt in &attempts {
        attempt.tell(cancel("alice"));
    }
    bench.clock.until_next_due(at(10)).await;
    bench.advance(10);
    let permit = within(third).await.unwrap().pop().unwrap();
    let code = activity_fn(|_, _| async { Ok(json("third")) });
    bench.supervision().start(assignment(bench.clock.now()), code, permit);
    let mut endings = Vec::new();
    for _ in 0..3 {
        endings.push(bench.ended_at_last().await.ending);
    }
    assert!(endings.contains(&Ending::Completed(json("third"))), "{endings:?}");
}

/// The code finishes, panics, is aborted, is given up and loses a thread, all at the same moment
/// and in many orders. Whoever wins, the slot is freed once and the attempt ends once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_races_the_slot_is_freed_once_and_the_attempt_ends_once() {
    const ROUNDS: usize = 400;
    let mut bench = Bench::new(1);
    let mut spec = spec();
    for round in 0..ROUNDS {
        // Detached code that never ends by itself would never end at all.
        spec.ladder = ladder(1, 0, round % 5 == 4 && round % 4 != 3);
        spec.timeouts.start_to_close = span(1).filter(|_| round % 3 == 0);
        let race = Arc::new(Barrier::new(3));
        let assignment = assignment_of(spec.clone(), bench.clock.now());
        let attempt = bench.start_as(assignment, racer(round, Arc::clone(&race)));
        let clock = bench.clock.clone();
        let hands = tokio::spawn({
            let race = Arc::clone(&race);
            async move {
                race.wait().await;
                clock.advance(seconds(1));
            }
        });
        race.wait().await;
        attempt.tell(cancel("alice"));
        let cause = Cause::new(Code::WorkerDrain);
        attempt.tell(Notice::Drain { cause, deadline: bench.clock.now() });
        hands.await.unwrap();
        assert_one_end(&mut bench).await;
        assert_eq!((bench.slots.taken(), bench.leaks.leaked()), (0, 0), "round {round}");
    }
}

fn racer(round: usize, race: Arc<Barrier>) -> Arc<dyn ActivityCode> {
    once(race, move |ctx, race| async move {
        if round % 7 == 3 {
            drop(ctx.spawn_blocking(|ctx| while !ctx.is_cancelled() {}));
        }
        drop(ctx.spawn(pending::<()>()));
        race.wait().await;
        match round % 4 {
            0 => Ok(None),
            1 => Err(failure("1")),
            2 => panic!("in the race"),
            _ => pending().await,
        }
    })
}

/// Moves the clock until nothing of the attempt is left, and counts its ends.
async fn assert_one_end(bench: &mut Bench) {
    let mut ends = 0;
    loop {
        bench.advance(1);
        let what = tokio::select! {
            what = bench.next() => what,
            () = tokio::task::yield_now() => continue,
        };
        let is_last = match &what {
            What::Ended(ended) => {
                ends += 1;
                ended.stopped_at.is_some()
            }
            What::Stopped { .. } | What::LeakEnded { .. } => true,
            _ => false,
        };
        if is_last {
            return assert_eq!(ends, 1);
        }
    }
}

/// A hundred runs with five activities each are cancelled together while every slot is busy; the
/// worker is as fast as before afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_cancels_at_once_leave_every_slot_free() {
    const ATTEMPTS: usize = 500;
    let runtime = Arc::new(tokio::runtime::Handle::current());
    let mut bench = Bench::with(ATTEMPTS, runtime, 16);
    let begun = Arc::new(AtomicUsize::new(0));
    let all_begun = Arc::new(Notify::new());
    let mut attempts = Vec::new();
    for number in 0..ATTEMPTS {
        let with = (Arc::clone(&begun), Arc::clone(&all_begun));
        let code = once(with, move |ctx, (begun, all_begun)| async move {
            if begun.fetch_add(1, Ordering::SeqCst) + 1 == ATTEMPTS {
                all_begun.notify_one();
            }
            match number % 3 {
                0 => pending().await,
                1 => Err(failure(&ctx.cancelled().await.requested_by.to_string())),
                _ => {
                    ctx.cancelled().await;
                    Ok(None)
                }
            }
        });
        attempts.push(bench.start(code));
    }
    all_begun.notified().await;
    assert!(bench.slots.take(1).is_empty(), "every slot is busy");
    let teller = tokio::task::spawn_blocking(move || {
        attempts.iter().filter(|attempt| attempt.tell(cancel("alice"))).count()
    });
    assert_eq!(within(teller).await.unwrap(), ATTEMPTS, "everybody was told");
    let deaf = ATTEMPTS.div_ceil(3);
    let mut endings = Vec::new();
    for _ in deaf..ATTEMPTS {
        endings.push(bench.ended_at_last().await.ending);
    }
    // Those that listened have stopped: time passes for the others only.
    bench.advance(10);
    for _ in 0..deaf {
        endings.push(bench.ended_at_last().await.ending);
    }
    let count = |ending| endings.iter().filter(|other| **other == ending).count();
    assert_eq!(count(Ending::Cancelled(None)), deaf);
    assert_eq!(count(Ending::Cancelled(json("alice"))), deaf);
    assert_eq!(count(Ending::Completed(None)), ATTEMPTS - 2 * deaf);
    assert_eq!((bench.slots.taken(), bench.leaks.leaked()), (0, 0));
    for _ in 0..ATTEMPTS {
        bench.start(activity_fn(|_, _| async { Ok(json("after")) }));
    }
    for _ in 0..ATTEMPTS {
        assert_eq!(bench.ended().await.ending, Ending::Completed(json("after")));
    }
}
