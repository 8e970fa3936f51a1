//! Requests to other runs, and their answers.

use expect_test::expect;

use crate::{testing::check, testing::*, *};

#[test]
fn a_request_is_answered_once() {
    check(
        World::remote(),
        |w| {
            w.turn([cancel_other("x"), signal_other("y")]);
            w.post(external_done(5)).post(external_refused(6)).take();
            w.post(external_refused(5)).post(external_done(6)).take()
        },
        expect![[r#"
            3 TurnStarted of 2
            > arm Run(Turn(2, 1)) at 10s
            4 TurnCompleted of 2,3
            5 ExternalCancelInitiated "x"
            6 ExternalSignalInitiated "y" go
            > disarm Run(Turn(2, 1)) at 10s
            > post to current "x": cancel (requested), answer 5
            > post to current "y": signal go, answer 6
            7 ExternalCancelRequested of 5
            8 ExternalSignalFailed of 6 NotFound
            9 TurnScheduled attempt 1
        "#]],
    );
    check(
        World::native(),
        |w| {
            w.turn([cancel_other("x"), signal_other("y")]);
            w.post(external_refused(5)).post(external_done(6)).turn([])
        },
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            5 ExternalCancelInitiated "x"
            6 ExternalSignalInitiated "y" go
            > post to current "x": cancel (requested), answer 5
            > post to current "y": signal go, answer 6
            7 ExternalCancelFailed of 5 NotFound
            8 ExternalSignalled of 6
            9 TurnScheduled attempt 1
            10 TurnStarted of 9
            11 TurnCompleted of 9,10
        "#]],
    );
}

/// The other run's history names this one; the request has an id of stable parts.
#[test]
fn the_message_says_where_it_comes_from() {
    let mut world = World::native();
    world.turn([signal_other("y")]);
    let Some(Effect::Post(post)) = world.effects.first() else { panic!("{}", world.told) };
    let Message::Signal(signal) = &post.message else { panic!("{post:?}") };
    assert_eq!(signal.external, Some((run(1), "w".into(), EventId(5))));
    assert_eq!(signal.request_id.as_str(), format!("{}/5", run(1)));
    assert_eq!(post.answer, Some(EventId(5)));
}

/// A cancel that the run passes on names what it follows from.
#[test]
fn the_cause_reaches_the_other_run() {
    check(
        World::remote(),
        |w| {
            w.post(stop());
            let own = Command::CancelExternal(Box::new(CancelExternal {
                target: other("z"),
                cause: Some(why("mine")),
                ..CancelExternal::default()
            }));
            w.turn([cancel_other("x"), own])
        },
        expect![[r#"
            3 WorkflowCancelRequested (requested)
            4 TurnStarted of 2
            > arm Run(Turn(2, 1)) at 10s
            5 TurnCompleted of 2,4
            6 ExternalCancelInitiated "x"
            7 ExternalCancelInitiated "z"
            > disarm Run(Turn(2, 1)) at 10s
            > post to current "x": cancel (requested < requested), answer 6
            > post to current "z": cancel (requested), answer 7
        "#]],
    );
}

#[test]
fn a_bad_request_fails_the_turn() {
    let world = given(World::remote(), |w| w.start());
    let (target, name) = (other("x"), Name::default());
    let nameless = SignalExternal { target: target.clone(), name, ..SignalExternal::default() };
    let (name, input) = ("go".into(), huge());
    let large = SignalExternal { target, name, input, ..SignalExternal::default() };
    let bad = [
        cancel_other(""),
        signal_other(""),
        Command::SignalExternal(Box::new(nameless)),
        Command::SignalExternal(Box::new(large)),
    ];
    expect![[r#"
        ! failed: BadExternalCancel: the other run has no workflow id, or one that is too long
        ! failed: BadSignal: the other run has no workflow id, or one that is too long
        ! failed: BadSignal: the signal has no name, or one that is too long
        ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
    "#]]
    .assert_eq(&refusals(&world, bad.map(|command| vec![command])));
    let own = External { workflow_id: "w".into(), run: Some(run(1)), child_only: false };
    let own = CancelExternal { target: own, ..CancelExternal::default() };
    let itself = [Command::CancelExternal(Box::new(own))];
    check(
        World::native(),
        |w| w.turn(itself),
        expect![[r#"
            ! BadExternalCancel: a run cannot ask this of itself
        "#]],
    );
}

#[test]
fn there_may_not_be_too_many_of_either_kind() {
    let world = given(World::remote(), |w| w.start());
    let mut cancels: Vec<_> = (0..limits::PENDING_MAX).map(|_| cancel_other("x")).collect();
    cancels.extend((0..limits::PENDING_MAX).map(|_| signal_other("x")));
    given(world.clone(), |w| {
        w.answer(cancels.clone());
        assert_eq!(w.state.externals.len(), 2 * limits::PENDING_MAX);
        w
    });
    for one_more in [cancel_other("x"), signal_other("x")] {
        let mut world = world.clone();
        world.answer(cancels.iter().cloned().chain([one_more]));
        assert!(world.told.contains("! failed: TooMany"), "{}", world.told);
    }
}
