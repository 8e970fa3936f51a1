//! Changed code, and runs that began before the change.

use bowline_replay::{Context, Difference, Fault};
use expect_test::expect;

use crate::support::*;

async fn old(ctx: Context) -> Body {
    ctx.activity(activity("plain")).await;
    ctx.activity(activity("end")).await;
    Ok(None)
}

async fn new(ctx: Context) -> Body {
    let name = if ctx.patched("fancy") { "fancy" } else { "plain" };
    ctx.activity(activity(name)).await;
    let end = if ctx.patched("fancy") { "fancy end" } else { "end" };
    ctx.activity(activity(end)).await;
    Ok(None)
}

#[test]
fn a_live_run_is_patched_and_remembers_it_once() {
    let (mut world, first) = World::start(new);
    expect![[r#"
        5: marker patch {"id": Bytes:b"fancy"}
        6: activity fancy
    "#]]
    .assert_eq(&first);
    world.evict();
    expect![[r#"
        12: activity fancy end
    "#]]
    .assert_eq(&world.send(completes(6, "")));
    world.check_prefixes();
}

/// The run went past the call before there was one: it is on the old side and stays there, also
/// when new code carries it on live.
#[test]
fn a_run_from_before_the_change_stays_on_the_old_side() {
    let (mut world, _) = World::start(old);
    world.deploy(new);
    expect![[r#"
        11: activity end
    "#]]
    .assert_eq(&world.send(completes(5, "")));
}

/// A change behind the point that the run has reached is taken live.
#[test]
fn a_run_takes_a_change_that_lies_ahead() {
    async fn ahead(ctx: Context) -> Body {
        ctx.activity(activity("plain")).await;
        let end = if ctx.patched("later") { "better end" } else { "end" };
        ctx.activity(activity(end)).await;
        Ok(None)
    }
    let (mut world, _) = World::start(old);
    world.deploy(ahead);
    expect![[r#"
        11: marker patch {"id": Bytes:b"later"}
        12: activity better end
    "#]]
    .assert_eq(&world.send(completes(5, "")));
    world.check_prefixes();
}

/// When no run is on the old side any more the call can be removed; runs with the marker replay.
#[test]
fn a_marker_that_nobody_asks_for_is_passed_over() {
    async fn cleaned(ctx: Context) -> Body {
        ctx.activity(activity("fancy")).await;
        ctx.activity(activity("fancy end")).await;
        Ok(None)
    }
    let (mut world, _) = World::start(new);
    world.replay_with(cleaned).unwrap();
    world.send(completes(6, ""));
    world.send(completes(world.newest(), ""));
    assert!(world.closed());
    world.replay_with(cleaned).unwrap();
    // But what follows the marker is still compared.
    let Err(Fault::Mismatch(mismatch)) = world.replay_with(old) else { panic!() };
    assert_eq!(mismatch.difference, Difference::Other);
}

#[test]
fn several_patches_in_one_turn_keep_their_order() {
    async fn two(ctx: Context) -> Body {
        let (a, b) = (ctx.patched("a"), ctx.patched("b"));
        ctx.activity(activity(&format!("{a} {b}"))).await;
        Ok(None)
    }
    async fn only_b(ctx: Context) -> Body {
        let b = ctx.patched("b");
        ctx.activity(activity(&format!("true {b}"))).await;
        Ok(None)
    }
    async fn only_end(ctx: Context) -> Body {
        ctx.activity(activity("true true")).await;
        ctx.patched("c");
        Ok(None)
    }
    let (mut world, first) = World::start(two);
    expect![[r#"
        5: marker patch {"id": Bytes:b"a"}
        6: marker patch {"id": Bytes:b"b"}
        7: activity true true
    "#]]
    .assert_eq(&first);
    for code in [world.replay_with(only_b), world.replay_with(only_end)] {
        code.unwrap();
    }
    world.send(completes(7, ""));
    world.replay_with(only_b).unwrap();
    world.replay_with(only_end).unwrap();
}
