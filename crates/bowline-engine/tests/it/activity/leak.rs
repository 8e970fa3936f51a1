//! What cannot be stopped is told, counted, and told again when it has ended after all.

use std::{
    future::pending,
    sync::{Arc, mpsc::sync_channel},
};

use bowline_core::{Ending, Rung};
use bowline_engine::worker::{
    activity::{Gone, Leak, What},
    registry::activity_fn,
};
use tokio::sync::{Notify, oneshot};

use crate::support::{bench::*, code::*};

#[tokio::test]
async fn a_thread_that_looks_stops_with_its_attempt() {
    let mut bench = Bench::new(1);
    let attempt = bench.start(activity_fn(|ctx, _| async move {
        let turns = ctx.spawn_blocking(|ctx| {
            while !ctx.is_cancelled() {
                std::thread::yield_now();
            }
        });
        turns.await.unwrap();
        Err(failure("stopped"))
    }));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    let ended = bench.ended_at_last().await;
    assert_eq!(
        (ended.ending, ended.rung),
        (Ending::Cancelled(json("stopped")), Some(Rung::Signal))
    );
    assert_eq!((ended.leak, ended.observed_at), (None, Some(START)));
}

#[tokio::test]
async fn a_thread_that_does_not_look_is_leaked_and_counted_until_it_ends() {
    let mut bench = Bench::new(1);
    let (release, released) = sync_channel::<()>(0);
    let attempt = bench.start(once(released, |ctx, released| async move {
        drop(block_thread(&ctx, released).await);
        ctx.heartbeat(None);
        ctx.cancelled().await;
        Err(failure("gave up"))
    }));
    assert_eq!(bench.next().await, What::Heartbeat { details: None });
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    assert_eq!(bench.next().await, What::Observed { at: START });
    bench.clock.until_next_due(at(10)).await;
    assert_eq!(bench.slots.taken(), 1);
    bench.advance(10);
    bench.clock.until_next_due(at(15)).await;
    bench.assert_silent().await;
    bench.advance(5);
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Abandoned, Some(Rung::Abandon)));
    assert_eq!(ended.leak, Some(Leak { blocking: 1, ..Leak::default() }));
    assert_eq!(ended.leak.unwrap().to_string(), "1 blocking");
    assert_eq!((bench.slots.taken(), bench.leaks.leaked()), (0, 1));
    bench.advance(1);
    drop(release);
    assert_eq!(bench.next().await, What::LeakEnded { at: at(16) });
    assert_eq!(bench.leaks.leaked(), 0);
}

#[tokio::test]
async fn a_result_waits_for_what_it_leaves_behind_and_then_names_it() {
    let mut bench = Bench::new(1);
    let (release, released) = sync_channel::<()>(0);
    bench.start(once(released, |ctx, released| async move {
        drop(block_thread(&ctx, released).await);
        Ok(json("done"))
    }));
    bench.clock.until_next_due(at(5)).await;
    bench.assert_silent().await;
    bench.advance(5);
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Completed(json("done")), None));
    assert_eq!(ended.leak, Some(Leak { blocking: 1, ..Leak::default() }));
    assert_eq!((ended.stopped_at, bench.leaks.leaked()), (None, 1));
    drop(release);
    assert_eq!(bench.next().await, What::LeakEnded { at: at(5) });
}

#[tokio::test]
async fn what_the_code_leaves_behind_learns_that_it_has_ended() {
    let mut bench = Bench::new(1);
    let (sender, receiver) = oneshot::channel();
    bench.start(once(sender, |ctx, sender| async move {
        let (begins, begun) = oneshot::channel();
        drop(ctx.spawn_blocking(move |ctx| {
            begins.send(()).ok();
            while !ctx.is_cancelled() {
                std::thread::yield_now();
            }
            let refused = ctx.spawn(pending::<()>());
            let command = std::process::Command::new("true");
            let is_refused = ctx.spawn_process(command).is_err();
            sender.send((ctx.cause().unwrap().to_string(), refused, is_refused)).ok();
        }));
        begun.await.unwrap();
        Ok(None)
    }));
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.leak, ended.strays), (Ending::Completed(None), None, 0));
    let (cause, refused, is_refused) = receiver.await.unwrap();
    assert_eq!(cause, "scope_exit (the activity's own code has ended)");
    assert_eq!(within(refused).await, Err(Gone::Stopped));
    assert!(is_refused, "no process is started behind the back of an attempt that has ended");
}

