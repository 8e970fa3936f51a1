//! A run that failed, or whose time was up, is tried again if somebody wants that.

use expect_test::expect;

use crate::{testing::check, testing::*, *};

fn tried(attempts_max: u32) -> WorkflowStarted {
    let policy = RetryPolicy { attempts_max, ..RetryPolicy::default() };
    WorkflowStarted { retry: Some(policy), run_timeout: Some(span(60)), ..native() }
}

fn fail() -> Command {
    Command::Fail(Failure::new("no"))
}

#[test]
fn a_failed_run_is_tried_again_after_a_pause() {
    check(
        World::of(tried(0)),
        |w| w.turn([fail()]),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            5 WorkflowFailed turn 4 Failure[no] InProgress next run100
            > begin run100 Next: 1 WorkflowStarted work delay 1s try 2
            > disarm Run(Run) at 60s
        "#]],
    );
    let second = WorkflowStarted { attempt: 2, ..tried(0) };
    check(
        World::of(second),
        |w| w.turn([fail()]),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            5 WorkflowFailed turn 4 Failure[no] InProgress next run100
            > begin run100 Next: 1 WorkflowStarted work delay 2s try 3
            > disarm Run(Run) at 60s
        "#]],
    );
}

#[test]
fn a_run_whose_time_was_up_is_tried_again() {
    check(
        World::of(tried(0)),
        |w| w.ring().take(),
        expect![[r#"
            - 60s rings Run(Run)
            2 WorkflowTimedOut InProgress next run100
            > begin run100 Next: 1 WorkflowStarted work delay 1s try 2
            > disarm Run(Run) at 60s
        "#]],
    );
}

#[test]
fn it_is_not_when_there_is_a_reason_against_it() {
    let state = |world: World, command: Command| {
        let mut world = world;
        world.turn([command]);
        assert_eq!(world.successor, None);
        match &world.history.last().unwrap().kind {
            EventKind::WorkflowFailed(failed) => failed.retry,
            other => panic!("{other:?}"),
        }
    };
    let never = Command::Fail(Failure::new("no").final_());
    let world = World::of;
    assert_eq!(state(world(native()), fail()), RetryState::NoPolicy);
    assert_eq!(state(world(tried(1)), fail()), RetryState::AttemptsUsed);
    assert_eq!(state(world(tried(0)), never), RetryState::NonRetryable);
    let short = WorkflowStarted { chain_timeout: Some(span(1)), ..tried(0) };
    assert_eq!(state(world(short), fail()), RetryState::Timeout);
}

/// Trying a cancelled run again would undo the cancel.
#[test]
fn a_cancelled_run_is_never_tried_again() {
    check(
        World::of(tried(0)),
        |w| w.post(stop()).turn([fail()]),
        expect![[r#"
            2 WorkflowCancelRequested (requested)
            3 TurnScheduled attempt 1
            4 TurnStarted of 3
            5 TurnCompleted of 3,4
            6 WorkflowFailed turn 5 Failure[no] CancelRequested
            > disarm Run(Run) at 60s
        "#]],
    );
    check(
        World::of(tried(0)),
        |w| w.post(stop()).turn([]).ring().take(),
        expect![[r#"
            2 WorkflowCancelRequested (requested)
            3 TurnScheduled attempt 1
            4 TurnStarted of 3
            5 TurnCompleted of 3,4
            - 60s rings Run(Run)
            6 WorkflowTimedOut CancelRequested
            > disarm Run(Run) at 60s
        "#]],
    );
}
