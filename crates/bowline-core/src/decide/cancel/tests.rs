//! Cancels of a whole run, of one thing by an operator, and what is let go of.

use expect_test::expect;

use crate::{testing::check, testing::*, *};

#[test]
fn a_cancel_is_an_event_and_wants_a_turn() {
    check(
        given(World::remote(), |w| w.turn([])),
        |w| w.post(stop()).take().turn([Command::Cancel(None, None)]),
        expect![[r#"
            5 WorkflowCancelRequested (requested)
            6 TurnScheduled attempt 1
            7 TurnStarted of 6
            > arm Run(Turn(6, 1)) at 10s
            8 TurnCompleted of 6,7
            9 WorkflowCancelled turn 8
            > disarm Run(Turn(6, 1)) at 10s
        "#]],
    );
    check(
        given(World::native(), |w| w.turn([])),
        |w| w.post(stop()).turn([Command::Cancel(None, None)]),
        expect![[r#"
            5 WorkflowCancelRequested (requested)
            6 TurnScheduled attempt 1
            7 TurnStarted of 6
            8 TurnCompleted of 6,7
            9 WorkflowCancelled turn 8
        "#]],
    );
}

#[test]
fn a_second_cancel_never_disturbs_the_first() {
    check(
        given(World::native(), |w| w.post(stop()).turn([activity("")])),
        |w| w.post(stop()).take(),
        expect![[""]],
    );
    assert_eq!(given(World::native(), |w| w.post(stop()).take()).state.status, Status::Cancelling);
}

/// The code had not seen the cancel when it answered: it may not close the run past it.
#[test]
fn a_cancel_during_a_remote_turn_is_not_passed_over() {
    check(
        given(World::remote(), |w| w.start()),
        |w| w.post(stop()).answer([complete()]).turn([Command::Cancel(None, None)]),
        expect![[r#"
            ! failed: messages wait that the code has not seen
            4 TurnFailed of 2,3 Unhandled
            5 WorkflowCancelRequested (requested)
            6 TurnScheduled attempt 1
            > disarm Run(Turn(2, 1)) at 10s
            7 TurnStarted of 6
            > arm Run(Turn(6, 1)) at 10s
            8 TurnCompleted of 6,7
            9 WorkflowCancelled turn 8
            > disarm Run(Turn(6, 1)) at 10s
        "#]],
    );
    check(
        given(World::remote(), |w| w.start()),
        |w| w.post(stop()).answer([timer("t", 5)]),
        expect![[r#"
            4 TurnCompleted of 2,3
            5 TimerStarted "t" 5s
            6 WorkflowCancelRequested (requested)
            7 TurnScheduled attempt 1
            > disarm Run(Turn(2, 1)) at 10s
            > arm Timer(5) at 5s
        "#]],
    );
}

#[test]
fn a_deadline_is_a_cancel_with_clean_up() {
    let started = WorkflowStarted { deadline: Some(Time(60_000_000)), ..native() };
    check(
        given(World::of(started.clone()), |w| w.turn([])),
        |w| w.ring().turn([activity("")]),
        expect![[r#"
            - 60s rings Run(Deadline)
            5 WorkflowCancelRequested (deadline)
            6 TurnScheduled attempt 1
            7 TurnStarted of 6
            8 TurnCompleted of 6,7
            9 ActivityScheduled ""
            > queue activity 9 in "q"
        "#]],
    );
    // A run that is being cancelled already has nothing more to hear.
    check(
        given(World::of(started), |w| w.post(stop()).turn([activity("")])),
        |w| w.ring().take(),
        expect![[r#"
            - 60s rings Run(Deadline)
        "#]],
    );
}

#[test]
fn a_run_that_does_not_obey_is_terminated_by_its_ladder() {
    let ladder = Some(RunLadder { terminate_after: span(30) });
    let busy = |started| {
        let world = World::of(WorkflowStarted { ladder, ..started });
        given(world, |w| w.turn([activity("a")]).pass(10))
    };
    check(
        busy(native()),
        |w| w.post(stop()).turn([timer("t", 900)]).ring().take(),
        expect![[r#"
            6 WorkflowCancelRequested (requested)
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
            10 TimerStarted "t" 900s
            > arm Run(Ladder) at 40s
            > arm Timer(10) at 910s
            - 40s rings Run(Ladder)
            11 WorkflowTerminated (escalated < requested)
            + Outstanding activities 5 timers 10
            > cancel activities 5 (run_terminated < escalated < requested)
            > disarm Timer(10) at 910s
            > disarm Run(Ladder) at 40s
        "#]],
    );
    check(
        busy(remote()),
        |w| w.post(stop()).turn([timer("t", 900)]).ring().take(),
        expect![[r#"
            6 WorkflowCancelRequested (requested)
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            > arm Run(Ladder) at 40s
            > arm Run(Turn(7, 1)) at 20s
            9 TurnCompleted of 7,8
            10 TimerStarted "t" 900s
            > disarm Run(Turn(7, 1)) at 20s
            > arm Timer(10) at 910s
            - 40s rings Run(Ladder)
            11 WorkflowTerminated (escalated < requested)
            + Outstanding activities 5 timers 10
            > cancel activities 5 (run_terminated < escalated < requested)
            > disarm Timer(10) at 910s
            > disarm Run(Ladder) at 40s
        "#]],
    );
}

/// Without a cancel there is nothing to escalate, and a cancel that is only just arriving has its
/// whole time.
#[test]
fn a_ladder_that_rings_too_early_changes_nothing() {
    let ladder = Some(RunLadder { terminate_after: span(30) });
    let early = AlarmKind::Run(RunAlarm::Ladder);
    check(
        given(World::of(WorkflowStarted { ladder, ..remote() }), |w| w.turn([])),
        |w| w.ring_late(early).take().post(stop()).ring_late(early).take(),
        expect![[r#"
            5 WorkflowCancelRequested (requested)
            6 TurnScheduled attempt 1
            > arm Run(Ladder) at 30s
        "#]],
    );
}

/// A run whose code nobody has does not take its cancel in. Its ladder needs no code.
#[test]
fn a_ladder_ends_a_run_that_has_not_taken_its_cancel_in() {
    let ladder = Some(RunLadder { terminate_after: span(30) });
    let due = AlarmKind::Run(RunAlarm::Ladder);
    check(
        given(World::of(WorkflowStarted { ladder, ..native() }), |w| w.turn([])),
        |w| w.post(stop()).post(signal("s")).pass(30).ring_late(due).take(),
        expect![[r#"
            5 WorkflowCancelRequested (requested)
            6 WorkflowSignalled s
            7 WorkflowTerminated (escalated < requested)
            > disarm Run(Ladder) at 30s
        "#]],
    );
    // A worker has the turn.
    check(
        given(World::of(WorkflowStarted { ladder, ..remote() }), |w| w.start()),
        |w| w.post(stop()).take().pass(30).ring_late(due).take(),
        expect![[r#"
            4 TurnFailed of 2,3 ForceClosed
            5 WorkflowCancelRequested (requested)
            6 WorkflowTerminated (escalated < requested)
            > disarm Run(Turn(2, 1)) at 10s
            > disarm Run(Ladder) at 60s
        "#]],
    );
    // It is the deadline that cancels.
    let deadline = Message::TimeOut(RunAlarm::Deadline);
    check(
        given(World::of(WorkflowStarted { ladder, ..native() }), |w| w.turn([])),
        |w| w.post(deadline.clone()).pass(30).ring_late(due).take(),
        expect![[r#"
            5 WorkflowCancelRequested (deadline)
            6 WorkflowTerminated (escalated < deadline)
            > disarm Run(Ladder) at 30s
        "#]],
    );
}

#[test]
fn an_operator_cancels_one_native_activity_or_child() {
    check(
        given(World::native(), |w| w.turn([activity(""), activity(""), child("c")])),
        |w| {
            w.post(cancel_one(5)).post(cancel_one(5)).post(cancel_one(7)).turn([]);
            w.post(cancel_one(5)).post(cancel_one(7)).take();
            w.post(skip(&[5])).post(child_ended(7, RunEnding::Cancelled(None, None))).turn([])
        },
        expect![[r#"
            8 TurnScheduled attempt 1
            + CancelledOne 5 (requested)
            + CancelledOne 7 (requested)
            9 TurnStarted of 8
            10 TurnCompleted of 8,9
            > cancel activities 5 (requested)
            > post to chain run9: cancel (parent_cancelled < requested)
            11 ChildStarted of 7
            12 ChildCancelled of 7,11
            13 TurnScheduled attempt 1
            + Skipped 5
            14 TurnStarted of 13
            15 TurnCompleted of 13,14
        "#]],
    );
    // It ended while the request was on its way.
    check(
        given(World::native(), |w| w.turn([activity("")])),
        |w| w.post(cancel_one(5)).post(done(5)).turn([]),
        expect![[r#"
            6 ActivityStarted 5 attempt 1
            7 ActivityCompleted of 5,6
            8 TurnScheduled attempt 1
            9 TurnStarted of 8
            10 TurnCompleted of 8,9
            > cancel activities 5 (requested)
        "#]],
    );
    check(
        given(World::native(), |w| w.turn([activity("")])),
        |w| w.post(cancel_one(5)).turn([]).post(stopped(5)).turn([]),
        expect![[r#"
            6 TurnScheduled attempt 1
            + CancelledOne 5 (requested)
            7 TurnStarted of 6
            8 TurnCompleted of 6,7
            > cancel activities 5 (requested)
            9 ActivityStarted 5 attempt 1
            10 ActivityCancelled of 5,9,0
            + (requested)
            + Signal
            11 TurnScheduled attempt 1
            12 TurnStarted of 11
            13 TurnCompleted of 11,12
        "#]],
    );
}

/// A remote worker's code does not know of the cancel. It sees a failure that is never tried
/// again, and may still cancel the activity itself.
#[test]
fn an_operator_cancels_one_remote_activity_or_child() {
    let world = || given(World::remote(), |w| w.turn([activity("a"), activity("b"), child("c")]));
    check(
        world(),
        |w| {
            w.post(cancel_one(5)).post(cancel_one(6)).post(cancel_one(7)).take();
            w.post(skip(&[5])).post(stopped(6)).take()
        },
        expect![[r#"
            > cancel activities 5 (requested)
            > cancel activities 6 (requested)
            > post to chain run9: cancel (parent_cancelled < requested)
            8 ActivityStarted 5 attempt 1
            9 ActivityFailed of 5,8 Failure[Cancelled: cancelled by an operator]
            10 ActivityStarted 6 attempt 1
            11 ActivityFailed of 6,10 Failure[Cancelled: cancelled: requested by alice (stop)]
            + (requested)
            + Signal
            12 TurnScheduled attempt 1
        "#]],
    );
    check(
        given(world(), |w| w.post(cancel_one(5)).take().post(signal("")).start()),
        |w| w.answer([cancel_activity(5)]).post(stopped(5)).take(),
        expect![[r#"
            11 TurnCompleted of 9,10
            12 ActivityCancelRequested of 5
            > disarm Run(Turn(9, 1)) at 10s
            > cancel activities 5 (requested)
            13 ActivityStarted 5 attempt 1
            14 ActivityCancelled of 5,13,12
            + (requested)
            + Signal
            15 TurnScheduled attempt 1
        "#]],
    );
    // While a worker has the turn, the request waits like any other message.
    check(
        given(world(), |w| w.post(signal("")).start()),
        |w| w.post(cancel_one(5)).take().answer([]),
        expect![[r#"
            11 TurnCompleted of 9,10
            > disarm Run(Turn(9, 1)) at 10s
            > cancel activities 5 (requested)
        "#]],
    );
}

#[test]
fn nothing_that_is_over_or_unknown_can_be_cancelled() {
    for started in [native(), remote()] {
        let mut world =
            given(World::of(started), |w| w.turn([activity("a")]).post(done(5)).turn([]));
        world.told.clear();
        world.post(cancel_one(5)).post(cancel_one(1)).post(cancel_one(99)).take();
        assert_eq!(world.told, "");
    }
}

/// The note of an operator's cancel rides on whatever event there is, the closing one if need be.
#[test]
fn an_operators_cancel_is_noted_on_the_event_that_closes_the_run() {
    check(
        given(World::native(), |w| w.turn([activity(""), activity(""), child("c")])),
        |w| w.post(cancel_one(5)).post(cancel_one(7)).post(terminate()).take(),
        expect![[r#"
            8 WorkflowTerminated (requested)
            + CancelledOne 5 (requested)
            + CancelledOne 7 (requested)
            + Outstanding activities 6 children 7
            > cancel activities 5 (requested)
            > post to chain run9: cancel (parent_cancelled < requested)
            > cancel activities 6 (run_terminated < requested)
            > post to chain run9: cancel (parent_closed < run_terminated < requested)
        "#]],
    );
}

/// What is let go of outlives the run, even if the turn that lets go of it had just started it.
#[test]
fn what_is_let_go_of_is_left_alone_at_the_end() {
    check(
        given(World::native(), |w| w.turn([activity(""), child("c")])),
        |w| {
            w.post(signal("")).turn([
                activity(""),
                activity(""),
                Command::Detach(ids(&[5, 6])),
                Command::Detach(ids(&[11])),
            ]);
            w.post(signal("")).turn([complete()])
        },
        expect![[r#"
            7 WorkflowSignalled
            8 TurnScheduled attempt 1
            9 TurnStarted of 8
            10 TurnCompleted of 8,9
            + Detached 5-6
            + Detached 11
            11 ActivityScheduled ""
            12 ActivityScheduled ""
            > queue activity 11 in "q"
            > queue activity 12 in "q"
            13 WorkflowSignalled
            14 TurnScheduled attempt 1
            15 TurnStarted of 14
            16 TurnCompleted of 14,15
            17 WorkflowCompleted turn 16
            + Outstanding activities 12 left 5-6,11
            > cancel activities 12 (run_completed)
        "#]],
    );
    check(
        World::native(),
        |w| w.turn([activity(""), Command::Detach(ids(&[5])), complete()]),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            + Detached 5
            5 ActivityScheduled ""
            6 WorkflowCompleted turn 4
            + Outstanding left 5
            > queue activity 5 in "q"
        "#]],
    );
    check(
        World::native(),
        |w| w.turn([Command::Detach(ids(&[5]))]),
        expect![[r#"
            ! nothing with number 5 is open
        "#]],
    );
    check(
        given(World::remote(), |w| w.start()),
        |w| w.answer([activity("a"), Command::Detach(ids(&[5]))]),
        expect![[r#"
            ! failed: this run's rules do not know letting go
            4 TurnFailed of 2,3 CodeFailed
            > disarm Run(Turn(2, 1)) at 10s
        "#]],
    );
}