/// The code blocks its own runtime for good; its supervisor lives elsewhere and is not blocked.
#[tokio::test]
async fn code_that_never_gives_its_thread_back_is_leaked_and_its_result_is_late() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let mut bench = Bench::with(1, Arc::new(runtime.handle().clone()), 8);
    let (release, released) = sync_channel::<()>(0);
    let begun = Arc::new(Notify::new());
    let attempt =
        bench.start(once((released, Arc::clone(&begun)), |_, (released, begun)| async move {
            begun.notify_one();
            released.recv().ok();
            Ok(json("at last"))
        }));
    begun.notified().await;
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    bench.clock.until_next_due(at(10)).await;
    bench.advance(10);
    bench.clock.until_next_due(at(15)).await;
    bench.advance(5);
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Abandoned, Some(Rung::Abandon)));
    assert_eq!(ended.leak, Some(Leak { future: true, ..Leak::default() }));
    assert_eq!((bench.slots.taken(), bench.leaks.leaked()), (0, 1));
    drop(release);
    assert_eq!(bench.next().await, What::Late(Ending::Completed(json("at last"))));
    assert_eq!(bench.next().await, What::LeakEnded { at: at(15) });
    assert_eq!(bench.leaks.leaked(), 0);
    runtime.shutdown_background();
}

#[tokio::test]
async fn a_worker_with_too_many_leaks_takes_no_work() {
    let mut bench = Bench::new(10);
    let release = Arc::new(Notify::new());
    let mut spec = spec();
    spec.ladder = ladder(0, 0, true);
    for _ in 0..10 {
        let code = once(Arc::clone(&release), |_, release| async move {
            release.notified().await;
            Ok(None)
        });
        let attempt = bench.start_as(assignment_of(spec.clone(), START), code);
        tokio::task::yield_now().await;
        attempt.tell(cancel("alice"));
        assert_eq!(bench.ended_at_last().await.ending, Ending::Abandoned);
    }
    assert_eq!((bench.slots.taken(), bench.leaks.leaked()), (0, 10));
    assert!(bench.slots.take(1).is_empty());
    release.notify_one();
    assert!(matches!(bench.next().await, What::Late(_)));
    assert!(matches!(bench.next().await, What::LeakEnded { .. }));
    assert_eq!(bench.slots.take(10).len(), 10);
}

#[tokio::test]
async fn a_thread_that_was_still_waiting_for_its_turn_never_begins() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let mut bench = Bench::with(1, Arc::new(runtime.handle().clone()), 8);
    let (release, released) = sync_channel::<()>(0);
    let (sender, receiver) = oneshot::channel();
    bench.start(once((released, sender), |ctx, (released, sender)| async move {
        drop(block_thread(&ctx, released).await);
        let second = ctx.spawn_blocking(|_| panic!("it ran"));
        sender.send(second).ok();
        Ok(None)
    }));
    let second: bowline_engine::worker::activity::Spawned<()> = receiver.await.unwrap();
    bench.clock.until_next_due(at(5)).await;
    drop(release);
    assert_eq!(within(second).await, Err(Gone::Stopped));
    assert_eq!(bench.ended().await.leak, None);
    runtime.shutdown_background();
}

#[tokio::test]
async fn a_panic_beside_the_code_is_told_to_whoever_waits() {
    let mut bench = Bench::new(1);
    bench.start(activity_fn(|ctx, _| async move {
        let future = ctx.spawn(async { panic!("in a future") }).await;
        let thread: Result<(), _> = ctx.spawn_blocking(|_| panic!("in a thread")).await;
        let (Err(Gone::Panicked(one)), Err(Gone::Panicked(two))) = (future, thread) else {
            return Ok(None);
        };
        Ok(json(&format!("{} and {}", one.message, two.message)))
    }));
    assert_eq!(bench.ended().await.ending, Ending::Completed(json("in a future and in a thread")));
}
