//! Races: top to bottom, and the losers are cancelled.

use bowline_replay::{Either, LocalFuture, either, race};
use expect_test::expect;

use crate::support::*;

#[test]
fn the_losers_are_cancelled_with_select_lost() {
    let (mut world, _) = World::start(async |ctx| {
        let fast = ctx.activity(activity("fast"));
        let slow = ctx.activity(activity("slow"));
        let guard = ctx.timer(seconds(5));
        let winner = match either(fast, either(slow, guard)).await {
            Either::Left(fast) => format!("fast {}", told(&fast)),
            Either::Right(Either::Left(slow)) => format!("slow {}", told(&slow)),
            Either::Right(Either::Right(_)) => "nobody".to_owned(),
        };
        ctx.activity(activity("use")).await;
        Ok(json(winner))
    });
    expect![[r#"
        13: activity use
        drop Activities 5 in 0: select_lost
        drop Timers 7 in 0: select_lost
    "#]]
    .assert_eq(&world.send(completes(6, "42")));
    world.check_prefixes();
}

#[test]
fn of_two_that_are_ready_the_upper_one_wins() {
    let (mut world, _) = World::start(async |ctx| {
        let (a, b) = (ctx.signals("a"), ctx.signals("b"));
        ctx.activity(activity("meanwhile")).await;
        let winner = match either(b.recv(), a.recv()).await {
            Either::Left(_) => "b",
            Either::Right(_) => "a",
        };
        Ok(json(winner))
    });
    world.send_all([signals("a", ""), signals("b", "")]);
    expect![[r#"
        16: complete b
    "#]]
    .assert_eq(&world.send(completes(5, "")));
    world.check_prefixes();
}

#[test]
fn a_race_of_many_tells_the_place_of_the_winner() {
    let (mut world, _) = World::start(async |ctx| {
        let calls = (0..4).map(|_| ctx.activity(activity("try")));
        let calls = calls.map(|call| -> LocalFuture<'_, _> { Box::pin(call) });
        let (place, outcome) = race(calls).await;
        Ok(json(format!("{place} {}", told(&outcome))))
    });
    expect![[r#"
        drop Activities 5-6,8 in 0: select_lost
        14: complete 2 me
    "#]]
    .assert_eq(&world.send(completes(7, "me")));
    world.check_prefixes();
}

/// What is below the winner of the first poll was never polled, and so never asked for.
#[test]
fn a_race_that_is_won_at_once_asks_for_nothing_below() {
    let (world, first) = World::start(async |ctx| {
        let now = async { "now" };
        let winner = match either(now, ctx.activity(activity("later"))).await {
            Either::Left(word) => word,
            Either::Right(_) => "later",
        };
        Ok(json(winner))
    });
    expect![[r#"
        5: complete now
    "#]]
    .assert_eq(&first);
    world.check_prefixes();
}

/// R102: a timeout is a race against a timer; the loser is cancelled whichever it is.
#[test]
fn r102_a_timeout_cancels_the_loser() {
    for (message, expected) in [(completes(5, "x"), "Timers 6"), (rings(6), "Activities 5")] {
        let (mut world, _) = World::start(async |ctx| {
            let _ = either(ctx.activity(activity("work")), ctx.timer(seconds(5))).await;
            ctx.activity(activity("next")).await;
            Ok(None)
        });
        let shown = world.send(message);
        assert!(shown.contains(&format!("drop {expected} in 0: select_lost")), "{shown}");
        world.check_prefixes();
    }
}
