//! Stops, drains and limits: they end an attempt, and its activity may be tried again.

use std::{future::pending, sync::Arc};

use bowline_core::{Cause, Code, Ending, Rung, Timeout};
use bowline_engine::worker::{
    activity::{Attempt, Leak, Notice, What},
    registry::activity_fn,
};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::support::{bench::*, code::*};

fn stop(code: Code) -> Notice {
    Notice::Stop { cause: Cause::new(code) }
}

fn drain(deadline: u64) -> Notice {
    Notice::Drain { cause: Cause::new(Code::WorkerDrain), deadline: at(deadline) }
}

/// Code that says which of the two it heard first, waits to be let go, and then fails.
fn listener(bench: &Bench, go: &Arc<Notify>) -> (Attempt, mpsc::Receiver<(&'static str, Code)>) {
    let (sender, receiver) = mpsc::channel(4);
    let go = Arc::clone(go);
    let attempt = bench.start(activity_fn(move |ctx, _| {
        let (sender, go) = (sender.clone(), Arc::clone(&go));
        async move {
            sender.send(("stopping", ctx.stopping().await.code)).await.ok();
            sender.send(("cancelled", ctx.cancelled().await.code)).await.ok();
            go.notified().await;
            sender.send(("cause", ctx.cause().expect("told").code)).await.ok();
            Err(failure("1"))
        }
    }));
    (attempt, receiver)
}

#[tokio::test]
async fn a_stopped_attempt_is_handed_back() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let (attempt, mut heard) = listener(&bench, &go);
    tokio::task::yield_now().await;
    assert!(attempt.tell(stop(Code::LeaseLost)));
    assert_eq!(within(heard.recv()).await, Some(("stopping", Code::LeaseLost)));
    assert_eq!(within(heard.recv()).await, Some(("cancelled", Code::LeaseLost)));
    bench.assert_silent().await;
    go.notify_one();
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Returned, Some(Rung::Signal)));
    assert_eq!((ended.delivered_at, ended.observed_at), (None, None), "nobody cancelled it");
}

#[tokio::test]
async fn a_cancel_replaces_a_stop() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let (attempt, mut heard) = listener(&bench, &go);
    tokio::task::yield_now().await;
    attempt.tell(stop(Code::Superseded));
    assert_eq!(within(heard.recv()).await, Some(("stopping", Code::Superseded)));
    assert_eq!(within(heard.recv()).await, Some(("cancelled", Code::Superseded)));
    bench.advance(2);
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: at(2) });
    attempt.tell(stop(Code::LeaseLost));
    go.notify_one();
    assert_eq!(within(heard.recv()).await, Some(("cause", Code::Requested)));
    assert_eq!(bench.next().await, What::Observed { at: at(2) });
    let ended = bench.ended().await;
    assert_eq!(ended.ending, Ending::Cancelled(json("1")));
    assert_eq!(ended.delivered_at, Some(at(2)));
}

#[tokio::test]
async fn code_that_heeds_a_drain_is_handed_back_at_once() {
    let mut bench = Bench::new(1);
    let attempt = bench.start(activity_fn(|ctx, _| async move {
        let cause = ctx.stopping().await;
        assert_eq!((cause.code, ctx.is_cancelled()), (Code::WorkerDrain, false));
        Err(failure("not done"))
    }));
    tokio::task::yield_now().await;
    attempt.tell(drain(30));
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Returned, Some(Rung::Signal)));
    assert_eq!((ended.stopped_at, ended.delivered_at), (Some(START), None));
}

#[tokio::test]
async fn code_may_finish_during_a_drain() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let attempt = bench.start(once(Arc::clone(&go), |_, go| async move {
        go.notified().await;
        Ok(json("1"))
    }));
    tokio::task::yield_now().await;
    attempt.tell(drain(30));
    bench.clock.until_next_due(at(20)).await;
    bench.advance(29);
    bench.assert_silent().await;
    go.notify_one();
    assert_eq!(bench.ended().await.ending, Ending::Completed(json("1")));
}

#[tokio::test]
async fn a_drain_tells_the_code_in_time_and_drops_it_at_its_deadline() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let (attempt, mut heard) = listener(&bench, &go);
    tokio::task::yield_now().await;
    attempt.tell(drain(30));
    assert_eq!(within(heard.recv()).await, Some(("stopping", Code::WorkerDrain)));
    bench.clock.until_next_due(at(20)).await;
    bench.advance(20);
    assert_eq!(within(heard.recv()).await, Some(("cancelled", Code::WorkerDrain)));
    bench.clock.until_next_due(at(30)).await;
    bench.advance(10);
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Returned, Some(Rung::Abort)));
    assert_eq!(ended.stopped_at, Some(at(30)));
}

#[tokio::test]
async fn a_cancel_during_a_drain_makes_it_a_cancel() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let (attempt, mut heard) = listener(&bench, &go);
    tokio::task::yield_now().await;
    attempt.tell(drain(30));
    assert_eq!(within(heard.recv()).await, Some(("stopping", Code::WorkerDrain)));
    attempt.tell(cancel("alice"));
    assert_eq!(within(heard.recv()).await, Some(("cancelled", Code::Requested)));
    go.notify_one();
    let ended = bench.ended_at_last().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Cancelled(json("1")), Some(Rung::Signal)));
}

#[tokio::test]
async fn an_attempt_that_a_drain_meets_before_its_first_line_goes_back_untried() {
    let mut bench = Bench::new(1);
    let attempt = bench.start(activity_fn(|_, _| async { panic!("it ran") }));
    attempt.tell(drain(30));
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Returned, Some(Rung::NeverStarted)));
}

