//! Timers: set, rung, unset; and a ring that waits when they are unset.

use expect_test::expect;

use crate::{testing::check, testing::*, *};

fn one(started: WorkflowStarted) -> World {
    given(World::of(started), |w| w.turn([timer("t", 5)]))
}

#[test]
fn a_timer_rings_once() {
    check(
        one(remote()),
        |w| w.ring().take(),
        expect![[r#"
            - 5s rings Timer(5)
            6 TimerFired of 5
            7 TurnScheduled attempt 1
        "#]],
    );
    check(
        one(native()),
        |w| w.ring().post(fire(5)).turn([]),
        expect![[r#"
            - 5s rings Timer(5)
            6 TimerFired of 5
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
        "#]],
    );
}

/// It counts from its event, not from the clock of whoever decides.
#[test]
fn a_timer_counts_from_its_event() {
    let mut world = World::remote();
    world.pass(100).start();
    world.now = Time(0);
    world.answer([timer("t", 5)]);
    assert_eq!(world.state.timers[&EventId(5)].due, Time(105_000_000), "{}", world.told);
    assert!(world.alarms.iter().any(|alarm| alarm.due == Time(105_000_000)));
}

#[test]
fn a_timer_is_unset_by_the_code() {
    check(
        one(remote()),
        |w| w.post(signal("")).turn([cancel_timer(5)]),
        expect![[r#"
            6 WorkflowSignalled
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            > arm Run(Turn(7, 1)) at 10s
            9 TurnCompleted of 7,8
            10 TimerCancelled of 5
            > disarm Run(Turn(7, 1)) at 10s
            > disarm Timer(5) at 5s
        "#]],
    );
    check(
        one(native()),
        |w| w.post(signal("")).turn([dropped(Cancelled::Timers, &[5])]),
        expect![[r#"
            6 WorkflowSignalled
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
            + Cancels Timers 5
            10 TimerCancelled of 5
            + (future_dropped)
            > disarm Timer(5) at 5s
        "#]],
    );
    check(
        World::native(),
        |w| w.turn([timer("", 5), dropped(Cancelled::Timers, &[5])]),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            + Cancels Timers 5
            5 TimerStarted "" 5s
            6 TimerCancelled of 5
            + (future_dropped)
            > arm Timer(5) at 5s
            > disarm Timer(5) at 5s
        "#]],
    );
}

/// The ring waited while the turn that unset the timer was out: the SDKs take no ring after that.
#[test]
fn a_ring_that_waits_is_gone_when_its_timer_is_unset() {
    check(
        given(one(remote()), |w| w.post(signal("")).start()),
        |w| w.ring().answer([cancel_timer(5)]),
        expect![[r#"
            - 5s rings Timer(5)
            9 TurnCompleted of 7,8
            10 TimerCancelled of 5
            > disarm Run(Turn(7, 1)) at 10s
            > disarm Timer(5) at 5s
        "#]],
    );
    // With the ring nothing waits any more, so the run may close.
    check(
        given(one(remote()), |w| w.post(signal("")).start()),
        |w| w.ring().answer([cancel_timer(5), complete()]),
        expect![[r#"
            - 5s rings Timer(5)
            9 TurnCompleted of 7,8
            10 TimerCancelled of 5
            11 WorkflowCompleted turn 9
            > disarm Run(Turn(7, 1)) at 10s
            > disarm Timer(5) at 5s
        "#]],
    );
    check(
        given(one(remote()), |w| w.post(signal("")).start()),
        |w| w.ring().post(signal("more")).answer([cancel_timer(5), complete()]),
        expect![[r#"
            - 5s rings Timer(5)
            ! failed: messages wait that the code has not seen
            9 TurnFailed of 7,8 Unhandled
            10 TimerFired of 5
            11 WorkflowSignalled more
            12 TurnScheduled attempt 1
            > disarm Run(Turn(7, 1)) at 10s
        "#]],
    );
}

#[test]
fn an_operator_unsets_a_native_timer_only() {
    check(
        one(native()),
        |w| w.post(cancel_one(5)).post(fire(5)).turn([]),
        expect![[r#"
            6 TimerCancelled of 5 by "alice"
            + (requested)
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
            > disarm Timer(5) at 5s
        "#]],
    );
    check(one(remote()), |w| w.post(cancel_one(5)).take(), expect![[""]]);
}

#[test]
fn a_bad_timer_fails_the_turn() {
    let long = "x".repeat(limits::TEXT_MAX + 1);
    let world = given(one(remote()), |w| w.post(signal("")).start());
    let cases = [
        Command::StartTimer("u".into(), Span(limits::SPAN_MAX * 2)),
        timer(&long, 1),
        timer("", 1),
        timer("t", 1),
        cancel_timer(4),
    ];
    expect![[r#"
        ! failed: BadTimer: the timer is longer than a hundred years
        ! failed: BadTimer: the timer's id is too long
        ! failed: BadTimer: the timer has no id
        ! failed: TimerIdTaken: a timer of that id is open
        ! failed: BadTimerCancel: no timer with number 4 is open
    "#]]
    .assert_eq(&refusals(&world, cases.map(|command| vec![command])));
    check(
        one(native()),
        |w| w.turn([dropped(Cancelled::Timers, &[6])]),
        expect![[r#"
            ! BadTimerCancel: no timer with number 6 is open
        "#]],
    );
}
