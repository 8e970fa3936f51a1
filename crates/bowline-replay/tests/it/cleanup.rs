//! Clean-up: after everything has stopped, shielded, inner before outer, even for dropped scopes.

use bowline_core::{EventKind, RunEnding, Rung};
use bowline_replay::{Context, Item, Stopped, either};
use expect_test::expect;

use crate::support::*;

fn listed(items: &[Item]) -> String {
    let texts: Vec<_> = items
        .iter()
        .map(|item| format!("{}#{}={}", item.name, item.number, text(&item.result)))
        .collect();
    texts.join(",")
}

fn lists(stopped: &Stopped) -> String {
    let Stopped { why, completed, cancelled, abandoned, .. } = stopped;
    let (completed, cancelled, abandoned) =
        (listed(completed), listed(cancelled), listed(abandoned));
    format!("{why}; completed {completed}; cancelled {cancelled}; abandoned {abandoned}")
}

/// Reports what it is told as the name of an activity.
async fn report(ctx: Context, stopped: Stopped) -> Result<(), bowline_replay::Ended> {
    ctx.activity(activity(&lists(&stopped))).await;
    Ok(())
}

async fn booking(ctx: Context) -> Body {
    let scope = ctx.scope(async {
        ok(ctx.activity(activity("flight")).await)?;
        let hotel = ctx.activity(activity("hotel")).start();
        let car = ctx.activity(activity("car")).start();
        let helper = ctx.child(child("helper")).start();
        ok(ctx.activity(activity("pay")).await)?;
        let _all = (hotel.await, car.await, helper.await);
        Ok(())
    });
    scope.name("booking").cleanup(report).await?;
    Ok(json("booked"))
}

