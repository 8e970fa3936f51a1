//! A cancel reaches running code, and climbs until it has stopped.

use std::{future::pending, sync::Arc};

use bowline_core::{Cause, Code, Ending, Failure, Rung};
use bowline_engine::worker::{
    activity::{Leak, Notice, What},
    registry::activity_fn,
};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::support::{bench::*, code::*};

#[tokio::test]
async fn told_code_learns_why_and_stops_by_itself() {
    let mut bench = Bench::new(1);
    let (sender, receiver) = oneshot::channel();
    let attempt = bench.start(once(sender, |ctx, sender| async move {
        let cause = ctx.cancelled().await;
        sender.send((cause, ctx.cause())).ok();
        Err(failure("half"))
    }));
    tokio::task::yield_now().await;
    bench.advance(3);
    let cause = Cause::new(Code::ScopeExit)
        .because(Cause::new(Code::Deadline).because(Cause::requested("too late", "alice")));
    let notice = Notice::Cancel { cause: cause.clone(), decided_at: START, ladder: None };
    assert!(attempt.tell(notice));
    assert_eq!(receiver.await.unwrap(), (cause.clone(), Some(cause)));
    assert_eq!(bench.next().await, What::Delivered { at: at(3) });
    assert_eq!(bench.next().await, What::Observed { at: at(3) });
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Cancelled(json("half")), Some(Rung::Signal)));
    assert_eq!((ended.delivered_at, ended.observed_at), (Some(at(3)), Some(at(3))));
    assert_eq!((ended.stopped_at, ended.leak, ended.strays), (Some(at(3)), None, 0));
    assert_eq!((bench.slots.taken(), bench.clock.sleepers()), (0, 0));
}

#[tokio::test]
async fn observed_is_the_moment_at_which_the_code_looked() {
    let mut bench = Bench::new(1);
    let look = Arc::new(Notify::new());
    let attempt = bench.start(once(Arc::clone(&look), |ctx, look| async move {
        while !ctx.is_cancelled() {
            look.notified().await;
        }
        Err(failure("1"))
    }));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    bench.assert_silent().await;
    bench.advance(4);
    look.notify_one();
    assert_eq!(bench.next().await, What::Observed { at: at(4) });
    assert_eq!(bench.ended().await.observed_at, Some(at(4)));
}

#[tokio::test]
async fn a_token_fires_wherever_it_was_taken_and_stopping_shows_that_it_was_seen() {
    let mut bench = Bench::new(1);
    let attempt = bench.start(activity_fn(|ctx, _| async move {
        let token = ctx.cancel_token();
        let (one, two) = (token.clone(), token.child_token());
        let spawned = ctx.spawn(async move { one.cancelled().await });
        let inner = ctx.spawn({
            let ctx = ctx.clone();
            async move { ctx.cancelled().await.code }
        });
        two.cancelled().await;
        spawned.await.unwrap();
        assert_eq!(inner.await.unwrap(), Code::Requested);
        Err(failure("1"))
    }));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    let ended = bench.ended_at_last().await;
    assert_eq!(ended.ending, Ending::Cancelled(json("1")));
    assert_eq!(ended.observed_at, Some(START));
}

#[tokio::test]
async fn a_token_alone_shows_that_it_was_seen_once_the_code_has_stopped() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let attempt = bench.start(once(Arc::clone(&go), |ctx, go| async move {
        let token = ctx.cancel_token();
        token.cancelled().await;
        go.notified().await;
        Err(failure("1"))
    }));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    bench.assert_silent().await;
    bench.advance(2);
    go.notify_one();
    assert_eq!(bench.next().await, What::Observed { at: at(2) });
    assert_eq!(bench.ended().await.observed_at, Some(at(2)));
}

