//! Shields: finished whatever happens to whoever waits.

use bowline_replay::{Context, Stopped, either};
use expect_test::expect;

use crate::support::*;

#[test]
fn a_shield_that_is_awaited_is_nothing_special() {
    let (mut world, _) = World::start(async |ctx| {
        let inner = ctx.clone();
        let outcome = ctx.shield(async move { inner.activity(activity("save")).await }).await;
        Ok(json(told(&outcome)))
    });
    expect![[r#"
        left 1
        11: complete saved
    "#]]
    .assert_eq(&world.send(completes(5, "saved")));
    world.check_prefixes();
}

#[test]
fn a_shield_that_loses_a_race_is_finished_by_the_run() {
    let (mut world, _) = World::start(async |ctx| {
        let inner = ctx.clone();
        let saving = ctx.shield(async move {
            inner.activity(activity("save")).await;
            inner.activity(activity("confirm")).await;
        });
        let _ = either(ctx.signals("enough").recv(), saving).await;
        Ok(json("done"))
    });
    // Nothing is cancelled, and the run stays open.
    expect![].assert_eq(&world.send(signals("enough", "")));
    expect![[r#"
        15: activity confirm
    "#]]
    .assert_eq(&world.send(completes(5, "")));
    expect![[r#"
        left 1
        21: complete done
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "")));
    world.check_prefixes();
}

/// A scope does not stop what is shielded inside it, and is over only after it.
#[test]
fn a_scope_waits_for_shielded_work_and_does_not_stop_it() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let inner = ctx.clone();
            let saving = ctx.shield(async move { inner.activity(activity("save")).await });
            let _ = either(ctx.signals("leave").recv(), saving).await;
            Ok(())
        });
        scope.name("part").await?;
        ctx.activity(activity("after")).await;
        Ok(None)
    });
    assert_eq!(world.send(signals("leave", "")), "", "the scope waits for its shield");
    expect![[r#"
        15: activity after
        left 2
        left 1
    "#]]
    .assert_eq(&world.send(completes(5, "")));
    world.send(completes(world.newest(), ""));
    assert!(world.closed());
    world.check_prefixes();
}

/// A workflow that swallows its cancel: the loop is shielded, so the run stays open and works on.
#[test]
fn a_shielded_loop_swallows_the_cancel_and_keeps_the_run_open() {
    async fn stubborn(ctx: Context) -> Body {
        let inner = ctx.clone();
        let work = ctx.shield(async move {
            while text(&inner.signals("tick").recv().await.input) != "end" {
                inner.activity(activity("work")).await;
            }
        });
        work.await;
        Ok(json("never seen"))
    }
    let (mut world, _) = World::start(stubborn);
    assert_eq!(world.send(cancels("alice")), "");
    assert!(!world.closed());
    expect![[r#"
        13: activity work
    "#]]
    .assert_eq(&world.send(signals("tick", "on")));
    assert_eq!(world.send(completes(world.newest(), "")), "");
    expect![[r#"
        left 1
        23: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(signals("tick", "end")));
    assert!(world.closed());
    world.check_prefixes();
}

/// A run that is cancelled also waits for what a shield has left behind.
#[test]
fn what_a_shield_leaves_behind_is_stopped() {
    let (mut world, _) = World::start(async |ctx| {
        let inner = ctx.clone();
        let shield = ctx.shield(async move {
            let stray = inner.activity(activity("stray")).start();
            inner.signals("done").recv().await;
            std::mem::forget(stray);
        });
        shield.await;
        Ok(json("never seen"))
    });
    world.send(cancels("alice"));
    expect![[r#"
        drop Activities 5 in 1: scope_exit (shield)
    "#]]
    .assert_eq(&world.send(signals("done", "")));
    expect![[r#"
        left 1
        19: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(stops(5)));
    world.check_prefixes();
}

#[test]
fn a_shield_that_was_never_polled_never_happened() {
    let (world, first) = World::start(async |ctx| {
        let inner = ctx.clone();
        drop(ctx.shield(async move { inner.activity(activity("save")).await }));
        Ok(None)
    });
    expect![[r#"
        5: complete 
    "#]]
    .assert_eq(&first);
    world.check_prefixes();
}

/// A scope that charged inside a shield and then failed refunded nothing: what a shield had done
/// was not in `completed`. What completed inside a shield is the scope's like anything else.
#[test]
fn what_a_shield_has_done_is_compensated() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let inner = ctx.clone();
            ok(ctx.shield(async move { inner.activity(activity("charge")).await }).await)?;
            ok(ctx.activity(activity("ship")).await)?;
            Ok(())
        });
        scope.cleanup(refund).await?;
        Ok(None)
    });
    world.send(completes(5, "paid"));
    expect![[r#"
        17: activity refund paid
    "#]]
    .assert_eq(&world.send(fails(world.number("ship"), "no stock")));
    world.check_prefixes();
}

/// The clean-up of a scope began while a charge that was shielded inside it still ran.
#[test]
fn a_clean_up_begins_after_the_shields_inside() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let inner = ctx.clone();
            let charge = ctx.shield(async move { inner.activity(activity("charge")).await });
            let ship = async { ok(ctx.activity(activity("ship")).await) };
            bowline_replay::try_join_all([
                Box::pin(async { ok(charge.await) }) as bowline_replay::LocalFuture<'_, _>,
                Box::pin(ship),
            ])
            .await?;
            Ok(())
        });
        scope.cleanup(refund).await?;
        Ok(None)
    });
    assert_eq!(world.send(fails(6, "no stock")), "", "the shield is not over");
    expect![[r#"
        17: activity refund paid
        left 2
    "#]]
    .assert_eq(&world.send(completes(5, "paid")));
    world.check_prefixes();
}

/// The same for a scope that nobody waits for any more, because its run was cancelled.
#[test]
fn the_clean_up_of_a_cancelled_run_begins_after_its_shields() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let inner = ctx.clone();
            let _ = ctx.shield(async move { inner.activity(activity("charge")).await }).await;
            Ok(())
        });
        scope.cleanup(refund).await?;
        Ok(None)
    });
    assert_eq!(world.send(cancels("alice")), "");
    expect![[r#"
        15: activity refund paid
        left 2
    "#]]
    .assert_eq(&world.send(completes(5, "paid")));
    expect![[r#"
        left 1: run_cancelled
            because requested by alice (enough)
        21: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "")));
    world.check_prefixes();
}

