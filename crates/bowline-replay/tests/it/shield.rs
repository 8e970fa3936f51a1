//! Shields: finished whatever happens to whoever waits.

use bowline_replay::{Context, either};
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

/// A scope does not wait for what is shielded inside it, and does not stop it.
#[test]
fn a_scope_leaves_shielded_work_alone() {
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
    expect![[r#"
        10: activity after
        left 1
    "#]]
    .assert_eq(&world.send(signals("leave", "")));
    assert_eq!(
        world.send(completes(world.newest(), "")),
        "",
        "the run waits for what it has adopted"
    );
    expect![[r#"
        left 2
        21: complete 
    "#]]
    .assert_eq(&world.send(completes(5, "")));
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
        left 1
        drop Activities 5 in 1: scope_exit (shield)
    "#]]
    .assert_eq(&world.send(signals("done", "")));
    expect![[r#"
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