#[tokio::test]
async fn code_that_fires_its_own_token_fools_nobody() {
    let mut bench = Bench::new(1);
    bench.start(activity_fn(|ctx, _| async move {
        ctx.cancel_token().cancel();
        let is_fooled = tokio::select! {
            biased;
            _ = ctx.cancelled() => true,
            () = std::future::ready(()) => ctx.is_cancelled() || ctx.cancel_token().is_cancelled(),
        };
        match is_fooled {
            true => Ok(None),
            false => Err(failure("own")),
        }
    }));
    assert_eq!(bench.ended().await.ending, Ending::Failed(failure("own")));
}

#[tokio::test]
async fn a_result_after_a_cancel_is_a_late_success() {
    let mut bench = Bench::new(1);
    let attempt = bench.start(activity_fn(|ctx, _| async move {
        ctx.cancelled().await;
        Ok(json("paid anyway"))
    }));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    let ended = bench.ended_at_last().await;
    assert_eq!(ended.ending, Ending::Completed(json("paid anyway")));
    assert_eq!((ended.rung, ended.delivered_at), (Some(Rung::Signal), Some(START)));
}

#[tokio::test]
async fn code_that_ignores_its_token_keeps_working_for_its_grace_period() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let attempt = bench.start(once(Arc::clone(&go), |_, go| async move {
        go.notified().await;
        Ok(json("done"))
    }));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    bench.advance(9);
    bench.assert_silent().await;
    go.notify_one();
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.observed_at), (Ending::Completed(json("done")), None));
}

#[tokio::test]
async fn a_panic_in_the_grace_period_is_a_stop() {
    let mut bench = Bench::new(1);
    let attempt = bench.start(activity_fn(|ctx, _| async move {
        ctx.cancelled().await;
        panic!("could not put it down")
    }));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    let ended = bench.ended_at_last().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Cancelled(None), Some(Rung::Signal)));
}

#[tokio::test]
async fn after_the_grace_period_the_future_and_all_that_it_spawned_are_dropped() {
    let mut bench = Bench::new(1);
    let (outer, mut outer_gone) = dropped();
    let (inner, mut inner_gone) = dropped();
    let attempt = bench.start(once((outer, inner), |ctx, (outer, inner)| async move {
        let _outer = outer;
        let spawned = ctx.spawn(async move {
            let _inner = inner;
            pending::<()>().await
        });
        assert!(spawned.await.is_ok(), "it never ends by itself");
        Ok(None)
    }));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    bench.clock.until_next_due(at(10)).await;
    bench.advance(9);
    bench.assert_silent().await;
    assert!(outer_gone.try_recv().is_err() && inner_gone.try_recv().is_err());
    bench.advance(1);
    within(outer_gone).await.unwrap();
    within(inner_gone).await.unwrap();
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Cancelled(None), Some(Rung::Abort)));
    assert_eq!((ended.stopped_at, ended.observed_at, ended.strays), (Some(at(10)), None, 0));
    assert_eq!(bench.slots.taken(), 0);
}

#[tokio::test]
async fn detached_code_is_given_up_after_its_grace_period_and_runs_on() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let mut spec = spec();
    spec.ladder = ladder(10, 5, true);
    let code = once(Arc::clone(&go), |_, go| async move {
        go.notified().await;
        Ok(json("at last"))
    });
    let attempt = bench.start_as(assignment_of(spec, START), code);
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    bench.advance(10);
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Abandoned, Some(Rung::Abandon)));
    assert_eq!(ended.leak, Some(Leak { future: true, ..Leak::default() }));
    assert_eq!(ended.stopped_at, None);
    assert_eq!((bench.slots.taken(), bench.leaks.leaked()), (0, 1));
    bench.advance(100);
    bench.assert_silent().await;
    go.notify_one();
    assert_eq!(bench.next().await, What::Late(Ending::Completed(json("at last"))));
    assert_eq!(bench.next().await, What::LeakEnded { at: at(110) });
    assert_eq!((bench.slots.taken(), bench.leaks.leaked()), (0, 0));
}

