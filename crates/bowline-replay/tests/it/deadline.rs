//! Deadlines: absolute, durable, and passed on as remaining time.

use bowline_core::{Outcome, Span, Time, Timeout, WorkflowStarted};
use expect_test::expect;

use crate::support::*;

#[test]
fn a_deadline_cancels_what_is_inside() {
    let (mut world, first) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let _beside = ctx.timer(seconds(600)).start();
            ok(ctx.activity(activity("slow")).await)
        });
        let stopped = scope.name("part").deadline(seconds(60)).await.unwrap_err();
        Ok(json(stopped.why.to_string()))
    });
    expect![[r#"
        5: timer 60s
        6: timer 600s
        7: activity slow until 61000000µs
        scope 1 in 0 "part"
    "#]]
    .assert_eq(&first);
    expect![[r#"
        drop Timers 6 in 1: deadline (part)
        drop Activities 7 in 1: deadline (part)
    "#]]
    .assert_eq(&world.send(rings(5)));
    expect![[r#"
        left 1: deadline (part)
        18: complete cancelled: deadline (part)
    "#]]
    .assert_eq(&world.send(stops(7)));
    world.check_prefixes();
}

#[test]
fn a_deadline_that_is_kept_is_unset() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { ok(ctx.activity(activity("quick")).await) });
        Ok(scope.deadline(seconds(60)).await?)
    });
    expect![[r#"
        left 1
        drop Timers 5 in 1: scope_exit
        13: complete in time
    "#]]
    .assert_eq(&world.send(completes(6, "in time")));
    world.check_prefixes();
}

/// N10: nested deadlines take the minimum, and reach activities and children as what is left of
/// them; not detached work, not shielded work, not clean-ups.
#[test]
fn n10_deadlines_flow_inwards_as_the_minimum() {
    let (mut world, first) = World::start(async |ctx| {
        let mut own = activity("own limit");
        own.timeouts.schedule_to_close = Some(Span(seconds(3)));
        let outer = ctx.scope(async {
            ctx.activity(activity("detached")).detach();
            let _whole = ctx.activity(activity("whole")).start();
            ctx.signals("go").recv().await;
            let inner = ctx.scope(async {
                let _own = ctx.activity(own).start();
                let _less = ctx.activity(activity("less")).start();
                let _child = ctx.child(child("child")).start();
                let shielded = ctx.clone();
                let call = async move { shielded.activity(activity("shielded")).await };
                ctx.shield(call).await;
                Ok(())
            });
            inner.deadline(seconds(3600)).await?;
            Ok(())
        });
        let outer = outer.deadline(seconds(60)).cleanup(async |ctx, _| {
            ctx.activity(activity("clean")).await;
            Ok(())
        });
        outer.await?;
        Ok(None)
    });
    expect![[r#"
        5: timer 60s
        6: activity detached
        7: activity whole until 61000000µs
        scope 1 in 0 ""
        detach 6
    "#]]
    .assert_eq(&first);
    expect![[r#"
        12: timer 3600s
        13: activity own limit within 3s until 61000000µs
        14: activity less until 61000000µs
        15: child child until 61000000µs
        16: activity shielded
        scope 2 in 1 ""
        scope 3 in 2 "shield"
    "#]]
    .assert_eq(&world.send(signals("go", "")));
    expect![[r#"
        drop Activities 7 in 1: deadline
        drop Timers 12 in 2: scope_exit
            because deadline
        drop Activities 13-14 in 2: scope_exit
            because deadline
        drop Children 15 in 2: scope_exit
            because deadline
    "#]]
    .assert_eq(&world.send(rings(5)));
    world.check_prefixes();
}

#[test]
fn the_deadline_of_the_run_flows_into_everything() {
    let deadline = Some(Time(1_000_000).after(seconds(100)));
    let started = WorkflowStarted { deadline, ..WorkflowStarted::default() };
    let mut world = World::with(
        async |ctx| {
            let _child = ctx.child(child("child")).start();
            ctx.activity(activity("plain")).await;
            let scope = ctx.scope(async { ok(ctx.activity(activity("inside")).await) });
            Ok(scope.deadline(seconds(1000)).await?)
        },
        started,
    );
    expect![[r#"
        5: child child until 101000000µs
        6: activity plain until 101000000µs
    "#]]
    .assert_eq(&world.turn());
    expect![[r#"
        12: timer 1000s
        13: activity inside until 101000000µs
        scope 1 in 0 ""
    "#]]
    .assert_eq(&world.send(completes(6, "")));
    world.check_prefixes();
}

/// The deadline rings in the very turn in which the scope ends: then it says nothing more.
#[test]
fn a_deadline_that_rings_too_late_changes_nothing() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { ok(ctx.activity(activity("quick")).await) });
        scope.deadline(seconds(60)).await?;
        ctx.activity(activity("next")).await;
        Ok(None)
    });
    expect![[r#"
        13: activity next
        left 1
    "#]]
    .assert_eq(&world.send_all([completes(6, ""), rings(5)]));
    world.check_prefixes();
}

#[test]
fn an_operator_may_unset_a_deadline() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { ok(ctx.activity(activity("slow")).await) });
        Ok(scope.deadline(seconds(60)).await?)
    });
    assert_eq!(world.send(cancels_one(5, "olga")), "");
    expect![[r#"
        left 1
        16: complete took its time
    "#]]
    .assert_eq(&world.send(completes(6, "took its time")));
    world.check_prefixes();
}

/// A limit of its own is its own, even inside a deadline.
#[test]
fn a_limit_inside_a_deadline_is_no_deadline() {
    let (mut world, _) = World::start(async |ctx| {
        let mut spec = activity("slow");
        spec.timeouts.schedule_to_close = Some(Span(seconds(3)));
        let scope = ctx.scope(async { ok(ctx.activity(spec).await) });
        let stopped = scope.deadline(seconds(60)).await.unwrap_err();
        Ok(json(stopped.why.to_string()))
    });
    expect![[r#"
        left 1: scope_exit (timed out: all attempts together took too long)
        drop Timers 5 in 1: scope_exit (timed out: all attempts together took too long)
        13: complete timed out: all attempts together took too long
    "#]]
    .assert_eq(&world.send(ends(6, Outcome::TimedOut(Timeout::ScheduleToClose))));
    world.check_prefixes();
}

/// The body had succeeded, and something beside it was still being stopped when the deadline rang
/// in the same turn: then the value was thrown away. In a turn of its own it came through.
#[test]
fn a_deadline_that_rings_after_the_body_has_succeeded_keeps_the_value() {
    let run = |batched: bool| {
        let (mut world, _) = World::start(async |ctx| {
            let scope = ctx.scope(async {
                let _beside = ctx.activity(activity("beside")).start();
                ok(ctx.activity(activity("quick")).await)
            });
            let scope = scope.deadline(seconds(60)).cleanup(async |ctx, _| {
                ctx.activity(activity("undo")).await;
                Ok(())
            });
            Ok(scope.await?)
        });
        match batched {
            true => drop(world.send_all([completes(7, "paid"), rings(5)])),
            false => drop(world.send(completes(7, "paid"))),
        }
        let last = world.send(stops(6));
        world.check_prefixes();
        assert!(world.closed(), "{last}");
        last
    };
    assert!(run(false).contains("complete paid"));
    assert!(run(true).contains("complete paid"));
}