/// N9: the clean-up is told what completed (late successes included), what was cancelled and what
/// was abandoned.
#[test]
fn n9_the_clean_up_is_told_what_became_of_everything() {
    let (mut world, _) = World::start(booking);
    world.send(completes(5, "F1"));
    let [hotel, car, helper, pay] = ["hotel", "car", "helper", "pay"].map(|n| world.number(n));
    expect![[r#"
        drop Activities 11-12 in 1: scope_exit (booking failed: no money)
        drop Children 13 in 1: scope_exit (booking failed: no money)
    "#]]
    .assert_eq(&world.send(fails(pay, "no money")));
    assert_eq!(world.send(completes(hotel, "H1")), "", "a late success");
    assert_eq!(world.send(climbs(car, Rung::Abandon)), "");
    expect![[r#"
        36: activity failed: no money
            completed flight#5=F1,hotel#11=H1,helper#13=C1
            cancelled 
            abandoned car#12=
    "#]]
    .assert_eq(&world.send(child_ends(helper, RunEnding::Completed(json("C1")))));
    expect![[r#"
        left 1: scope_exit (booking failed: no money)
        42: fail no money
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "")));
    world.check_prefixes();
}

#[test]
fn a_scope_that_ends_well_is_not_cleaned_up() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { ok(ctx.activity(activity("a")).await) });
        Ok(scope.cleanup(report).await?)
    });
    expect![[r#"
        left 1
        11: complete 1
    "#]]
    .assert_eq(&world.send(completes(5, "1")));
    world.check_prefixes();
}

#[test]
fn a_cancelled_run_cleans_up_and_then_closes_cancelled() {
    let (mut world, _) = World::start(booking);
    world.send(completes(5, "F1"));
    let [hotel, car, helper, pay] = ["hotel", "car", "helper", "pay"].map(|n| world.number(n));
    expect![[r#"
        drop Activities 11-12,14 in 1: scope_exit (booking)
            because run_cancelled
            because requested by alice (enough)
        drop Children 13 in 1: scope_exit (booking)
            because run_cancelled
            because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    // A second request changes nothing.
    world.idle(cancels("bob"));
    world.send(skips(&[hotel, pay]));
    world.send(stops(car));
    expect![[r#"
        33: activity cancelled: run_cancelled, because requested by alice (enough)
            completed flight#5=F1
            cancelled hotel#11=,car#12=,helper#13=,pay#14=
            abandoned 
    "#]]
    .assert_eq(&world.send(child_ends(helper, RunEnding::Cancelled(None, None))));
    expect![[r#"
        left 1: run_cancelled
            because requested by alice (enough)
        39: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "")));
    assert_eq!(world.count(|kind| matches!(kind, EventKind::WorkflowCancelled(_))), 1);
    world.check_prefixes();
}

async fn nested(ctx: Context) -> Body {
    let outer = ctx.scope(async {
        ok(ctx.activity(activity("outer step")).await)?;
        let inner = ctx.scope(async {
            ok(ctx.activity(activity("inner step")).await)?;
            ok(ctx.activity(activity("slow")).await)
        });
        let inner = inner.name("inner").cleanup(async |ctx, stopped| {
            ctx.activity(activity(&format!("undo {}", listed(&stopped.completed)))).await;
            Ok(())
        });
        Ok(inner.await?)
    });
    let outer = outer.name("outer").cleanup(async |ctx, stopped| {
        ctx.activity(activity(&format!("undo {}", listed(&stopped.completed)))).await;
        Ok(())
    });
    Ok(outer.await?)
}

#[test]
fn inner_clean_ups_run_before_outer_ones() {
    let (mut world, _) = World::start(nested);
    world.send(completes(5, "1"));
    world.send(completes(world.newest(), "2"));
    expect![[r#"
        drop Activities 17 in 2: scope_exit (inner)
            because scope_exit (outer)
            because run_cancelled
            because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    // The inner scope has undone its own step; the outer one is told of its own only.
    expect![[r#"
        27: activity undo inner step#11=2
    "#]]
    .assert_eq(&world.send(stops(world.number("slow"))));
    expect![[r#"
        33: activity undo outer step#5=1
        left 2: scope_exit (outer)
            because run_cancelled
            because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "")));
    expect![[r#"
        left 1: run_cancelled
            because requested by alice (enough)
        39: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "")));
    assert!(world.closed());
    world.check_prefixes();
}

/// What a nested scope did well, or without a clean-up of its own, is the outer one's to undo.
#[test]
fn the_outer_clean_up_hears_of_nested_scopes_that_did_not_clean_up() {
    let (mut world, _) = World::start(async |ctx| {
        let outer = ctx.scope(async {
            let well = ctx.scope(async { ok(ctx.activity(activity("well")).await) });
            well.cleanup(report).await?;
            let plain = ctx.scope(async {
                ok(ctx.activity(activity("plain")).await)?;
                Err::<(), _>(failed("after all"))
            });
            plain.await?;
            Ok(())
        });
        outer.cleanup(report).await?;
        Ok(None)
    });
    world.send(completes(5, "1"));
    expect![[r#"
        17: activity failed: after all
            completed well#5=1,plain#11=2
            cancelled 
            abandoned 
        left 3: scope_exit (failed: after all)
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "2")));
    world.check_prefixes();
}

/// A scope that loses a race is cleaned up all the same: the run adopts it.
#[test]
fn a_dropped_scope_is_cleaned_up_by_the_run() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            ok(ctx.activity(activity("charge")).await)?;
            ok(ctx.activity(activity("ship")).await)
        });
        let scope = scope.name("order").cleanup(report);
        let _ = either(ctx.signals("enough").recv(), scope).await;
        Ok(json("not waited for"))
    });
    world.send(completes(5, "P1"));
    // The body is done, but the run stays open until the clean-up is.
    expect![[r#"
        drop Activities 11 in 1: scope_exit (order)
            because select_lost
    "#]]
    .assert_eq(&world.send(signals("enough", "")));
    expect![[r#"
        19: activity cancelled: select_lost
            completed charge#5=P1
            cancelled ship#11=
            abandoned 
    "#]]
    .assert_eq(&world.send(skips(&[world.number("ship")])));
    assert!(!world.closed());
    // Nothing disturbs a clean-up: not even the cancel of the run.
    assert_eq!(world.send(cancels("alice")), "");
    expect![[r#"
        left 1: select_lost
        29: complete not waited for
    "#]]
    .assert_eq(&world.send(completes(world.newest(), "")));
    assert!(world.closed());
    world.check_prefixes();
}

#[test]
fn a_cancel_does_not_disturb_a_clean_up_that_runs() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { ok(ctx.activity(activity("work")).await) });
        let scope = scope.cleanup(async |ctx, _| {
            let inner = ctx.scope(async { ok(ctx.activity(activity("undo")).await) });
            inner.deadline(seconds(60)).await?;
            Ok(())
        });
        scope.await?;
        Ok(None)
    });
    world.send(fails(5, "no"));
    expect![].assert_eq(&world.send(cancels("alice")));
    expect![[r#"
        left 2
        left 1: scope_exit (failed: no)
        drop Timers 11 in 2: scope_exit
        23: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(completes(world.number("undo"), "undone")));
    world.check_prefixes();
}

/// A clean-up that fails is what the scope ended with; if nobody waits, the run fails with it.
#[test]
fn a_failed_clean_up_is_never_lost() {
    let fails_to_clean = async |ctx: Context, _: Stopped| {
        ok(ctx.activity(activity("undo")).await)?;
        Ok(())
    };
    let (mut world, _) = World::start(move |ctx: Context| async move {
        let scope = ctx.scope(async { ok(ctx.activity(activity("work")).await) });
        let stopped = scope.cleanup(fails_to_clean).await.unwrap_err();
        Ok(json(format!("seen: {}", stopped.why)))
    });
    world.send(fails(5, "no"));
    expect![[r#"
        left 1: scope_exit (failed: no)
        17: complete seen: failed: cannot undo
    "#]]
    .assert_eq(&world.send(fails(world.number("undo"), "cannot undo")));
    world.check_prefixes();

    let (mut world, _) = World::start(move |ctx: Context| async move {
        let scope = ctx.scope(async { ok(ctx.activity(activity("work")).await) });
        scope.cleanup(fails_to_clean).await?;
        Ok(None)
    });
    world.send(cancels("alice"));
    world.send(skips(&[5]));
    expect![[r#"
        left 1: run_cancelled
            because requested by alice (enough)
        19: fail cannot undo
    "#]]
    .assert_eq(&world.send(fails(world.number("undo"), "cannot undo")));
    world.check_prefixes();
}

/// What a clean-up starts and leaves is stopped and waited for, like everything else.
#[test]
fn a_clean_up_is_over_when_all_that_it_started_has_stopped() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { Err::<(), _>(failed("at once")) });
        let scope = scope.cleanup(async |ctx, _| {
            std::mem::forget(ctx.activity(activity("forgotten")).start());
            Ok(())
        });
        let stopped = scope.await.unwrap_err();
        Ok(json(stopped.why.to_string()))
    });
    expect![[r#"
        1 WorkflowStarted
        2 TurnScheduled
        3 TurnStarted
        4 TurnCompleted
        5 ActivityScheduled
    "#]]
    .assert_eq(&world.kinds());
    expect![[r#"
        left 1: scope_exit (failed: at once)
        9: complete failed: at once
    "#]]
    .assert_eq(&world.send(skips(&[5])));
    world.check_prefixes();
}

/// The body was done, but before everything had stopped its scope was dropped: nobody has the
/// value, so what was done is undone.
#[test]
fn a_scope_that_is_dropped_after_its_body_was_done_is_cleaned_up() {
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            let _stray = ctx.activity(activity("stray")).start();
            ok(ctx.activity(activity("charge")).await)
        });
        let scope = scope.cleanup(report);
        let _ = either(ctx.signals("enough").recv(), scope).await;
        Ok(None)
    });
    world.send(completes(6, "P1"));
    assert_eq!(world.send(signals("enough", "")), "");
    expect![[r#"
        19: activity cancelled: select_lost
            completed charge#6=P1
            cancelled stray#5=
            abandoned 
    "#]]
    .assert_eq(&world.send(skips(&[5])));
    world.check_prefixes();
}
