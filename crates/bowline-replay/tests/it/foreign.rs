//! Combinators from elsewhere work in workflows: any future may be awaited. What wakes the code
//! must be in its history, though.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Poll, Waker},
};

use bowline_replay::{Ended, Fault, join_all, race};
use expect_test::expect;
use futures_util::{
    FutureExt as _, StreamExt as _, future, select_biased, stream::FuturesUnordered,
};

use crate::support::*;

#[test]
fn a_foreign_unordered_set_is_told_one_by_one() {
    let (mut world, _) = World::start(async |ctx| {
        let mut set: FuturesUnordered<_> =
            ["a", "b", "c"].map(|name| ctx.activity(activity(name))).into_iter().collect();
        let mut told_so_far = Vec::new();
        while let Some(outcome) = set.next().await {
            told_so_far.push(told(&outcome));
            if told_so_far.len() == 2 {
                break;
            }
        }
        drop(set);
        ctx.activity(activity("after")).await;
        Ok(json(told_so_far.join(" ")))
    });
    assert_eq!(world.send(completes(7, "3")), "");
    expect![[r#"
        18: activity after
        drop Activities 6 in 0: future_dropped
    "#]]
    .assert_eq(&world.send(completes(5, "1")));
    world.check_prefixes();
}

#[test]
fn a_foreign_select_drops_its_losers_plainly() {
    let (mut world, _) = World::start(async |ctx| {
        let (mut work, mut timer) =
            (ctx.activity(activity("work")).fuse(), ctx.timer(seconds(5)).fuse());
        let winner = select_biased! {
            outcome = work => told(&outcome),
            _ = timer => "timer".to_owned(),
        };
        drop((work, timer));
        Ok(json(winner))
    });
    expect![[r#"
        drop Activities 5 in 0: run_completed
        11: complete timer
    "#]]
    .assert_eq(&world.send(rings(6)));
    world.check_prefixes();
}

#[test]
fn foreign_futures_work_in_our_combinators() {
    let (world, _) = World::start(async |ctx| {
        let mut turns = 0;
        let yielding = future::poll_fn(move |cx| {
            turns += 1;
            cx.waker().wake_by_ref();
            if turns < 5 { Poll::Pending } else { Poll::Ready(turns) }
        });
        let both = future::join(ctx.activity(activity("a")), async { 7 });
        let (place, _) = race([
            Box::pin(both.map(|(outcome, n)| format!("{} {n}", told(&outcome)))) as _,
            Box::pin(yielding.map(|turns| turns.to_string())) as bowline_replay::LocalFuture<'_, _>,
        ])
        .await;
        let all = join_all([future::ready(1), future::ready(2)]).await;
        Ok(json(format!("{place} {all:?}")))
    });
    expect![[r#"
        1 WorkflowStarted
        2 TurnScheduled
        3 TurnStarted
        4 TurnCompleted
        5 ActivityScheduled
        6 WorkflowCompleted
    "#]]
    .assert_eq(&world.kinds());
    assert!(world.closed());
    world.check_prefixes();
}

/// A shared future: several wait for one activity.
#[test]
fn one_outcome_for_several_waiters() {
    let (mut world, _) = World::start(async |ctx| {
        let shared = ctx.activity(activity("once")).map(|outcome| told(&outcome)).boxed_local();
        let shared = shared.shared();
        let (a, b) = bowline_replay::join(shared.clone(), async {
            let _ = ctx.signals("x").recv().await;
            shared.clone().await
        })
        .await;
        Ok(json(format!("{a} {b}")))
    });
    assert_eq!(world.send(completes(5, "1")), "");
    expect![[r#"
        15: complete 1 1
    "#]]
    .assert_eq(&world.send(signals("x", "")));
    world.check_prefixes();
}

/// A run awaited a channel that a thread fed. Its waker was called, nobody had a turn for it, and
/// it hung in silence.
#[test]
fn a_waker_that_another_thread_calls_is_noticed() {
    let waker = Arc::new(Mutex::new(None::<Waker>));
    let given = waker.clone();
    let (mut world, _) = World::start(move |ctx| {
        let given = given.clone();
        async move {
            let thread = future::poll_fn(move |cx| {
                *given.lock().unwrap() = Some(cx.waker().clone());
                Poll::<()>::Pending
            });
            future::join(thread, ctx.signals("s").recv()).await;
            Ok(None)
        }
    });
    let alarms = Arc::new(AtomicUsize::new(0));
    let count = alarms.clone();
    world.replay.guard(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    world.replay.settle().unwrap();
    let woken = waker.lock().unwrap().clone().unwrap();
    let again = woken.clone();
    std::thread::scope(|scope| scope.spawn(move || woken.wake()).join().unwrap());
    std::thread::scope(|scope| scope.spawn(move || again.wake()).join().unwrap());
    assert_eq!(alarms.load(Ordering::Relaxed), 1, "one word is enough");
    let fault = world.replay.settle().unwrap_err();
    assert_eq!(fault, Fault::Intruded);
    let text = fault.to_string();
    assert!(text.contains("it awaits something that is not durable"), "{text}");
    assert!(text.contains("Do such work in an activity"), "{text}");
    world.post(signals("s", ""));
    assert_eq!(world.try_turn().unwrap_err(), Fault::Intruded, "and nothing is written");
}

/// The same on the run's own thread, outside its turn; and in the middle of one, from another.
#[test]
fn a_waker_that_is_called_outside_the_turn_is_noticed() {
    let waker = Arc::new(Mutex::new(None::<Waker>));
    let given = waker.clone();
    let (mut world, _) = World::start(move |ctx| {
        let given = given.clone();
        async move {
            *given.lock().unwrap() =
                Some(future::poll_fn(|cx| Poll::Ready(cx.waker().clone())).await);
            ctx.signals("s").recv().await;
            let waker = given.lock().unwrap().take().unwrap();
            std::thread::scope(|scope| scope.spawn(move || waker.wake()).join().unwrap());
            ctx.signals("s").recv().await;
            Ok(None)
        }
    });
    let history = world.history.clone();
    world.post(signals("s", ""));
    assert_eq!(world.try_turn().unwrap_err(), Fault::Intruded);
    assert_eq!(world.history, history);
    world.evict();
    waker.lock().unwrap().take().unwrap().wake();
    assert_eq!(world.replay.settle().unwrap_err(), Fault::Intruded);
}

/// Whoever wakes a run that is over, or was evicted, does no harm; nor does what a drop wakes.
#[test]
fn wakers_of_what_is_gone_are_of_no_interest() {
    let waker = Arc::new(Mutex::new(None::<Waker>));
    let given = waker.clone();
    struct Wakes(Waker);
    impl Drop for Wakes {
        fn drop(&mut self) {
            self.0.wake_by_ref();
        }
    }
    let (mut world, _) = World::start(move |ctx| {
        let given = given.clone();
        async move {
            let waker = future::poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
            *given.lock().unwrap() = Some(waker.clone());
            let _wakes = Wakes(waker);
            ctx.signals("s").recv().await;
            Ok(None)
        }
    });
    let alarms = Arc::new(AtomicUsize::new(0));
    let count = alarms.clone();
    world.replay.guard(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    world.evict();
    world.send(signals("s", ""));
    assert!(world.closed());
    waker.lock().unwrap().take().unwrap().wake();
    assert_eq!(world.replay.query("q", None).unwrap_err().kind, "UnknownQuery");
    assert_eq!(alarms.load(Ordering::Relaxed), 0);
}

/// Keeps the waker of whoever awaits it, as a channel does that a thread feeds.
fn thread(kept: &Arc<Mutex<Vec<Waker>>>) -> impl Future<Output = ()> + use<> {
    let kept = kept.clone();
    future::poll_fn(move |cx| {
        kept.lock().unwrap().push(cx.waker().clone());
        Poll::<()>::Pending
    })
}

/// A run awaited a channel that a thread fed, and nothing else. Before the thread had anything to
/// say the run left memory; then there was nobody to be woken, and it hung in silence. That it can
/// only hang is known when it begins to wait.
#[test]
fn code_that_waits_for_nothing_in_history_is_known() {
    let kept = Arc::<Mutex<Vec<Waker>>>::default();
    let given = kept.clone();
    let (mut world, _) = World::start(move |ctx| {
        let given = given.clone();
        async move {
            ctx.signals("go").recv().await;
            thread(&given).await;
            Ok(None)
        }
    });
    assert!(!world.replay.is_stranded(), "it waits for a signal");
    world.send(signals("go", ""));
    assert!(world.replay.is_stranded());
    world.evict();
    world.replay.settle().unwrap();
    assert!(world.replay.is_stranded(), "and is known again when it is replayed");
    kept.lock().unwrap().clear();
    assert!(!world.replay.is_stranded(), "nobody keeps a waker");
}

/// The same inside our own combinators, and inside a scope.
#[test]
fn combinators_hide_nothing_that_is_not_in_history() {
    let kept = Arc::<Mutex<Vec<Waker>>>::default();
    let given = kept.clone();
    let (world, _) = World::start(move |_| {
        let given = given.clone();
        async move {
            let both = [thread(&given), thread(&given)].map(Box::pin);
            race([Box::pin(join_all(both)) as bowline_replay::LocalFuture<'_, _>]).await;
            Ok(None)
        }
    });
    assert!(world.replay.is_stranded());
    let given = kept.clone();
    let (world, _) = World::start(move |ctx| {
        let given = given.clone();
        async move {
            let _ = ctx.scope(thread(&given).map(Ok)).await;
            Ok(None)
        }
    });
    assert!(world.replay.is_stranded());
}

/// Code that waits for nothing at all waits to be cancelled, in whatever it is wrapped; and what is
/// awaited beside something durable may be fed by it.
#[test]
fn code_that_waits_to_be_cancelled_is_left_alone() {
    let (world, _) = World::start(async |_| {
        future::pending::<()>().await;
        Ok(None)
    });
    assert!(!world.replay.is_stranded());
    let (world, _) = World::start(async |ctx| {
        let inner = ctx.scope(future::pending::<Result<(), Ended>>());
        let forever = Box::pin(inner.map(drop)) as bowline_replay::LocalFuture<'_, _>;
        let both = join_all([Box::pin(future::pending::<()>()), Box::pin(future::pending())]);
        race([forever, Box::pin(both.map(drop))]).await;
        Ok(None)
    });
    assert!(!world.replay.is_stranded());
    let (world, _) = World::start(async |ctx| {
        ctx.shield(async { future::pending::<()>().await }).await;
        Ok(None)
    });
    assert!(!world.replay.is_stranded());
    let kept = Arc::<Mutex<Vec<Waker>>>::default();
    let given = kept.clone();
    let (world, _) = World::start(move |ctx| {
        let given = given.clone();
        async move {
            let _ = future::join(thread(&given), ctx.timer(seconds(5))).await;
            Ok(None)
        }
    });
    assert!(!world.replay.is_stranded());
}
