//! A turn that failed or took too long is tried again.

use expect_test::expect;

use super::sticky;
use crate::{testing::check, testing::*, *};

/// Only the first failure is written. Later attempts leave no trace until one succeeds, which
/// then writes its whole turn.
#[test]
fn later_attempts_leave_no_trace_until_one_succeeds() {
    check(
        given(World::remote(), |w| w.start()),
        |w| {
            w.fail(TurnFault::Nondeterminism).show_turn();
            w.start().show_turn().fail(TurnFault::CodeFailed).show_turn();
            w.start().ring().take().show_turn();
            w.pass(1).start().answer([timer("t", 5)]).show_turn()
        },
        expect![[r#"
            4 TurnFailed of 2,3 Nondeterminism
            > disarm Run(Turn(2, 1)) at 10s
            = turn 5 attempt 2 in "q" provisional
            > arm Run(Turn(5, 2)) at 10s
            = turn 5 attempt 2 in "q" provisional started until 10s
            > disarm Run(Turn(5, 2)) at 10s
            = turn 5 attempt 3 in "q" provisional
            > arm Run(Turn(5, 3)) at 10s
            - 10s rings Run(Turn(5, 3))
            > disarm Run(Turn(5, 3)) at 10s
            = turn 5 attempt 4 in "q" provisional
            > arm Run(Turn(5, 4)) at 26s
            5 TurnScheduled attempt 4
            6 TurnStarted of 5
            7 TurnCompleted of 5,6
            8 TimerStarted "t" 5s
            > disarm Run(Turn(5, 4)) at 26s
            > arm Timer(8) at 16s
            = no turn
        "#]],
    );
}

/// Something new happens to the run: that deserves a first attempt.
#[test]
fn a_new_event_resets_the_attempt() {
    let failed = || given(World::remote(), |w| w.start().fail(TurnFault::CodeFailed));
    check(
        failed(),
        |w| w.post(signal("a")).take().show_turn(),
        expect![[r#"
            5 WorkflowSignalled a
            6 TurnScheduled attempt 1
            = turn 6 attempt 1 in "q"
        "#]],
    );
    check(
        given(failed(), |w| w.start()),
        |w| w.post(signal("a")).fail(TurnFault::CodeFailed).show_turn(),
        expect![[r#"
            5 WorkflowSignalled a
            6 TurnScheduled attempt 1
            > disarm Run(Turn(5, 2)) at 10s
            = turn 6 attempt 1 in "q"
        "#]],
    );
    check(
        given(failed(), |w| w.start()),
        |w| w.post(signal("a")).ring().take().show_turn(),
        expect![[r#"
            - 10s rings Run(Turn(5, 2))
            5 WorkflowSignalled a
            6 TurnScheduled attempt 1
            > disarm Run(Turn(5, 2)) at 10s
            = turn 6 attempt 1 in "q"
        "#]],
    );
}

/// Workers let a later attempt time out instead of failing it. So the pause between attempts is
/// in how long the next one may take.
#[test]
fn later_attempts_have_more_and_more_time() {
    let mut world = World::remote();
    let mut patience = Vec::new();
    for _ in 0..13 {
        world.start();
        let turn = world.record.turn.clone().unwrap();
        let began = turn.started.unwrap().at;
        patience.push(turn.deadline.unwrap().since(began).as_secs());
        world.ring().take();
    }
    assert_eq!(patience, [10, 10, 10, 15, 20, 30, 50, 90, 170, 330, 610, 610, 610]);
}

#[test]
fn a_turn_that_takes_too_long_is_void() {
    check(
        given(World::remote(), |w| w.turn([activity("a")]).post(signal("")).start()),
        |w| w.post(done(5)).post(signal("a")).ring().take().answer([]),
        expect![[r#"
            - 10s rings Run(Turn(7, 1))
            9 TurnTimedOut of 7,8 StartToClose
            10 WorkflowSignalled a
            11 ActivityStarted 5 attempt 1
            12 ActivityCompleted of 5,11
            13 TurnScheduled attempt 1
            > disarm Run(Turn(7, 1)) at 10s
            ! no such turn: it was answered, or is over
        "#]],
    );
}

/// The worker had the run in its cache, and that was the trouble: anybody tries it next, and the
/// attempt does not count.
#[test]
fn a_failure_of_a_cached_run_does_not_count() {
    check(
        given(sticky(), |w| w.post(signal("a")).start()),
        |w| w.fail(TurnFault::Nondeterminism).show_turn(),
        expect![[r#"
            9 TurnFailed of 7,8 Nondeterminism
            10 TurnScheduled attempt 1
            > disarm Run(Turn(7, 1)) at 10s
            = turn 10 attempt 1 in "q"
        "#]],
    );
    check(
        given(sticky(), |w| w.post(signal("a")).start()),
        |w| w.ring().take().show_turn(),
        expect![[r#"
            - 10s rings Run(Turn(7, 1))
            9 TurnTimedOut of 7,8 StartToClose
            10 TurnScheduled attempt 1
            > disarm Run(Turn(7, 1)) at 10s
            = turn 10 attempt 1 in "q"
        "#]],
    );
    check(
        given(sticky(), |w| w.post(update("u")).start()),
        |w| w.fail(TurnFault::CodeFailed).show_turn(),
        expect![[r#"
            6 TurnScheduled attempt 1
            > disarm Run(Turn(6, 1)) at 10s
            = turn 6 attempt 1 in "q"
        "#]],
    );
}

/// A bad command of a later attempt changes nothing: the turn is left to time out.
#[test]
fn a_bad_command_of_a_later_attempt_leaves_no_trace() {
    check(
        given(World::remote(), |w| w.start().fail(TurnFault::CodeFailed).start()),
        |w| w.answer([timer("", 1)]).show_turn().ring().take().show_turn(),
        expect![[r#"
            ! failed: BadTimer: the timer has no id
            = turn 5 attempt 2 in "q" provisional started until 10s
            - 10s rings Run(Turn(5, 2))
            > disarm Run(Turn(5, 2)) at 10s
            = turn 5 attempt 3 in "q" provisional
        "#]],
    );
    // Wanting to close past waiting messages is no fault of the code.
    check(
        given(World::remote(), |w| w.start().fail(TurnFault::CodeFailed).start()),
        |w| w.post(signal("a")).answer([complete()]).show_turn(),
        expect![[r#"
            ! failed: messages wait that the code has not seen
            5 WorkflowSignalled a
            6 TurnScheduled attempt 1
            > disarm Run(Turn(5, 2)) at 10s
            = turn 6 attempt 1 in "q"
        "#]],
    );
}

/// The first time that the turn was wanted is kept, for people who look at what is stuck.
#[test]
fn attempts_remember_when_the_first_one_was_wanted() {
    let mut world = given(World::remote(), |w| w.pass(5).start());
    for _ in 0..3 {
        world.ring().take().start();
    }
    let turn = world.record.turn.clone().unwrap();
    assert_eq!((turn.attempt, turn.first_scheduled_at), (4, Time(0)));
    world.post(signal("a")).ring().take();
    let turn = world.record.turn.clone().unwrap();
    assert_eq!((turn.attempt, turn.first_scheduled_at), (1, world.now));
}
