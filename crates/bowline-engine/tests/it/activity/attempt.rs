//! Attempts that nobody wants to stop.

use std::{future::pending, sync::Arc};

use bowline_core::{Ending, Failure};
use bowline_engine::worker::{
    activity::{Ended, What},
    registry::activity_fn,
};
use tokio::sync::{Notify, oneshot};

use crate::support::{bench::*, code::once};

/// The end of an attempt to which nothing was said.
fn plain(ending: Ending) -> Ended {
    Ended {
        ending,
        rung: None,
        delivered_at: None,
        observed_at: None,
        stopped_at: Some(START),
        leak: None,
        strays: 0,
    }
}

#[tokio::test]
async fn a_result_is_reported_and_its_slot_is_free_by_then() {
    let mut bench = Bench::new(1);
    let mut assignment = assignment(START);
    let spec = Arc::get_mut(&mut assignment.spec).unwrap();
    spec.input = json("7");
    let attempt = bench.start_as(assignment, activity_fn(|_, input| async { Ok(input) }));
    assert_eq!(bench.slots.taken(), 1);
    let report = bench.report().await;
    assert_eq!(bench.slots.taken(), 0);
    assert_eq!(report.attempt, attempt.key());
    assert_eq!(report.what, What::Ended(plain(Ending::Completed(json("7")))));
    assert!(attempt.has_ended());
}

#[tokio::test]
async fn a_failure_that_nobody_caused_is_a_failure() {
    let mut bench = Bench::new(1);
    bench.start(activity_fn(|_, _| async { Err(failure("1")) }));
    assert_eq!(bench.ended().await, plain(Ending::Failed(failure("1"))));
}

#[tokio::test]
async fn a_panic_is_a_failure_with_message_and_place() {
    let mut bench = Bench::new(2);
    let late = activity_fn(|_, _| async {
        tokio::task::yield_now().await;
        panic!("out of {}", "rope")
    });
    // This one panics before there is a future at all.
    let early = activity_fn(|_, input| match input {
        None => panic!("out of {}", "rope"),
        Some(_) => async { Ok(None) },
    });
    for code in [late, early] {
        bench.start(code);
        let Ending::Failed(failure) = bench.ended().await.ending else { panic!("no failure") };
        assert_eq!((failure.message.as_str(), failure.kind.as_str()), ("out of rope", "panic"));
        assert!(failure.trace.contains(file!()), "{}", failure.trace);
    }
    assert_eq!(bench.slots.taken(), 0);
}

#[tokio::test]
async fn the_code_can_ask_what_it_is() {
    let mut bench = Bench::new(2);
    let (sender, mut receiver) = tokio::sync::mpsc::channel(2);
    let code = activity_fn(move |ctx, _| {
        let sender = sender.clone();
        async move {
            sender.send(ctx).await.ok();
            Ok(None)
        }
    });
    let spec = limited(|limits| {
        limits.start_to_close = span(30);
        limits.schedule_to_close = span(40);
    });
    let mut first = assignment_of(spec, START);
    let mut second = first.clone();
    bench.advance(20);
    second.attempt = 2;
    second.started_at = at(20);
    second.heartbeat = json("half");
    second.last_failure = Some(failure("1"));
    first.deadline = Some(at(25));
    bench.start_as(first, Arc::clone(&code));
    bench.start_as(second, code);
    let (first, second) = (receiver.recv().await.unwrap(), receiver.recv().await.unwrap());
    assert_eq!(first.idempotency_key(), second.idempotency_key());
    assert_eq!(first.idempotency_key(), "00000000-0000-0000-0000-00000000000a/5");
    assert!(first.fence() < second.fence());
    assert_eq!((first.deadline(), first.remaining()), (Some(at(25)), Some(seconds(5))));
    assert_eq!((second.deadline(), second.remaining()), (Some(at(40)), Some(seconds(20))));
    assert_eq!((first.last_heartbeat(), second.last_heartbeat()), (None, json("half").as_ref()));
    let info = second.info();
    assert_eq!((info.attempt, info.spec.name.as_str()), (2, "charge"));
    assert_eq!((info.workflow_id.as_str(), info.spec.queue.as_str()), ("order-42", "main"));
    assert_eq!(info.last_failure, Some(failure("1")));
    // The test holds their contexts, which is what code behind their backs would look like.
    assert_eq!((bench.ended().await.strays, bench.ended().await.strays), (1, 1));
}

