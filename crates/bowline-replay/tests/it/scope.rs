//! Scopes: who belongs to whom, and when a scope is over.

use bowline_core::Rung;
use bowline_replay::{Either, either, join};
use expect_test::expect;

use crate::support::*;

#[test]
fn a_scope_without_anything_left_inside_ends_at_once() {
    let (mut world, first) = World::start(async |ctx| {
        let value = ctx.scope(async { ok(ctx.activity(activity("a")).await) }).name("part").await;
        Ok(value?)
    });
    expect![[r#"
        5: activity a
        scope 1 in 0 "part"
    "#]]
    .assert_eq(&first);
    expect![[r#"
        left 1
        11: complete 1
    "#]]
    .assert_eq(&world.send(completes(5, "1")));
    world.check_prefixes();
}

#[test]
fn what_was_started_and_not_awaited_is_cancelled_and_waited_for() {
    let (mut world, _) = World::start(async |ctx| {
        let mut outside = None;
        let scope = ctx.scope(async {
            outside = Some(ctx.activity(activity("stray")).start());
            ctx.timer(seconds(9)).detach();
            let timer = ctx.timer(seconds(60)).start();
            ok(ctx.activity(activity("main")).await)?;
            std::mem::forget(timer);
            Ok("value")
        });
        let value = scope.name("part").await?;
        let stray = outside.expect("it was started").await;
        Ok(json(format!("{value}, stray {}", told(&stray))))
    });
    // The timer is over at once; the stray activity has to stop first.
    expect![[r#"
        drop Activities 5 in 1: scope_exit (part)
        drop Timers 7 in 1: scope_exit (part)
    "#]]
    .assert_eq(&world.send(completes(8, "")));
    expect![[r#"
        left 1
        20: complete value, stray cancelled Signal requested by row (as the row says)
    "#]]
    .assert_eq(&world.send(stops(5)));
    world.check_prefixes();
}

#[test]
fn a_body_that_fails_cancels_what_is_inside_and_waits() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let (_, second) =
                join(ctx.activity(activity("a")), async { ok(ctx.activity(activity("b")).await) })
                    .await;
            second
        });
        let trying = ctx.scope(async {
            let other = ctx.activity(activity("other")).start();
            ok(ctx.activity(activity("fails")).await)?;
            Ok(told(&other.await))
        });
        let (first, second) = join(scope, trying.name("trying")).await;
        Ok(json(format!("{:?} {}", first.is_ok(), second.unwrap_err().why)))
    });
    expect![[r#"
        drop Activities 7 in 2: scope_exit (trying failed: no)
    "#]]
    .assert_eq(&world.send(fails(8, "no")));
    assert_eq!(world.send_all([completes(5, ""), completes(6, "")]), "left 1\n");
    expect![[r#"
        left 2: scope_exit (trying failed: no)
        26: complete true failed: no
    "#]]
    .assert_eq(&world.send(climbs(7, Rung::Abort)));
    world.check_prefixes();
}

#[test]
fn nested_scopes_end_before_the_ones_around_them() {
    let (mut world, _) = World::start(async |ctx| {
        let outer = ctx.scope(async {
            let inner = ctx.scope(async {
                let _slow = ctx.activity(activity("slow")).start();
                ctx.signals("fail").recv().await;
                Err::<(), _>(failed("inside"))
            });
            inner.name("inner").await?;
            Ok(())
        });
        let stopped = outer.name("outer").await.unwrap_err();
        Ok(json(stopped.why.to_string()))
    });
    expect![[r#"
        drop Activities 5 in 2: scope_exit (inner failed: inside)
    "#]]
    .assert_eq(&world.send(signals("fail", "")));
    expect![[r#"
        left 2: scope_exit (inner failed: inside)
        left 1: scope_exit (outer failed: inside)
        13: complete failed: inside
    "#]]
    .assert_eq(&world.send(skips(&[5])));
    world.check_prefixes();
}

/// What is first polled inside belongs to the scope, wherever it was made.
#[test]
fn a_call_belongs_to_the_scope_that_first_polls_it() {
    let (mut world, _) = World::start(async |ctx| {
        let mut made_outside = ctx.activity(activity("made outside"));
        let mut started_outside = ctx.activity(activity("started outside")).start();
        let scope = ctx.scope(async {
            let both = join(&mut made_outside, &mut started_outside);
            let _ = either(ctx.signals("leave").recv(), both).await;
            Ok(())
        });
        scope.await?;
        Ok(json(told(&started_outside.await)))
    });
    expect![[r#"
        drop Activities 6 in 1: scope_exit
    "#]]
    .assert_eq(&world.send(signals("leave", "")));
    expect![[r#"
        left 1
    "#]]
    .assert_eq(&world.send(stops(6)));
    expect![[r#"
        21: complete alive
    "#]]
    .assert_eq(&world.send(completes(5, "alive")));
    world.check_prefixes();
}

/// A scope that is polled through a reference and left alone does not hang the one around it.
#[test]
fn a_scope_that_nobody_polls_any_more_ends_with_the_one_around_it() {
    let (mut world, _) = World::start(async |ctx| {
        let mut inner = ctx.scope(async { ok(ctx.activity(activity("slow")).await) }).name("inner");
        let outer = ctx.scope(async {
            match either(&mut inner, ctx.signals("leave").recv()).await {
                Either::Left(_) => Ok("inner"),
                Either::Right(_) => Ok("signal"),
            }
        });
        let first = outer.name("outer").await?;
        let why = inner.await.unwrap_err().why;
        Ok(json(format!("{first}, then {why}")))
    });
    expect![[r#"
        drop Activities 5 in 2: scope_exit (inner)
            because scope_exit (outer)
    "#]]
    .assert_eq(&world.send(signals("leave", "")));
    expect![[r#"
        left 2: scope_exit (outer)
        left 1
        15: complete signal, then cancelled: scope_exit (outer)
    "#]]
    .assert_eq(&world.send(stops(5)));
    world.check_prefixes();
}

#[test]
fn a_dropped_scope_cancels_what_is_inside() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let _beside = ctx.timer(seconds(60)).start();
            ok(ctx.activity(activity("slow")).await)
        });
        let _ = either(ctx.signals("enough").recv(), scope.name("part")).await;
        ctx.activity(activity("after")).await;
        Ok(None)
    });
    expect![[r#"
        11: activity after
        drop Timers 5 in 1: scope_exit (part)
            because select_lost
        drop Activities 6 in 1: scope_exit (part)
            because select_lost
    "#]]
    .assert_eq(&world.send(signals("enough", "")));
    // The dropped scope is over when its activity is; the code does not wait for it.
    expect![[r#"
        left 1: select_lost
    "#]]
    .assert_eq(&world.send(completes(6, "late")));
    world.check_prefixes();
}

#[test]
fn a_detached_handle_frees_its_scope() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let mail = ctx.activity(activity("mail")).start();
            ctx.signals("leave").recv().await;
            mail.detach();
            Ok(())
        });
        scope.await?;
        Ok(None)
    });
    expect![[r#"
        left 1
        detach 5
        10: complete 
    "#]]
    .assert_eq(&world.send(signals("leave", "")));
    world.check_prefixes();
}