/// A shield in a scope in a shield in a scope: everything is over from the inside to the outside,
/// and what nobody has undone is told outwards.
#[test]
fn shields_and_scopes_inside_each_other_end_from_the_inside() {
    async fn charge(ctx: Context) -> Result<(), bowline_replay::Ended> {
        let again = ctx.clone();
        let shielded = ctx.clone();
        let scope = ctx.scope(async move {
            let inner = shielded.clone();
            let charge = shielded.shield(async move { inner.activity(activity("inner")).await });
            let _ = either(shielded.signals("leave").recv(), charge).await;
            Err::<(), _>(failed("left"))
        });
        let _ = scope.name("middle").await;
        again.activity(activity("outer")).await;
        Ok(())
    }
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let inner = ctx.clone();
            ctx.shield(async move { charge(inner).await }).await
        });
        scope.deadline(seconds(60)).cleanup(refund).await?;
        Ok(None)
    });
    let alarm = 5;
    assert_eq!(world.send(rings(alarm)), "", "the deadline does not reach what is shielded");
    assert_eq!(world.send(signals("leave", "")), "", "the scope in the middle waits");
    expect![[r#"
        20: activity outer
        left 4
        left 3: scope_exit (middle failed: left)
    "#]]
    .assert_eq(&world.send(completes(6, "one")));
    expect![[r#"
        26: activity refund one, two
        left 2
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "two")));
    world.check_prefixes();
}

/// A shield that was first polled inside a scope belongs to it; its holder, outside, waits for the
/// scope and polls nothing. The run sees the shield through, so nobody waits for ever.
#[test]
fn a_shield_that_is_held_outside_its_scope_is_finished_by_the_run() {
    let (mut world, _) = World::start(async |ctx| {
        let inner = ctx.clone();
        let mut saving = ctx.shield(async move {
            inner.activity(activity("save")).await;
            told(&inner.activity(activity("confirm")).await)
        });
        let scope = ctx.scope(async {
            let _ = either(ctx.signals("leave").recv(), &mut saving).await;
            Ok(())
        });
        scope.await?;
        Ok(json(saving.await))
    });
    assert_eq!(world.send(signals("leave", "")), "");
    world.send(completes(5, ""));
    expect![[r#"
        left 2
        left 1
        21: complete confirmed
    "#]]
    .assert_eq(&world.send(completes(world.number("confirm"), "confirmed")));
    world.check_prefixes();
}

/// A scope waits for what a shield inside it has left behind, too.
#[test]
fn a_scope_waits_for_what_its_shields_leave_behind() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let inner = ctx.clone();
            let shield = ctx.shield(async move {
                std::mem::forget(inner.activity(activity("stray")).start());
            });
            shield.await;
            ok(ctx.activity(activity("next")).await)?;
            Ok(())
        });
        scope.cleanup(refund).await?;
        Ok(None)
    });
    assert_eq!(world.send(fails(6, "no")), "", "the stray one has not stopped");
    expect![[r#"
        17: activity refund late
        left 2
    "#]]
    .assert_eq(&world.send(completes(5, "late")));
    world.check_prefixes();
}

/// Undoes what was completed.
async fn refund(ctx: Context, stopped: Stopped) -> Result<(), bowline_replay::Ended> {
    let done: Vec<_> = stopped.completed.iter().map(|item| text(&item.result)).collect();
    ok(ctx.activity(activity(&format!("refund {}", done.join(", ")))).await).map(drop)
}
