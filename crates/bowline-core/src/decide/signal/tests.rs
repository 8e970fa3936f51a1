//! Signals: in order, once, and behind the turn that is out.

use expect_test::expect;

use crate::{testing::check, testing::*, *};

#[test]
fn a_remote_run_has_a_bound_for_signals_and_a_native_one_has_not() {
    let signal = |id: &str| Signal { request_id: id.into(), ..Signal::default() };
    for (mut world, bounded) in [(World::remote(), true), (World::native(), false)] {
        world.state.signals = limits::SIGNALS_MAX - 1;
        let waits = [Received { number: Number(9), at: Time(0), message: testing::signal("one") }];
        assert_eq!(world.draft().check_signal(&signal("new"), &[]), Ok(()));
        let refused = world.draft().check_signal(&signal("new"), &waits);
        let said = Err(Refusal::TooManySignals(limits::SIGNALS_MAX));
        assert_eq!(refused, if bounded { said } else { Ok(()) });
    }
}

#[test]
fn a_signal_is_an_event_and_wants_a_turn() {
    check(
        given(World::remote(), |w| w.turn([])),
        |w| w.post(signal("a")).post(signal("b")).take().post(signal("c")).take(),
        expect![[r#"
            5 WorkflowSignalled a
            6 WorkflowSignalled b
            7 TurnScheduled attempt 1
            8 WorkflowSignalled c
        "#]],
    );
    check(
        given(World::native(), |w| w.turn([])),
        |w| w.post(signal("a")).post(signal("b")).turn([]),
        expect![[r#"
            5 WorkflowSignalled a
            6 WorkflowSignalled b
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
        "#]],
    );
}

#[test]
fn a_request_that_is_repeated_counts_once() {
    check(
        given(World::remote(), |w| w.turn([])),
        |w| {
            w.post(signal_of("a", "r")).post(signal_of("a", "r")).take();
            w.post(signal_of("a", "r")).take()
        },
        expect![[r#"
            5 WorkflowSignalled a
            6 TurnScheduled attempt 1
        "#]],
    );
}

/// Somebody who gives a signal and a cancel one id wants both.
#[test]
fn a_cancel_under_the_id_of_a_signal_is_another_request() {
    let cancel = || {
        let (cause, request_id) = (why("stop"), "r".into());
        Message::Cancel(Box::new(Cancel { cause, request_id, external: None, wire: None }))
    };
    for first in [signal_of("a", "r"), cancel()] {
        let mut world = given(World::remote(), |w| w.turn([]));
        let second = if first == cancel() { signal_of("a", "r") } else { cancel() };
        world.post(first).take().post(second).take();
        assert_eq!((world.state.signals, world.state.cancel.is_some()), (1, true));
    }
}

/// While a worker has the turn, history is frozen. The signal follows the turn's own commands and
/// precedes the next turn, which it causes.
#[test]
fn a_signal_during_a_remote_turn_waits_for_its_end() {
    check(
        given(World::remote(), |w| w.start()),
        |w| w.post(signal("a")).take().answer([timer("t", 5)]),
        expect![[r#"
            4 TurnCompleted of 2,3
            5 TimerStarted "t" 5s
            6 WorkflowSignalled a
            7 TurnScheduled attempt 1
            > disarm Run(Turn(2, 1)) at 10s
            > arm Timer(5) at 5s
        "#]],
    );
    check(
        given(World::remote(), |w| w.start()),
        |w| w.post(signal("a")).fail(TurnFault::CodeFailed).show_turn(),
        expect![[r#"
            4 TurnFailed of 2,3 CodeFailed
            5 WorkflowSignalled a
            6 TurnScheduled attempt 1
            > disarm Run(Turn(2, 1)) at 10s
            = turn 6 attempt 1 in "q"
        "#]],
    );
}

/// Outcomes go behind whatever else waited, as every flush of such messages does it.
#[test]
fn outcomes_go_behind_signals_that_waited_with_them() {
    check(
        given(World::remote(), |w| {
            w.turn([activity("a"), activity("b"), child("c"), timer("t", 1)]);
            w.post(signal("first")).start()
        }),
        |w| {
            w.post(done(5)).post(child_ended(7, RunEnding::Completed(None))).post(signal("a"));
            w.post(skip(&[6])).post(child_began(7)).post(fire(8)).answer([cancel_activity(6)])
        },
        expect![[r#"
            12 TurnCompleted of 10,11
            13 ActivityCancelRequested of 6
            14 WorkflowSignalled a
            15 ChildStarted of 7
            16 TimerFired of 8
            17 ActivityStarted 5 attempt 1
            18 ActivityCompleted of 5,17
            19 ChildCompleted of 7,15
            20 ActivityCancelled of 6,0,13
            21 TurnScheduled attempt 1
            > disarm Run(Turn(10, 1)) at 10s
            > cancel activities 6 (requested)
        "#]],
    );
    // Nothing waits when no turn is out: then history is in the order of arrival.
    check(
        given(World::remote(), |w| w.turn([activity("a")])),
        |w| w.post(done(5)).post(signal("a")).take(),
        expect![[r#"
            6 ActivityStarted 5 attempt 1
            7 ActivityCompleted of 5,6
            8 WorkflowSignalled a
            9 TurnScheduled attempt 1
        "#]],
    );
}

/// The clock of whoever stamped the message may be ahead; events never go back in time.
#[test]
fn an_event_has_the_time_of_its_message() {
    let mut world = given(World::remote(), |w| w.turn([]));
    world.pass(5).post(signal("a"));
    world.pass(5).take();
    let times = |w: &World| -> Vec<i64> {
        w.history[4..].iter().map(|event| event.time.0 / 1_000_000).collect()
    };
    assert_eq!(times(&world), [5, 10], "the signal, then the turn that it caused");
    world.pass(90).post(signal("b"));
    world.now = Time(20_000_000);
    world.take();
    assert_eq!(times(&world), [5, 10, 100], "its sender's clock was ahead");
    world.start();
    assert_eq!(times(&world), [5, 10, 100, 100]);
    let started = world.record.turn.clone().unwrap().started.unwrap().at;
    assert_eq!(started, Time(100_000_000), "the record says what history says");
}

/// More than a turn may keep waiting fails it, so that the messages get into history.
#[test]
fn too_many_waiting_messages_fail_the_turn() {
    let mut world = given(World::remote(), |w| w.start());
    for _ in 0..limits::WAITING_MAX {
        world.post(signal("a"));
    }
    world.take();
    assert_eq!(world.inbox.len(), limits::WAITING_MAX, "not yet too many");
    world.told.clear();
    world.post(signal("last")).take();
    assert!(world.inbox.is_empty());
    let lines: Vec<_> = world.told.lines().filter(|line| !line.ends_with(" a")).collect();
    expect![[r#"
        4 TurnFailed of 2,3 TooManyWaiting
        105 WorkflowSignalled last
        106 TurnScheduled attempt 1
        > disarm Run(Turn(2, 1)) at 10s"#]]
    .assert_eq(&lines.join("\n"));
}
