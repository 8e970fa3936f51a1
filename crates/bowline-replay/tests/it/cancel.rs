//! The cancel of the run itself, and the other ways in which it closes.

use bowline_core::{ContinueAsNew, EventKind, Message, Name, RunAlarm, Span, WorkflowStarted};
use bowline_replay::{Context, either};
use expect_test::expect;

use crate::support::*;

#[test]
fn a_cancel_drops_the_body_and_waits_for_everything_inside() {
    let (mut world, _) = World::start(async |ctx| {
        let _a = ctx.activity(activity("a")).start();
        let _mail = ctx.activity(activity("mail")).detach();
        let scope = ctx.scope(async {
            let _timer = ctx.timer(seconds(60)).start();
            ok(ctx.activity(activity("b")).await)
        });
        Ok(scope.name("part").await?)
    });
    expect![[r#"
        drop Activities 5 in 0: run_cancelled
            because requested by alice (enough)
        drop Timers 7 in 1: scope_exit (part)
            because run_cancelled
            because requested by alice (enough)
        drop Activities 8 in 1: scope_exit (part)
            because run_cancelled
            because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    assert_eq!(world.send(stops(5)), "");
    // The detached one is left alone.
    expect![[r#"
        left 1: run_cancelled
            because requested by alice (enough)
        24: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(completes(8, "late")));
    assert!(world.closed());
    world.check_prefixes();
}

#[test]
fn a_cancel_with_nothing_inside_closes_at_once() {
    let (mut world, _) = World::start(async |ctx| {
        ctx.signals("never").recv().await;
        Ok(None)
    });
    expect![[r#"
        9: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    world.check_prefixes();
}

/// The cause reaches clean-ups too.
#[test]
fn the_code_can_ask_why_it_was_cancelled() {
    let (mut world, _) = World::start(async |ctx| {
        assert_eq!(ctx.cause(), None);
        let scope = ctx.scope(async { Ok(ctx.signals("never").recv().await) });
        let scope = scope.cleanup(async |ctx, stopped| {
            let text = format!("{}; {}", ctx.cause().unwrap(), stopped.why);
            ctx.activity(activity(&text)).await;
            Ok(())
        });
        scope.await?;
        Ok(None)
    });
    expect![[r#"
        9: activity requested by alice (enough)
            cancelled: run_cancelled, because requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    world.check_prefixes();
}

/// A cancel in the turn in which the body ends comes too late.
#[test]
fn a_body_that_has_returned_stays_returned() {
    let (mut world, _) =
        World::start(async |ctx| Ok(json(told(&ctx.activity(activity("a")).await))));
    expect![[r#"
        12: complete in time
    "#]]
    .assert_eq(&world.send_all([completes(5, "in time"), cancels("alice")]));
    world.check_prefixes();
}

#[test]
fn a_cancel_before_a_delayed_beginning_runs_no_code() {
    let delay = Some(Span(seconds(3600)));
    let started = WorkflowStarted { delay, ..WorkflowStarted::default() };
    let mut world = World::with(
        async |ctx| {
            ctx.activity(activity("never")).await;
            Ok(None)
        },
        started,
    );
    world.idle(signals("early", ""));
    expect![[r#"
        7: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(cancels("alice")));
    world.check_prefixes();
}

/// A delayed run begins with its first turn: deadlines count from there.
#[test]
fn a_delayed_run_begins_with_its_first_turn() {
    let delay = Some(Span(seconds(3600)));
    let started = WorkflowStarted { delay, ..WorkflowStarted::default() };
    let mut world = World::with(
        async |ctx| {
            let early = ctx.signals("early").recv().await;
            Ok(json(format!("{} {:?}", text(&early.input), ctx.now())))
        },
        started,
    );
    world.idle(signals("early", "kept"));
    world.now = world.now.after(seconds(3600));
    expect![[r#"
        6: complete kept 3603000000µs
    "#]]
    .assert_eq(&world.send(Message::TimeOut(RunAlarm::Delay)));
    world.check_prefixes();
}

/// The run closes with its result; what is left open is the business of the closing event.
#[test]
fn a_body_that_returns_closes_the_run_at_once() {
    let (mut world, _) = World::start(async |ctx| {
        let _stray = ctx.activity(activity("stray")).start();
        ctx.signals("end").recv().await;
        Ok(json("done"))
    });
    expect![[r#"
        drop Activities 5 in 0: run_completed
        10: complete done
    "#]]
    .assert_eq(&world.send(signals("end", "")));
    assert!(world.closed());
    world.check_prefixes();
}

#[test]
fn a_failed_body_fails_the_run() {
    let (_, first) = World::start(async |_| Err(failed("bad input")));
    expect![[r#"
        5: fail bad input
    "#]]
    .assert_eq(&first);
}

async fn continues(ctx: Context) -> Body {
    let scope = ctx.scope(async {
        let _beside = ctx.activity(activity("beside")).start();
        ctx.signals("next").recv().await;
        let next = ContinueAsNew {
            name: Some(Name::from("other")),
            input: json("42"),
            ..ContinueAsNew::default()
        };
        ctx.continue_as_new(next).await;
        Ok(())
    });
    let scope = scope.cleanup(async |ctx, _| {
        ctx.activity(activity("clean")).await;
        Ok(())
    });
    let _ = either(scope, ctx.timer(seconds(60))).await;
    Ok(None)
}

/// R61: going on as a new run cancels what the old one has open; clean-ups are finished first.
#[test]
fn r61_continuing_as_new_drops_the_body_and_cleans_up() {
    let (mut world, _) = World::start(continues);
    expect![[r#"
        drop Activities 5 in 1: scope_exit
            because run_continued
        drop Timers 6 in 0: run_continued
    "#]]
    .assert_eq(&world.send(signals("next", "")));
    expect![[r#"
        15: activity clean
    "#]]
    .assert_eq(&world.send(skips(&[5])));
    let last = world.send(completes(world.number("clean"), ""));
    assert!(last.contains("ContinueAsNew"), "{last}");
    assert!(world.closed());
    let next = world.history.iter().find_map(|event| match &event.kind {
        EventKind::WorkflowContinuedAsNew(e) => Some((e.name.clone(), e.input.clone())),
        _ => None,
    });
    assert_eq!(next, Some((Name::from("other"), json("42"))));
    world.check_prefixes();
}

/// A cancel that arrives while the old run still cleans up is not lost: there is no new run.
#[test]
fn a_cancel_wins_over_continuing_as_new() {
    let (mut world, _) = World::start(continues);
    world.send(signals("next", ""));
    world.send(skips(&[5]));
    assert_eq!(world.send(cancels("alice")), "");
    expect![[r#"
        left 1: run_continued
        25: cancelled: requested by alice (enough)
    "#]]
    .assert_eq(&world.send(completes(world.number("clean"), "")));
    world.check_prefixes();
}

#[test]
fn a_terminated_run_is_closed_without_asking_the_code() {
    let (mut world, _) = World::start(async |ctx| {
        ctx.activity(activity("a")).await;
        Ok(None)
    });
    let cause = bowline_core::Cause::requested("now", "root");
    let terminate = bowline_core::Terminate { cause, details: None, wire: None };
    world.idle(Message::Terminate(Box::new(terminate)));
    assert!(world.closed());
    world.check_prefixes();
}
