//! Children: started, refused, every end, every way to cancel them.

use expect_test::expect;

use crate::{testing::check, testing::*, *};

/// A run whose child, number 5, has begun.
fn begun(started: WorkflowStarted) -> World {
    given(World::of(started), |w| w.turn([child("c")]).post(child_began(5)).turn([]))
}

#[test]
fn a_child_is_begun_by_the_commit_that_asks_for_it() {
    check(
        World::remote(),
        |w| w.turn([child("c")]),
        expect![[r#"
            3 TurnStarted of 2
            > arm Run(Turn(2, 1)) at 10s
            4 TurnCompleted of 2,3
            5 ChildInitiated "c" as run9
            > disarm Run(Turn(2, 1)) at 10s
            > begin run9 Child(5): 1 WorkflowStarted child | 2 TurnScheduled attempt 1
        "#]],
    );
    check(
        World::native(),
        |w| w.turn([child("")]),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            5 ChildInitiated "w/5" as run9
            > begin run9 Child(5): 1 WorkflowStarted child
        "#]],
    );
}

/// What an earlier run of the chain has begun may still be there, and so may what the run has
/// begun of which this one is a fork.
#[test]
fn its_default_id_is_unique_along_the_chain() {
    let id = |mut world: World| {
        world.turn([child("")]);
        let asked = world.history.iter().rev().find_map(|event| match &event.kind {
            EventKind::ChildInitiated(asked) => Some(asked.spec.workflow_id.to_string()),
            _ => None,
        });
        asked.expect("a child was asked for")
    };
    assert_eq!(id(World::native()), "w/5");
    let second = WorkflowStarted { link: Some(2), ..native() };
    assert_eq!(id(World::of(second.clone())), "w/2.5");
    let cut = |started| {
        let old = given(World::of(started), |w| w.turn([]));
        let birth = fork(&old.history, EventId(3), run(1), run(0xabc), old.now, &[]).unwrap();
        World::born(birth, old.now)
    };
    assert_eq!(id(cut(native())), "w/8~00000abc");
    assert_eq!(id(cut(second.clone())), "w/2.8~00000abc");
    let third = WorkflowStarted { link: Some(3), branch: Some(run(0xabc)), ..native() };
    assert_eq!(id(World::of(third)), "w/3.5~00000abc");
}

#[test]
fn it_inherits_what_flows_down() {
    let own = WorkflowStarted { deadline: Some(Time(50)), ..native() };
    let mut world = World::of(own);
    let later = ChildSpec { deadline: Some(Time(90)), ..child_spec("c") };
    let sooner = ChildSpec { deadline: Some(Time(20)), ..child_spec("d") };
    let start = |spec, uuid| Command::StartChild(Box::new(spec), run(uuid));
    world.turn([start(later, 9), start(sooner, 8)]);
    let births = world.effects.iter().filter_map(|effect| match effect {
        Effect::Begin(birth) => Some(State::of(birth.run, &birth.events)),
        _ => None,
    });
    let births: Vec<_> = births.collect();
    for birth in &births {
        let parent = birth.started.parent.as_ref().unwrap();
        assert_eq!((parent.run, &*birth.started.queue.to_string()), (run(1), "q"));
        assert_eq!(birth.started.root, Some((run(1), "w".into())));
        assert_eq!((birth.started.tree, birth.started.link), (Some(run(1)), None));
        assert_eq!(birth.started.rules, Rules::NATIVE);
    }
    let deadlines: Vec<_> = births.iter().map(|birth| birth.started.deadline).collect();
    assert_eq!(deadlines, [Some(Time(50)), Some(Time(20))], "never later than the parent's");
    assert_eq!(births[0].started.parent.as_ref().unwrap().initiated, EventId(5));
    assert_eq!(births[1].started.parent.as_ref().unwrap().initiated, EventId(6));
}

#[test]
fn it_begins_or_is_refused_once() {
    let asked = || given(World::remote(), |w| w.turn([child("c")]));
    check(
        asked(),
        |w| w.post(child_began(5)).post(child_began(5)).take(),
        expect![[r#"
            6 ChildStarted of 5
            7 TurnScheduled attempt 1
        "#]],
    );
    check(
        asked(),
        |w| w.post(child_refused(5)).post(child_began(5)).take(),
        expect![[r#"
            6 ChildStartFailed of 5 IdTaken
            7 TurnScheduled attempt 1
        "#]],
    );
    check(
        asked(),
        |w| w.post(child_began(5)).post(child_refused(5)).take(),
        expect![[r#"
            6 ChildStarted of 5
            7 TurnScheduled attempt 1
        "#]],
    );
}

#[test]
fn every_end_has_its_event() {
    let failure = Failure::new("no");
    for (ending, expect) in [
        (
            RunEnding::Completed(None),
            expect![[r#"
                10 ChildCompleted of 5,6
                11 TurnScheduled attempt 1
            "#]],
        ),
        (
            RunEnding::Failed(failure, RetryState::NoPolicy),
            expect![[r#"
                10 ChildFailed of 5,6 Failure[no]
                11 TurnScheduled attempt 1
            "#]],
        ),
        (
            RunEnding::Cancelled(None, Some(why("stop"))),
            expect![[r#"
                10 ChildCancelled of 5,6
                + (requested)
                11 TurnScheduled attempt 1
            "#]],
        ),
        (
            RunEnding::TimedOut(RetryState::NoPolicy),
            expect![[r#"
                10 ChildTimedOut of 5,6
                11 TurnScheduled attempt 1
            "#]],
        ),
        (
            RunEnding::Terminated(why("now")),
            expect![[r#"
                10 ChildTerminated of 5,6
                + (requested)
                11 TurnScheduled attempt 1
            "#]],
        ),
    ] {
        check(begun(remote()), |w| w.post(child_ended(5, ending)).take(), expect);
    }
}

/// A child that goes on as another run has not ended; neither has one that ended before.
#[test]
fn it_ends_once_and_not_by_going_on() {
    check(
        begun(native()),
        |w| {
            w.post(child_ended(5, RunEnding::Continued(run(8))));
            w.post(child_ended(5, RunEnding::Completed(None)));
            w.post(child_ended(5, RunEnding::Terminated(why("now")))).turn([])
        },
        expect![[r#"
            10 ChildCompleted of 5,6
            11 TurnScheduled attempt 1
            12 TurnStarted of 11
            13 TurnCompleted of 11,12
        "#]],
    );
}

/// Its end may overtake its beginning; history shows both in their order.
#[test]
fn an_end_that_comes_first_shows_the_beginning_too() {
    check(
        given(World::remote(), |w| w.turn([child("c")])),
        |w| w.post(child_ended(5, RunEnding::Completed(None))).post(child_began(5)).take(),
        expect![[r#"
            6 ChildStarted of 5
            7 ChildCompleted of 5,6
            8 TurnScheduled attempt 1
        "#]],
    );
}

/// The cancel is addressed to the chain that the child began, wherever that has got to.
#[test]
fn the_code_cancels_a_child_that_has_continued() {
    check(
        begun(remote()),
        |w| {
            w.post(signal("stop")).turn([cancel_child("c")]).post(external_done(14)).take();
            w.post(child_ended(5, RunEnding::Cancelled(None, None))).take()
        },
        expect![[r#"
            10 WorkflowSignalled stop
            11 TurnScheduled attempt 1
            12 TurnStarted of 11
            > arm Run(Turn(11, 1)) at 10s
            13 TurnCompleted of 11,12
            14 ExternalCancelInitiated "c" child 5
            > disarm Run(Turn(11, 1)) at 10s
            > post to chain run9: cancel (requested), answer 14
            15 ExternalCancelRequested of 14
            16 TurnScheduled attempt 1
            17 ChildCancelled of 5,6
        "#]],
    );
    check(
        begun(native()),
        |w| {
            w.post(signal("stop")).turn([dropped(Cancelled::Children, &[5])]);
            w.post(child_ended(5, RunEnding::Cancelled(None, Some(why("stop"))))).turn([])
        },
        expect![[r#"
            10 WorkflowSignalled stop
            11 TurnScheduled attempt 1
            12 TurnStarted of 11
            13 TurnCompleted of 11,12
            + Cancels Children 5
            14 ExternalCancelInitiated "c" child 5
            + (future_dropped)
            > post to chain run9: cancel (parent_cancelled < future_dropped), answer 14
            15 ChildCancelled of 5,6
            + (requested)
            16 TurnScheduled attempt 1
            17 TurnStarted of 16
            18 TurnCompleted of 16,17
        "#]],
    );
}

#[test]
fn a_cancel_that_cannot_be_fails_the_turn() {
    // The turn that starts it cannot cancel it; a later one can, begun or not.
    check(
        given(World::remote(), |w| w.start()),
        |w| w.answer([child("c"), cancel_child("c")]),
        expect![[r#"
            ! failed: BadExternalCancel: a child cannot be cancelled by the turn that starts it
            4 TurnFailed of 2,3 BadExternalCancel
            > disarm Run(Turn(2, 1)) at 10s
        "#]],
    );
    check(
        given(World::remote(), |w| w.turn([child("c")]).post(signal("")).start()),
        |w| w.answer([cancel_child("d")]),
        expect![[r#"
            ! failed: BadExternalCancel: no child "d" is open
            9 TurnFailed of 7,8 BadExternalCancel
            > disarm Run(Turn(7, 1)) at 10s
        "#]],
    );
    check(
        World::native(),
        |w| w.turn([dropped(Cancelled::Children, &[5])]),
        expect![[r#"
            ! BadExternalCancel: no child with number 5 is open
        "#]],
    );
    check(
        World::native(),
        |w| w.turn([child("c"), dropped(Cancelled::Children, &[5])]),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            + Cancels Children 5
            5 ChildInitiated "c" as run9
            6 ExternalCancelInitiated "c" child 5
            + (future_dropped)
            > begin run9 Child(5): 1 WorkflowStarted child
            > post to chain run9: cancel (parent_cancelled < future_dropped), answer 6
        "#]],
    );
}

#[test]
fn a_bad_child_fails_the_turn() {
    let world = given(World::remote(), |w| w.start());
    let bad = [
        ChildSpec { name: "".into(), ..child_spec("c") },
        child_spec(""),
        ChildSpec { cron: "* * * * *".into(), ..child_spec("c") },
        ChildSpec { input: huge(), ..child_spec("c") },
    ];
    let bad = bad.map(|spec| vec![Command::StartChild(Box::new(spec), run(9))]);
    expect![[r#"
        ! failed: BadChild: the workflow's name is not acceptable: it is empty
        ! failed: BadChild: the workflow id is not acceptable: it is empty
        ! failed: BadChild: the schedule "* * * * *" does not read, or never starts anything
        ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
    "#]]
    .assert_eq(&refusals(&world, bad));
    let many = (0..=limits::PENDING_MAX).map(|n| child(&n.to_string()));
    check(
        world,
        |w| w.answer(many),
        expect![[r#"
            ! failed: TooManyChildren: too many children are open
            4 TurnFailed of 2,3 TooManyChildren
            > disarm Run(Turn(2, 1)) at 10s
        "#]],
    );
}
