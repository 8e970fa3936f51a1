//! Going on as a new run, from wherever the code says so. It is the run that goes on; a shield or a
//! clean-up that said so was left waiting for ever, and the run with it.

use bowline_core::{Command, ContinueAsNew};
use bowline_replay::{Context, Ended, either, join};
use expect_test::expect;

use crate::support::*;

async fn go_on<T>(ctx: &Context, input: &str) -> T {
    let next = ContinueAsNew { input: json(input), ..ContinueAsNew::default() };
    match ctx.continue_as_new(next).await {}
}

/// What the last turn went on with.
fn went_on(world: &World) -> String {
    assert!(world.closed(), "{}", world.kinds());
    world.check_prefixes();
    match world.turns.last().and_then(|(_, commands)| commands.last()) {
        Some(Command::ContinueAsNew(next, _)) => text(&next.input),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_shield_goes_on_for_the_whole_run() {
    let (mut world, _) = World::start(async |ctx| {
        let inner = ctx.clone();
        let shield = ctx.shield(async move {
            let _beside = inner.activity(activity("beside")).start();
            inner.signals("go").recv().await;
            go_on::<()>(&inner, "next").await;
        });
        let (_, _) = join(shield, ctx.activity(activity("body"))).await;
        Ok(None)
    });
    world.send(signals("go", ""));
    assert_eq!(went_on(&world), "next");
}

/// A shield that the run has adopted, and another one that has to be finished first.
#[test]
fn an_adopted_shield_goes_on_after_the_others_are_finished() {
    let (mut world, _) = World::start(async |ctx| {
        let (one, two) = (ctx.clone(), ctx.clone());
        let first = ctx.shield(async move {
            one.signals("go").recv().await;
            go_on::<()>(&one, "next").await;
        });
        let second = ctx.shield(async move { two.activity(activity("save")).await });
        let _ = either(ctx.signals("leave").recv(), join(first, second)).await;
        ctx.activity(activity("body")).await;
        Ok(None)
    });
    world.send(signals("leave", ""));
    let body = world.newest();
    expect![[r#"
        left 1
        drop Activities 10 in 0: run_continued
    "#]]
    .assert_eq(&world.send(signals("go", "")));
    assert!(!world.closed(), "a shield is not over");
    world.send(completes(5, ""));
    assert_eq!(went_on(&world), "next");
    assert_eq!(body, 10);
}

#[test]
fn a_clean_up_goes_on_for_the_whole_run() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { ok(ctx.activity(activity("part")).await) });
        let scope = scope.cleanup(async |ctx, _| {
            ctx.activity(activity("undo")).await;
            go_on(&ctx, "again").await
        });
        let _ = join(scope, ctx.activity(activity("beside"))).await;
        Ok(None)
    });
    world.send(fails(5, "no"));
    world.send(completes(world.number("undo"), ""));
    assert_eq!(went_on(&world), "again");
}

/// Clean-ups inside and around what goes on are done before, from the inside to the outside.
#[test]
fn clean_ups_around_a_shield_that_goes_on_are_done_before() {
    let (mut world, _) = World::start(async |ctx| {
        let (inner, outer) = (ctx.clone(), ctx.clone());
        let scope = ctx.scope(async move {
            let shield = outer.shield(async move {
                let scope = inner.scope(async { go_on::<Result<(), Ended>>(&inner, "next").await });
                let _ = scope.cleanup(undo("inner")).await;
            });
            shield.await;
            Ok(())
        });
        scope.cleanup(undo("outer")).await?;
        Ok(None)
    });
    assert_eq!(world.newest(), world.number("undo inner"));
    world.send(completes(world.newest(), ""));
    assert_eq!(world.newest(), world.number("undo outer"));
    world.send(completes(world.newest(), ""));
    assert_eq!(went_on(&world), "next");
}

fn undo(what: &str) -> impl AsyncFnOnce(Context, bowline_replay::Stopped) -> Result<(), Ended> {
    let name = format!("undo {what}");
    async move |ctx, _| ok(ctx.activity(activity(&name)).await).map(drop)
}

/// Whoever waits for a shield that went on has nothing more to do, be it a shield itself.
#[test]
fn a_shield_around_a_shield_that_goes_on_is_over() {
    let (world, _) = World::start(async |ctx| {
        let outer = ctx.clone();
        let shield = ctx.shield(async move {
            let inner = outer.clone();
            outer.shield(async move { go_on::<()>(&inner, "next").await }).await;
            outer.activity(activity("never")).await;
        });
        let _ = either(ctx.signals("leave").recv(), shield).await;
        Ok(None)
    });
    assert_eq!(went_on(&world), "next");
    assert_eq!(world.count(|kind| kind.name() == "ActivityScheduled"), 0);
}

/// What was decided first stands: a cancel, or a result. Nobody waits for ever.
#[test]
fn going_on_too_late_only_ends_who_asks() {
    async fn body(ctx: Context) -> Body {
        let inner = ctx.clone();
        let shield = ctx.shield(async move {
            inner.signals("go").recv().await;
            go_on::<()>(&inner, "next").await;
        });
        let _ = either(ctx.signals("leave").recv(), shield).await;
        Ok(json("a result"))
    }
    let (mut world, _) = World::start(body);
    world.send(signals("leave", ""));
    expect![[r#"
        left 1
        13: complete a result
    "#]]
    .assert_eq(&world.send(signals("go", "")));
    world.check_prefixes();

    let (mut world, _) = World::start(body);
    world.send(cancels("alice"));
    expect![[r#"
        left 1
        13: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(signals("go", "")));
    world.check_prefixes();

    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { ok(ctx.activity(activity("part")).await) });
        let scope = scope.cleanup(async |ctx, _| go_on(&ctx, "again").await);
        scope.await?;
        Ok(None)
    });
    world.send(cancels("alice"));
    expect![[r#"
        left 1: run_cancelled
            because requested by alice (enough)
        15: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(stops(5)));
    world.check_prefixes();
}

/// A scope that waits for its shields, which go on, is over with them; so is a deadline.
#[test]
fn a_deadline_around_a_shield_that_goes_on_is_unset() {
    let (mut world, _) = World::start(async |ctx| {
        let inner = ctx.clone();
        let scope = ctx.scope(async move {
            let own = inner.clone();
            let shield = inner.shield(async move {
                own.signals("go").recv().await;
                go_on::<()>(&own, "next").await;
            });
            shield.await;
            Ok(())
        });
        scope.deadline(seconds(60)).cleanup(undo("part")).await?;
        Ok(None)
    });
    assert_eq!(world.send(rings(5)), "");
    world.send(signals("go", ""));
    world.send(completes(world.number("undo part"), ""));
    assert_eq!(went_on(&world), "next");
}
