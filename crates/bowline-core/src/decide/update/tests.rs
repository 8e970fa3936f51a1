//! Updates: admitted, taken, refused, answered, too many, and cut off by the end of the run.

use expect_test::expect;

use crate::{testing::check, testing::*, *};

/// A remote run without anything to do.
fn idle() -> World {
    given(World::remote(), |w| w.turn([timer("t", 900)]))
}

/// Under native rules an update is an event; replay delivers it in its place.
#[test]
fn a_native_run_takes_and_answers() {
    check(
        given(World::native(), |w| w.turn([])),
        |w| {
            w.post(update("u")).post(update("u")).turn([accept("u")]);
            w.post(signal("")).turn([answer_update("u")])
        },
        expect![[r#"
            5 UpdateAdmitted u
            6 TurnScheduled attempt 1
            7 TurnStarted of 6
            8 TurnCompleted of 6,7
            9 UpdateAccepted u
            > update u accepted
            10 WorkflowSignalled
            11 TurnScheduled attempt 1
            12 TurnStarted of 11
            13 TurnCompleted of 11,12
            14 UpdateCompleted u of 9
            > update u completed: Done(None)
        "#]],
    );
}

/// The turn was made for the update alone; being taken makes it real.
#[test]
fn a_remote_run_takes_and_answers() {
    check(
        idle(),
        |w| {
            w.post(update("u")).take().show_turn().start().answer([accept("u")]);
            w.post(signal("")).turn([answer_update("u")])
        },
        expect![[r#"
            = turn 6 attempt 1 in "q" provisional speculative
            > arm Run(Turn(6, 1)) at 10s
            6 TurnScheduled attempt 1
            7 TurnStarted of 6
            8 TurnCompleted of 6,7
            9 UpdateAccepted u
            > disarm Run(Turn(6, 1)) at 10s
            > update u accepted
            10 WorkflowSignalled
            11 TurnScheduled attempt 1
            12 TurnStarted of 11
            > arm Run(Turn(11, 1)) at 10s
            13 TurnCompleted of 11,12
            14 UpdateCompleted u of 9
            > disarm Run(Turn(11, 1)) at 10s
            > update u completed: Done(None)
        "#]],
    );
}

/// A refused update leaves no trace: its turn is dropped, and the ids are used again.
#[test]
fn a_refused_update_leaves_no_trace() {
    check(
        idle(),
        |w| w.post(update("u")).turn([reject("u")]).show_turn().post(signal("")).take(),
        expect![[r#"
            > arm Run(Turn(6, 1)) at 10s
            ! dropped
            > disarm Run(Turn(6, 1)) at 10s
            > update u rejected: not now
            = no turn
            6 WorkflowSignalled
            7 TurnScheduled attempt 1
        "#]],
    );
    // What else arrived meanwhile has a turn of its own.
    check(
        idle(),
        |w| w.post(update("u")).start().post(signal("")).post(update("v")).answer([reject("u")]),
        expect![[r#"
            > arm Run(Turn(6, 1)) at 10s
            ! dropped
            6 WorkflowSignalled
            7 TurnScheduled attempt 1
            > disarm Run(Turn(6, 1)) at 10s
            > update u rejected: not now
        "#]],
    );
}

/// The answer to a dropped turn, sent again, must not be taken for the answer to the next one,
/// which has the same ids.
#[test]
fn the_answer_to_a_dropped_turn_belongs_to_no_other() {
    let dropped = given(idle(), |w| w.post(update("u")).turn([reject("u")]));
    let stale = dropped.token;
    check(
        given(dropped, |w| w.post(update("v")).start()),
        |w| {
            let fresh = std::mem::replace(&mut w.token, stale);
            w.answer([reject("u")]);
            w.token = fresh;
            w.answer([accept("v")])
        },
        expect![[r#"
            ! no such turn: it was answered, or is over
            6 TurnScheduled attempt 1
            7 TurnStarted of 6
            8 TurnCompleted of 6,7
            9 UpdateAccepted v
            > disarm Run(Turn(6, 1)) at 10s
            > update v accepted
        "#]],
    );
}

/// Ten updates that native code had refused stood as open for ever, and the eleventh was too
/// many. A refusal is noted on its turn now, and frees its place.
#[test]
fn a_native_refusal_is_noted_and_frees_its_place() {
    let mut world = given(World::native(), |w| w.turn([]));
    for n in 0..=limits::UPDATES_OPEN_MAX {
        let id = n.to_string();
        world.post(update(&id)).turn([reject(&id)]);
    }
    assert!(world.state.updates.is_empty());
    check(
        world,
        |w| w.post(update("u")).turn([]).post(signal("")).turn([reject("u")]),
        expect![[r#"
            49 UpdateAdmitted u
            50 TurnScheduled attempt 1
            51 TurnStarted of 50
            52 TurnCompleted of 50,51
            53 WorkflowSignalled
            54 TurnScheduled attempt 1
            55 TurnStarted of 54
            56 TurnCompleted of 54,55
            + RefusedUpdates ["u"]
            > update u rejected: not now
        "#]],
    );
}

/// An SDK that knows no updates answers as if there were none. Asking it again would never end.
#[test]
fn an_update_that_the_worker_ignores_is_refused() {
    check(
        idle(),
        |w| w.post(update("u")).turn([]).show_turn(),
        expect![[r#"
            > arm Run(Turn(6, 1)) at 10s
            ! dropped
            > disarm Run(Turn(6, 1)) at 10s
            > update u rejected: Ignored: the worker did not look at it
            = no turn
        "#]],
    );
    check(
        idle(),
        |w| w.post(update("u")).post(signal("")).turn([timer("x", 1)]).show_turn(),
        expect![[r#"
            6 WorkflowSignalled
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            > arm Run(Turn(7, 1)) at 10s
            9 TurnCompleted of 7,8
            10 TimerStarted "x" 1s
            > disarm Run(Turn(7, 1)) at 10s
            > arm Timer(10) at 1s
            > update u rejected: Ignored: the worker did not look at it
            = no turn
        "#]],
    );
    // A heartbeat has not looked yet.
    check(
        idle(),
        |w| w.post(update("u")).start().heartbeat().turn([accept("u")]),
        expect![[r#"
            > arm Run(Turn(6, 1)) at 10s
            6 TurnScheduled attempt 1
            7 TurnStarted of 6
            8 TurnCompleted of 6,7
            9 TurnScheduled attempt 1
            > disarm Run(Turn(6, 1)) at 10s
            10 TurnStarted of 9
            > arm Run(Turn(9, 1)) at 10s
            11 TurnCompleted of 9,10
            12 UpdateAccepted u
            > disarm Run(Turn(9, 1)) at 10s
            > update u accepted
        "#]],
    );
}

#[test]
fn too_many_are_refused_at_once() {
    for started in [native(), remote()] {
        let mut world = given(World::of(started), |w| w.turn([]));
        for n in 0..limits::UPDATES_OPEN_MAX {
            world.post(update(&n.to_string()));
        }
        world.take().told.clear();
        world.post(update("more")).take();
        assert_eq!(world.told, "> update more rejected: TooManyUpdates: too many updates\n");
    }
}

#[test]
fn there_is_a_bound_for_all_updates_of_a_run() {
    let mut world = given(World::native(), |w| w.turn([]));
    for n in 0..limits::UPDATES_MAX {
        let request = request(&n.to_string());
        let (id, name) = (request.id.clone(), request.name.clone());
        let open = OpenUpdate { name, accepted: EventId(5), done: true };
        world.state.updates.insert(id, open);
    }
    let mut draft = world.draft();
    let message = update("more");
    draft.intake(&[Received { number: Number(1), at: Time(0), message }]);
    assert!(matches!(
        draft.finish().effects[..],
        [Effect::AnswerUpdate(_, UpdateStage::Rejected(_))]
    ));
}

/// Somebody waits for each of them, whether it was taken, admitted, or still in the inbox.
#[test]
fn the_end_of_the_run_answers_all() {
    check(
        given(idle(), |w| {
            w.post(update("taken")).turn([accept("taken")]);
            w.post(update("shown")).post(signal("")).start()
        }),
        |w| w.post(update("new")).answer([complete()]),
        expect![[r#"
            13 TurnCompleted of 11,12
            14 WorkflowCompleted turn 13
            + Outstanding timers 5
            > disarm Run(Turn(11, 1)) at 10s
            > disarm Timer(5) at 900s
            > update taken unanswered
            > update shown rejected: RunClosed: the run closed first
            > update new rejected: RunClosed: the run closed first
        "#]],
    );
    check(
        given(idle(), |w| w.post(update("shown")).start()),
        |w| w.post(update("new")).post(terminate()).take(),
        expect![[r#"
            6 WorkflowTerminated (requested)
            + Outstanding timers 5
            > disarm Run(Turn(6, 1)) at 10s
            > disarm Timer(5) at 900s
            > update shown rejected: RunClosed: the run closed first
            > update new rejected: RunClosed: the run closed first
        "#]],
    );
    check(
        given(World::native(), |w| w.post(update("u")).turn([complete()])),
        |w| w.post(update("late")).take(),
        expect![[r#"
            > update late rejected: RunClosed: the run closed first
        "#]],
    );
}

/// What the code has not looked at is the next run's from its beginning; what it has accepted, and
/// what was meant for this run alone, is not.
#[test]
fn the_run_that_goes_on_takes_what_was_not_looked_at() {
    let mut world = given(idle(), |w| {
        w.post(update("taken")).turn([accept("taken")]);
        w.post(update("shown")).post(signal("")).start()
    });
    let only = UpdateRequest { only: Some(world.state.run), ..request("only") };
    world.told.clear();
    world.post(update("new")).post(Message::Update(Box::new(only))).post(update("taken"));
    world.answer([continue_as_new()]);
    expect![[r#"
        13 TurnCompleted of 11,12
        14 WorkflowContinuedAsNew turn 13 next run7
        + Outstanding timers 5
        > disarm Run(Turn(11, 1)) at 10s
        > begin run7 Next: 1 WorkflowStarted work delay 1s
        > disarm Timer(5) at 900s
        > update taken unanswered
        > update shown moves to run7
        > update new moves to run7
        > update only rejected: RunClosed: the run closed first
    "#]]
    .assert_eq(&world.told);
    let begun = world.effects.iter().find_map(|effect| match effect {
        Effect::Begin(birth) => Some(birth),
        _ => None,
    });
    let admitted = &begun.expect("it goes on").record.admitted;
    let ids: Vec<_> = admitted.iter().map(|request| request.id.as_str()).collect();
    assert_eq!(ids, ["shown", "new"]);
}

#[test]
fn a_bad_word_about_an_update_fails_the_turn() {
    let world = given(idle(), |w| {
        w.post(update("u")).turn([accept("u")]);
        w.post(update("v")).post(signal("")).start()
    });
    let bad = [
        vec![accept("u")],
        vec![accept("unknown")],
        vec![answer_update("v")],
        vec![answer_update("u"), answer_update("u")],
        vec![accept("v"), accept("v")],
    ];
    expect![[r#"
        ! failed: BadUpdate: update "u" is not waiting to be accepted
        ! failed: BadUpdate: update "unknown" is not waiting to be accepted
        ! failed: BadUpdate: update "v" is not waiting for an answer
        ! failed: BadUpdate: update "u" is not waiting for an answer
        ! failed: BadUpdate: update "v" is not waiting to be accepted
    "#]]
    .assert_eq(&refusals(&world, bad));
    let world = given(World::native(), |w| w.post(update("u")).turn([]));
    for commands in [
        vec![reject("unknown")],
        vec![reject("u"), reject("u")],
        vec![reject("u"), accept("u")],
        vec![accept("unknown")],
    ] {
        let mut world = world.clone();
        world.told.clear();
        world.turn(commands);
        assert!(world.told.starts_with("! BadUpdate"), "{}", world.told);
    }
}