#[tokio::test]
async fn a_second_cancel_disturbs_no_clean_up() {
    let mut bench = Bench::new(1);
    let go = Arc::new(Notify::new());
    let attempt = bench.start(once(Arc::clone(&go), |ctx, go| async move {
        let first = ctx.cancelled().await;
        go.notified().await;
        let last = ctx.cause().expect("it was cancelled");
        Err(Failure { details: json(&format!("{first} / {last}")), ..Failure::default() })
    }));
    tokio::task::yield_now().await;
    attempt.tell(cancel("alice"));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    assert_eq!(bench.next().await, What::Observed { at: START });
    bench.advance(5);
    assert!(attempt.tell(cancel("bob")));
    assert!(attempt.tell(cancel_with("carol", ladder(600, 600, true))));
    bench.clock.until_next_due(at(10)).await;
    bench.advance(4);
    bench.assert_silent().await;
    go.notify_one();
    let ended = bench.ended().await;
    let said = "requested by alice (enough) / requested by alice (enough)";
    assert_eq!(ended.ending, Ending::Cancelled(json(said)));
    assert_eq!((ended.delivered_at, ended.observed_at), (Some(START), Some(START)));
}

#[tokio::test]
async fn a_second_cancel_may_only_hasten_the_ladder() {
    let mut bench = Bench::new(1);
    let attempt = bench.start(activity_fn(|_, _| pending()));
    tokio::task::yield_now().await;
    attempt.tell(cancel_with("alice", ladder(60, 5, true)));
    assert_eq!(bench.next().await, What::Delivered { at: START });
    bench.clock.until_next_due(at(60)).await;
    bench.advance(5);
    attempt.tell(cancel_with("bob", ladder(0, 5, false)));
    let ended = bench.ended().await;
    assert_eq!((ended.ending, ended.rung), (Ending::Cancelled(None), Some(Rung::Abort)));
    assert_eq!(ended.stopped_at, Some(at(5)));
}

#[tokio::test]
async fn three_attempts_beside_each_other_are_each_told() {
    let mut bench = Bench::new(3);
    let (sender, mut told) = mpsc::channel(3);
    let mut attempts = Vec::new();
    for number in 1..=3 {
        let sender = sender.clone();
        let mut assignment = assignment(START);
        assignment.activity = bowline_core::EventId(number);
        let code = once(sender, move |ctx, sender| async move {
            let cause = ctx.cancelled().await;
            sender.send((number, cause.requested_by.to_string())).await.ok();
            Err(failure("1"))
        });
        attempts.push(bench.start_as(assignment, code));
    }
    tokio::task::yield_now().await;
    for (attempt, by) in attempts.iter().zip(["alice", "bob", "carol"]) {
        attempt.tell(cancel(by));
    }
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(within(told.recv()).await.unwrap());
        assert_eq!(bench.ended_at_last().await.ending, Ending::Cancelled(json("1")));
    }
    heard.sort();
    assert_eq!(heard, [(1, "alice".into()), (2, "bob".into()), (3, "carol".into())]);
}

#[tokio::test]
async fn code_that_is_cancelled_before_its_first_line_never_runs() {
    let mut bench = Bench::new(2);
    let code = activity_fn(|_, _| async { panic!("it ran") });
    let permit = bench.slots.take(1).pop().unwrap();
    let assignment = assignment(START);
    bench.supervision().start_told(assignment, Arc::clone(&code), permit, [cancel("alice")]);
    // On this runtime nothing is polled before the test waits.
    let raced = bench.start(code);
    raced.tell(cancel("bob"));
    for _ in 0..2 {
        let ended = bench.ended_at_last().await;
        assert_eq!(ended.ending, Ending::Cancelled(None));
        assert_eq!((ended.rung, ended.delivered_at), (Some(Rung::NeverStarted), Some(START)));
    }
    assert_eq!(bench.slots.taken(), 0);
}
