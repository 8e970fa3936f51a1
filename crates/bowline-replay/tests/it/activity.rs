//! Calls: lazy, started, awaited, cancelled on purpose, detached.

use std::time::Duration;

use bowline_core::{CancelExternal, External, Outcome, Rung, SignalExternal, Span, Timeout};
use bowline_replay::{Ended, join};
use expect_test::expect;

use crate::support::*;

#[test]
fn an_awaited_activity_is_scheduled_and_its_outcome_told() {
    let (mut world, first) = World::start(async |ctx| {
        let paid = ctx.activity(activity("charge")).await;
        Ok(json(told(&paid)))
    });
    expect![[r#"
        5: activity charge
    "#]]
    .assert_eq(&first);
    expect![[r#"
        11: complete paid
    "#]]
    .assert_eq(&world.send(completes(5, "paid")));
    assert!(world.closed());
    world.check_prefixes();
}

#[test]
fn every_outcome_reaches_the_one_who_waits() {
    let cases = [
        (completes(5, "fine"), "fine"),
        (fails(5, "no luck"), "failed no luck"),
        (ends(5, Outcome::TimedOut(Timeout::Heartbeat)), "timed out Heartbeat"),
        (climbs(5, Rung::Abort), "cancelled Abort requested by row (as the row says)"),
    ];
    for (message, expected) in cases {
        let (mut world, _) = World::start(async |ctx| {
            let outcome = ctx.activity(activity("charge")).await;
            Ok(json(told(&outcome)))
        });
        let shown = world.send(message);
        assert!(shown.ends_with(&format!("complete {expected}\n")), "{shown}");
        world.check_prefixes();
    }
}

#[test]
fn nothing_happens_until_a_call_is_polled() {
    let (world, first) = World::start(async |ctx| {
        let _never = ctx.activity(activity("never"));
        let _nor = ctx.timer(seconds(5));
        Ok(None)
    });
    expect![[r#"
        5: complete 
    "#]]
    .assert_eq(&first);
    world.check_prefixes();
}

#[test]
fn started_calls_run_beside_each_other_and_are_numbered_at_once() {
    let (mut world, first) = World::start(async |ctx| {
        let a = ctx.activity(activity("a")).start();
        let b = ctx.activity(activity("b")).start();
        let c = ctx.timer(seconds(60)).start();
        assert_eq!((a.number().0, b.number().0, c.number().0), (5, 6, 7));
        let b = b.await;
        let a = a.await;
        c.await.unwrap();
        Ok(json(format!("{} {}", told(&a), told(&b))))
    });
    expect![[r#"
        5: activity a
        6: activity b
        7: timer 60s
    "#]]
    .assert_eq(&first);
    assert_eq!(world.send(completes(5, "1")), "");
    expect![[r#"
        19: complete 1 2
    "#]]
    .assert_eq(&world.send_all([completes(6, "2"), rings(7)]));
    world.check_prefixes();
}

/// R93: a handle can be cancelled, and then tells how the thing really ended.
#[test]
fn r93_a_handle_is_cancelled_and_tells_the_outcome() {
    let (mut world, _) = World::start(async |ctx| {
        let handle = ctx.activity(activity("slow")).start();
        ctx.signals("stop").recv().await;
        Ok(json(told(&handle.cancel().await)))
    });
    expect![[r#"
        drop Activities 5 in 0: requested
    "#]]
    .assert_eq(&world.send(signals("stop", "")));
    // It never started: the store says so with a note on the next turn.
    expect![[r#"
        13: complete cancelled NeverStarted requested
    "#]]
    .assert_eq(&world.send(skips(&[5])));
    world.check_prefixes();
}

/// R65, R75: the cancel lost the race, and the one who waits does get the late success.
#[test]
fn r65_r75_a_completion_after_the_cancel_is_told_to_whoever_waits() {
    let (mut world, _) = World::start(async |ctx| {
        let handle = ctx.activity(activity("slow")).start();
        ctx.signals("stop").recv().await;
        Ok(json(told(&handle.cancel().await)))
    });
    world.send(signals("stop", ""));
    expect![[r#"
        15: complete done anyway
    "#]]
    .assert_eq(&world.send(completes(5, "done anyway")));
    world.check_prefixes();
}

#[test]
fn a_cancelled_timer_is_over_at_once() {
    let (world, first) = World::start(async |ctx| {
        let timer = ctx.timer(seconds(60)).start();
        let cause = timer.cancel().await.unwrap_err();
        Ok(json(cause.to_string()))
    });
    expect![[r#"
        5: timer 60s
        drop Timers 5 in 0: requested
        7: complete requested
    "#]]
    .assert_eq(&first);
    world.check_prefixes();
}

#[test]
fn a_detached_call_is_let_go_of_and_never_cancelled() {
    let (mut world, first) = World::start(async |ctx| {
        let scope = ctx.scope(async {
            ctx.activity(activity("mail")).detach();
            let log = ctx.activity(activity("log")).start();
            log.detach();
            Ok(())
        });
        scope.await?;
        ctx.signals("end").recv().await;
        Ok(None)
    });
    expect![[r#"
        5: activity mail
        6: activity log
        scope 1 in 0 ""
        left 1
        detach 5-6
    "#]]
    .assert_eq(&first);
    assert_eq!(world.send(completes(5, "sent")), "", "its end concerns nobody");
    expect![[r#"
        16: complete 
    "#]]
    .assert_eq(&world.send(signals("end", "")));
    world.check_prefixes();
}

/// It is let go of, and over in the very same turn: then there is nothing to let go of.
#[test]
fn what_ends_in_the_turn_that_lets_go_of_it_is_not_detached() {
    let (mut world, _) = World::start(async |ctx| {
        let mail = ctx.activity(activity("mail")).start();
        ctx.signals("go").recv().await;
        mail.detach();
        ctx.signals("end").recv().await;
        Ok(None)
    });
    assert_eq!(world.send_all([signals("go", ""), completes(5, "sent")]), "");
    world.check_prefixes();
}

#[test]
fn an_operator_cancels_one_activity_that_runs() {
    let (mut world, _) = World::start(async |ctx| {
        let outcome = ctx.activity(activity("slow")).await;
        Ok(json(told(&outcome)))
    });
    assert_eq!(world.send(cancels_one(5, "olga")), "");
    expect![[r#"
        14: complete cancelled Signal requested by row (as the row says)
    "#]]
    .assert_eq(&world.send(climbs(5, Rung::Signal)));
    world.check_prefixes();
}

#[test]
fn an_operator_cancels_one_activity_that_never_started() {
    let (mut world, _) = World::start(async |ctx| {
        let outcome = ctx.activity(activity("slow")).await;
        Ok(json(told(&outcome)))
    });
    assert_eq!(world.send(cancels_one(5, "olga")), "");
    expect![[r#"
        12: complete cancelled NeverStarted requested by olga (operator)
    "#]]
    .assert_eq(&world.send(skips(&[5])));
    world.check_prefixes();
}

#[test]
fn an_operator_cancels_one_timer() {
    let (mut world, _) = World::start(async |ctx| {
        let cause = ctx.timer(seconds(60)).await.unwrap_err();
        Ok(json(cause.to_string()))
    });
    expect![[r#"
        10: complete requested by olga (operator)
    "#]]
    .assert_eq(&world.send(cancels_one(5, "olga")));
    world.check_prefixes();
}

#[test]
fn an_unhandled_cancel_of_one_activity_ends_the_run_cancelled() {
    let (mut world, _) = World::start(async |ctx| {
        let other = ctx.activity(activity("other")).start();
        let _result = ok(ctx.activity(activity("slow")).await)?;
        Ok(json(told(&other.await)))
    });
    world.send(cancels_one(6, "olga"));
    // The run waits until the other one has stopped too.
    expect![[r#"
        drop Activities 5 in 0: run_cancelled
            because requested by row (as the row says)
    "#]]
    .assert_eq(&world.send(stops(6)));
    expect![[r#"
        20: cancelled: requested by row (as the row says)
    "#]]
    .assert_eq(&world.send(stops(5)));
    world.check_prefixes();
}

#[test]
fn other_runs_are_signalled_and_asked_to_cancel() {
    let (mut world, first) = World::start(async |ctx| {
        let target = External { workflow_id: "other".into(), ..External::default() };
        let signal = SignalExternal {
            target: target.clone(),
            name: "hello".into(),
            ..SignalExternal::default()
        };
        let cancel = CancelExternal { target, ..CancelExternal::default() };
        let (told, asked) = join(ctx.signal_external(signal), ctx.cancel_external(cancel)).await;
        Ok(json(format!("{told:?} {asked:?}")))
    });
    expect![[r#"
        5: signal hello
        6: cancel other
    "#]]
    .assert_eq(&first);
    use bowline_core::{EventId, ExternalRefusal, Message};
    let answers = [
        Message::ExternalDone(EventId(5)),
        Message::RefuseExternal(EventId(6), ExternalRefusal::NotFound),
    ];
    expect![[r#"
        12: complete Ok(()) Err(NotFound)
    "#]]
    .assert_eq(&world.send_all(answers));
    world.check_prefixes();
}

#[test]
fn limits_of_an_activity_are_its_own_without_a_deadline() {
    let (world, first) = World::start(async |ctx| {
        let mut spec = activity("bounded");
        spec.timeouts.schedule_to_close = Some(Span(Duration::from_secs(9)));
        let outcome = ctx.activity(spec).await;
        ok(outcome).map_err(|ended| match ended {
            Ended::TimedOut(_) => failed("late"),
            other => other,
        })
    });
    expect![[r#"
        5: activity bounded within 9s
    "#]]
    .assert_eq(&first);
    world.check_prefixes();
}
