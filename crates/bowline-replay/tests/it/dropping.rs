//! In workflow code, dropping is cancelling.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use bowline_core::{Cancelled, Code, Command, EventKind, RunEnding};
use bowline_replay::{Replay, dropping};
use expect_test::expect;

use crate::support::*;

/// R63, R105: a dropped activity, timer or child is cancelled, and history says so.
#[test]
fn r63_r105_dropped_calls_are_cancelled() {
    let (mut world, _) = World::start(async |ctx| {
        let activity = ctx.activity(activity("work")).start();
        let timer = ctx.timer(seconds(60)).start();
        let child = ctx.child(child("helper")).start();
        ctx.signals("drop").recv().await;
        drop((activity, timer, child));
        ctx.signals("end").recv().await;
        Ok(None)
    });
    expect![[r#"
        drop Activities 5 in 0: future_dropped
        drop Timers 6 in 0: future_dropped
        drop Children 7 in 0: future_dropped
    "#]]
    .assert_eq(&world.send(signals("drop", "")));
    expect![[r#"
        1 WorkflowStarted
        2 TurnScheduled
        3 TurnStarted
        4 TurnCompleted
        5 ActivityScheduled
        6 TimerStarted
        7 ChildInitiated
        8 WorkflowSignalled
        9 TurnScheduled
        10 TurnStarted
        11 TurnCompleted
        12 TimerCancelled
        13 ExternalCancelInitiated
    "#]]
    .assert_eq(&world.kinds());
    assert_eq!(world.count(|kind| matches!(kind, EventKind::TimerCancelled(_))), 1);
    // Late completions of what was dropped are tolerated.
    let late = [completes(5, "late"), child_ends(7, RunEnding::Completed(json("late")))];
    assert_eq!(world.send_all(late), "");
    world.send(signals("end", ""));
    assert!(world.closed());
    world.check_prefixes();
}

#[test]
fn what_is_scheduled_and_dropped_in_one_turn_is_known_by_its_number() {
    let (world, first) = World::start(async |ctx| {
        drop(ctx.activity(activity("a")).start());
        drop(ctx.timer(seconds(1)).start());
        drop(ctx.child(child("c")).start());
        ctx.signals("end").recv().await;
        Ok(None)
    });
    expect![[r#"
        5: activity a
        6: timer 1s
        7: child c
        drop Activities 5 in 0: future_dropped
        drop Timers 6 in 0: future_dropped
        drop Children 7 in 0: future_dropped
    "#]]
    .assert_eq(&first);
    world.check_prefixes();
}

#[test]
fn an_outcome_that_comes_in_the_same_turn_makes_the_drop_fall_out() {
    let (mut world, _) = World::start(async |ctx| {
        let work = ctx.activity(activity("work")).start();
        let timer = ctx.timer(seconds(60)).start();
        ctx.signals("drop").recv().await;
        drop((work, timer));
        ctx.signals("end").recv().await;
        Ok(None)
    });
    let messages = [signals("drop", ""), completes(5, "just in time"), rings(6)];
    assert_eq!(world.send_all(messages), "");
    world.send(signals("end", ""));
    world.check_prefixes();
}

#[test]
fn drops_are_grouped_by_cause_and_ordered_by_number() {
    let (mut world, _) = World::start(async |ctx| {
        let mut calls: Vec<_> = (0..6).map(|_| ctx.activity(activity("work")).start()).collect();
        let timers: Vec<_> = (0..3).map(|_| ctx.timer(seconds(60)).start()).collect();
        ctx.signals("drop").recv().await;
        let odd: Vec<_> = [5, 3, 1].map(|place| calls.remove(place)).into();
        let [a, b, c] = timers.try_into().ok().unwrap();
        dropping(Code::Deadline, || drop((odd, b)));
        drop((c, calls, a));
        ctx.signals("end").recv().await;
        Ok(None)
    });
    expect![[r#"
        drop Activities 5,7,9 in 0: future_dropped
        drop Activities 6,8,10 in 0: deadline
        drop Timers 11 in 0: future_dropped
        drop Timers 12 in 0: deadline
        drop Timers 13 in 0: future_dropped
    "#]]
    .assert_eq(&world.send(signals("drop", "")));
    world.check_prefixes();
}

/// The order of dropping is not durable: other code that drops the same things in another order
/// replays.
#[test]
fn another_order_of_dropping_is_no_mismatch() {
    let (mut world, _) = World::start(async |ctx| {
        let a = (ctx.activity(activity("a")).start(), ctx.timer(seconds(1)).start());
        let b = (ctx.child(child("b")).start(), ctx.timer(seconds(2)).start());
        ctx.signals("drop").recv().await;
        drop(a);
        drop(b);
        ctx.signals("end").recv().await;
        Ok(None)
    });
    world.send(signals("drop", ""));
    let other = world.replay_with(async |ctx| {
        let a = (ctx.activity(activity("a")).start(), ctx.timer(seconds(1)).start());
        let b = (ctx.child(child("b")).start(), ctx.timer(seconds(2)).start());
        ctx.signals("drop").recv().await;
        drop(b);
        drop(a);
        ctx.signals("end").recv().await;
        Ok(None)
    });
    assert!(other.is_ok());
}

/// I10: drops by eviction say nothing, and forgetting is not cancelling.
#[test]
fn eviction_says_nothing_and_the_run_goes_on_where_it_was() {
    let (mut world, _) = World::start(async |ctx| {
        let work = ctx.activity(activity("work")).start();
        std::mem::forget(ctx.activity(activity("forgotten")).start());
        ctx.signals("go").recv().await;
        Ok(json(told(&work.await)))
    });
    let before = world.history.len();
    world.evict();
    assert_eq!(world.history.len(), before);
    assert_eq!(world.send(signals("go", "")), "");
    world.evict();
    expect![[r#"
        16: complete fine
    "#]]
    .assert_eq(&world.send(completes(5, "fine")));
    world.check_prefixes();
}

/// A replay that is dropped in the middle of everything drops the user's values, in peace.
#[test]
fn a_replay_that_is_dropped_frees_everything() {
    struct Guard(Arc<std::sync::atomic::AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let drops = Arc::<std::sync::atomic::AtomicUsize>::default();
    let count = drops.clone();
    let (world, _) = World::start(move |ctx| {
        let (body, shown, shielded) =
            (Guard(count.clone()), Guard(count.clone()), Guard(count.clone()));
        let cleaned = Guard(count.clone());
        async move {
            let _body = body;
            let state = Rc::new(RefCell::new(Some(ctx.clone())));
            ctx.expose("state", move |_| {
                let _shown = (&shown, &state);
                Ok(None)
            });
            let inner = ctx.clone();
            let shield = ctx.shield(async move {
                let _shielded = shielded;
                inner.signals("never").recv().await
            });
            let scope = ctx.scope(async {
                shield.await;
                Ok(())
            });
            scope
                .cleanup(async move |_, _| {
                    drop(cleaned);
                    Ok(())
                })
                .await?;
            Ok(None)
        }
    });
    let commands = world.turns.len();
    drop(world);
    assert_eq!(commands, 1);
    assert_eq!(drops.load(std::sync::atomic::Ordering::Relaxed), 4);
}

#[test]
fn a_wide_drop_is_one_decision_with_one_range() {
    let mut world = World::new(async |ctx| {
        let calls: Vec<_> = (0..10_000).map(|_| ctx.activity(activity("work")).start()).collect();
        ctx.signals("drop").recv().await;
        drop(calls);
        ctx.signals("end").recv().await;
        Ok(None)
    });
    world.turn();
    world.send(signals("drop", ""));
    let (_, commands) = world.turns.last().unwrap();
    let [Command::Receive(_), Command::Drop(decisions)] = &commands[..] else {
        panic!("{commands:?}")
    };
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0].what, Cancelled::Activities);
    assert_eq!(decisions[0].targets.ranges().len(), 1);
    assert_eq!(decisions[0].targets.count(), 10_000);
}

/// A dropped replay is no drop of the code: nothing of it may reach a later replay's thread state.
#[test]
fn reasons_do_not_outlive_a_panic() {
    let caught = std::panic::catch_unwind(|| {
        dropping(Code::Deadline, || panic!("in the middle"));
    });
    assert!(caught.is_err());
    let (_, first) = World::start(async |ctx| {
        drop(ctx.activity(activity("a")).start());
        ctx.signals("end").recv().await;
        Ok(None)
    });
    assert!(first.contains("future_dropped"), "{first}");
}

#[test]
fn a_replay_can_be_made_and_dropped_without_an_event() {
    let workflow = |_ctx: bowline_replay::Context, _| async { Ok(None) };
    let mut replay = Replay::new(Arc::new(workflow), bowline_core::RunId::default());
    assert!(replay.commands().is_err());
}