#[tokio::test]
async fn heartbeats_are_gathered_and_the_newest_word_arrives() {
    let mut bench = Bench::new(1);
    let (next, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    bench.start(once((Arc::clone(&next), Arc::clone(&go)), |ctx, (next, go)| async move {
        ctx.heartbeat(json("1"));
        next.notified().await;
        ctx.heartbeat(json("2"));
        ctx.heartbeat(json("3"));
        ctx.heartbeat(None);
        next.notified().await;
        ctx.heartbeat(json("4"));
        go.notified().await;
        Ok(None)
    }));
    assert_eq!(bench.next().await, What::Heartbeat { details: json("1") });
    next.notify_one();
    bench.assert_silent().await;
    bench.advance(1);
    assert_eq!(bench.next().await, What::Heartbeat { details: json("3") });
    next.notify_one();
    bench.assert_silent().await;
    go.notify_one();
    assert_eq!(bench.next().await, What::Heartbeat { details: json("4") });
    assert!(matches!(bench.ended().await.ending, Ending::Completed(None)));
}

#[tokio::test]
async fn nobody_is_told_anything_while_nobody_wants_it_to_stop() {
    let mut bench = Bench::new(1);
    let (sender, receiver) = oneshot::channel();
    bench.start(once(sender, |ctx, sender| async move {
        let token = ctx.cancel_token();
        let is_told = ctx.is_cancelled() || token.is_cancelled() || ctx.cause().is_some();
        sender.send(is_told).ok();
        pending().await
    }));
    assert!(!receiver.await.unwrap());
    // Time alone stops nothing that has no limits.
    bench.advance(1_000_000);
    bench.assert_silent().await;
    assert_eq!((bench.slots.taken(), bench.clock.sleepers()), (1, 0));
}

/// A store that was out of reach for a moment once fired the token of healthy code, and its result
/// was lost. Here nobody listening to reports is exactly that, and the code notices nothing.
#[tokio::test]
async fn a_worker_that_cannot_report_disturbs_no_healthy_code() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let (sender, receiver) = oneshot::channel();
    bench.start(once((Arc::clone(&go), sender), |ctx, (go, sender)| async move {
        ctx.heartbeat(json("1"));
        go.notified().await;
        sender.send(ctx.is_cancelled()).ok();
        Ok(None)
    }));
    bench.stop_listening();
    bench.advance(3_600);
    go.notify_one();
    assert!(!receiver.await.unwrap());
    within(bench.slots.idle()).await;
}

#[tokio::test]
async fn a_full_channel_keeps_the_slot_and_loses_nothing() {
    let runtime = Arc::new(tokio::runtime::Handle::current());
    let mut bench = Bench::with(3, runtime, 1);
    for _ in 0..3 {
        bench.start(activity_fn(|_, _| async { Ok(None) }));
    }
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.slots.taken(), 2, "two ends wait for a place, and keep their slots");
    for _ in 0..3 {
        assert!(matches!(bench.ended().await.ending, Ending::Completed(None)));
    }
    assert_eq!(bench.slots.taken(), 0);
}

#[tokio::test]
async fn a_notice_that_comes_too_late_says_so_and_changes_nothing() {
    let mut bench = Bench::new(1);
    let attempt = bench.start(activity_fn(|_, _| async { Err(Failure::new("own fault")) }));
    while !attempt.has_ended() {
        tokio::task::yield_now().await;
    }
    assert!(!attempt.tell(cancel("alice")));
    let ended = bench.ended().await;
    assert_eq!(ended.ending, Ending::Failed(Failure::new("own fault")));
    assert_eq!((ended.delivered_at, ended.rung), (None, None));
    assert!(!attempt.tell(cancel("alice")));
    bench.assert_silent().await;
}

#[tokio::test]
async fn a_runtime_that_shuts_down_loses_its_code_and_says_so() {
    let code = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let mut bench = Bench::with(1, Arc::new(code.handle().clone()), 8);
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    bench.start(activity_fn(move |_, _| {
        begins.notify_one();
        pending()
    }));
    begun.notified().await;
    code.shutdown_background();
    assert_eq!(bench.ended().await.ending, Ending::Lost { seen: true });
    assert_eq!(bench.slots.taken(), 0);
}