#[tokio::test]
async fn a_limit_ends_the_attempt_at_once_and_its_code_in_time() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let (sender, told) = oneshot::channel();
    let code = once((Arc::clone(&go), sender), |ctx, (go, sender)| async move {
        sender.send(ctx.cancelled().await.to_string()).ok();
        go.notified().await;
        Ok(json("too late"))
    });
    let spec = limited(|limits| limits.start_to_close = span(30));
    let attempt = bench.start_as(assignment_of(spec, START), code);
    bench.clock.until_next_due(at(30)).await;
    bench.advance(30);
    let ended = bench.ended().await;
    assert_eq!(ended.ending, Ending::TimedOut(Timeout::StartToClose));
    assert_eq!((ended.rung, ended.stopped_at, ended.leak), (None, None, None));
    assert_eq!(within(told).await.unwrap(), "attempt_timed_out (StartToClose)");
    assert_eq!(bench.slots.taken(), 1, "its code still runs in it");
    bench.advance(5);
    attempt.tell(cancel("alice"));
    bench.assert_silent().await;
    go.notify_one();
    assert_eq!(bench.next().await, What::Late(Ending::Completed(json("too late"))));
    assert_eq!(bench.next().await, What::Stopped { at: at(35), rung: Some(Rung::Signal) });
    assert_eq!((bench.slots.taken(), bench.leaks.leaked()), (0, 0));
}

#[tokio::test]
async fn code_that_timed_out_climbs_the_ladder() {
    let mut bench = Bench::new(1);
    let spec = limited(|limits| limits.start_to_close = span(30));
    bench.start_as(assignment_of(spec, START), activity_fn(|_, _| pending()));
    bench.clock.until_next_due(at(30)).await;
    bench.advance(30);
    assert_eq!(bench.ended().await.ending, Ending::TimedOut(Timeout::StartToClose));
    bench.clock.until_next_due(at(40)).await;
    bench.advance(10);
    assert_eq!(bench.next().await, What::Stopped { at: at(40), rung: Some(Rung::Abort) });
    assert_eq!(bench.slots.taken(), 0);
}

#[tokio::test]
async fn code_that_timed_out_and_cannot_be_stopped_is_given_up() {
    let mut bench = Bench::new(1);
    let (release, released) = std::sync::mpsc::sync_channel::<()>(0);
    let spec = limited(|limits| limits.start_to_close = span(30));
    let code = once(released, |ctx, released| async move {
        let thread = block_thread(&ctx, released).await;
        ctx.heartbeat(None);
        thread.await.ok();
        Ok(None)
    });
    bench.start_as(assignment_of(spec, START), code);
    assert_eq!(bench.next().await, What::Heartbeat { details: None });
    bench.clock.until_next_due(at(30)).await;
    bench.advance(30);
    assert_eq!(bench.ended().await.ending, Ending::TimedOut(Timeout::StartToClose));
    bench.clock.until_next_due(at(40)).await;
    bench.advance(10);
    bench.clock.until_next_due(at(45)).await;
    bench.advance(5);
    let leak = Leak { blocking: 1, ..Leak::default() };
    assert_eq!(bench.next().await, What::Leaked(leak));
    assert_eq!((bench.slots.taken(), bench.leaks.leaked()), (0, 1));
    drop(release);
    assert_eq!(bench.next().await, What::LeakEnded { at: at(45) });
    assert_eq!(bench.leaks.leaked(), 0);
}

#[tokio::test]
async fn silent_code_times_out_and_code_that_speaks_does_not() {
    let mut bench = Bench::new(1);
    let speak = Arc::new(Notify::new());
    let spec = limited(|limits| limits.heartbeat = span(10));
    let code = once(Arc::clone(&speak), |ctx, speak| async move {
        loop {
            speak.notified().await;
            ctx.heartbeat(json("alive"));
        }
    });
    bench.start_as(assignment_of(spec, START), code);
    bench.clock.until_next_due(at(10)).await;
    bench.advance(9);
    speak.notify_one();
    assert_eq!(bench.next().await, What::Heartbeat { details: json("alive") });
    bench.clock.until_next_due(at(19)).await;
    bench.advance(9);
    bench.assert_silent().await;
    bench.advance(1);
    assert_eq!(bench.ended().await.ending, Ending::TimedOut(Timeout::Heartbeat));
}

#[tokio::test]
async fn all_attempts_together_have_one_limit() {
    let mut bench = Bench::new(1);
    bench.advance(50);
    let spec = limited(|limits| {
        limits.start_to_close = span(30);
        limits.schedule_to_close = span(60);
    });
    let mut assignment = assignment_of(spec, START);
    assignment.started_at = at(50);
    bench.start_as(assignment, activity_fn(|_, _| pending()));
    bench.clock.until_next_due(at(60)).await;
    bench.advance(10);
    assert_eq!(bench.ended().await.ending, Ending::TimedOut(Timeout::ScheduleToClose));
}

#[tokio::test]
async fn no_limit_interrupts_the_clean_up_after_a_cancel() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let spec = limited(|limits| {
        limits.start_to_close = span(12);
        limits.heartbeat = span(3);
    });
    let code = once(Arc::clone(&go), |_, go| async move {
        go.notified().await;
        Err(failure("cleaned up"))
    });
    let attempt = bench.start_as(assignment_of(spec, START), code);
    bench.clock.until_next_due(at(3)).await;
    bench.advance(2);
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: at(2) });
    bench.clock.until_next_due(at(12)).await;
    bench.advance(9);
    bench.assert_silent().await;
    go.notify_one();
    assert_eq!(bench.ended().await.ending, Ending::Cancelled(json("cleaned up")));
}
