//! Beginnings: plain, delayed, with a signal, and the ones that are refused.

use expect_test::expect;

use super::{Begin, check as acceptable};
use crate::{testing::check, testing::*, *};

fn delayed(started: WorkflowStarted) -> World {
    World::of(WorkflowStarted { delay: Some(span(60)), ..started })
}

/// Tells a world from its very beginning.
#[track_caller]
fn from_the_start(
    world: World,
    input: impl FnOnce(&mut World) -> &mut World,
    expect: expect_test::Expect,
) {
    let mut world = world;
    input(&mut world);
    expect.assert_eq(&world.told);
}

#[test]
fn a_native_run_begins_with_a_wake() {
    from_the_start(
        World::native(),
        |w| {
            assert_eq!(w.inbox.len(), 1, "the wake");
            w.turn([])
        },
        expect![[r#"
            1 WorkflowStarted work
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
        "#]],
    );
}

#[test]
fn a_remote_run_begins_with_a_turn() {
    from_the_start(
        World::remote(),
        |w| w.show_turn(),
        expect![[r#"
            1 WorkflowStarted work
            2 TurnScheduled attempt 1
            = turn 2 attempt 1 in "q"
        "#]],
    );
}

#[test]
fn a_signal_that_comes_with_the_start_precedes_the_first_turn() {
    let signal = Signal { name: "go".into(), request_id: "r".into(), ..Signal::default() };
    let begin = |started| Begin {
        run: run(1),
        started,
        reuse: Reuse::Allow,
        link: Link::None,
        signals: vec![signal.clone()],
        wire: None,
        now: Time(0),
    };
    from_the_start(
        World::begun(begin(remote())),
        |w| w.post(signal_of("go", "r")).take(),
        expect![[r#"
            1 WorkflowStarted work
            2 WorkflowSignalled go
            3 TurnScheduled attempt 1
        "#]],
    );
    from_the_start(
        World::begun(begin(native())),
        |w| w.turn([]),
        expect![[r#"
            1 WorkflowStarted work
            2 WorkflowSignalled go
            3 TurnScheduled attempt 1
            4 TurnStarted of 3
            5 TurnCompleted of 3,4
        "#]],
    );
}

#[test]
fn every_limit_of_a_run_has_its_alarm() {
    let started = WorkflowStarted {
        run_timeout: Some(span(30)),
        chain_timeout: Some(span(50)),
        deadline: Some(Time(9_000_000)),
        ..remote()
    };
    from_the_start(
        World::of(started.clone()),
        |w| w,
        expect![[r#"
            1 WorkflowStarted work
            2 TurnScheduled attempt 1
            > arm Run(Run) at 30s
            > arm Run(Deadline) at 9s
        "#]],
    );
    let shorter = WorkflowStarted { chain_timeout: Some(span(20)), ..started };
    from_the_start(
        World::of(shorter),
        |w| w,
        expect![[r#"
            1 WorkflowStarted work
            2 TurnScheduled attempt 1
            > arm Run(Run) at 20s
            > arm Run(Deadline) at 9s
        "#]],
    );
}

#[test]
fn a_delay_holds_the_first_turn_back() {
    from_the_start(
        delayed(WorkflowStarted { run_timeout: Some(span(30)), ..remote() }),
        |w| w.show_turn().ring().take(),
        expect![[r#"
            1 WorkflowStarted work delay 60s
            > arm Run(Delay) at 60s
            > arm Run(Run) at 90s
            = no turn
            - 60s rings Run(Delay)
            2 TurnScheduled attempt 1
            > disarm Run(Delay) at 60s
        "#]],
    );
    from_the_start(
        delayed(native()),
        |w| {
            assert!(w.inbox.is_empty(), "nothing wakes it before its delay has passed");
            w.ring().turn([])
        },
        expect![[r#"
            1 WorkflowStarted work delay 60s
            > arm Run(Delay) at 60s
            - 60s rings Run(Delay)
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            > disarm Run(Delay) at 60s
        "#]],
    );
}

/// A signal and an update are kept for the first turn; neither brings it forward.
#[test]
fn what_arrives_during_the_delay_waits_for_its_end() {
    for started in [remote(), native()] {
        let kind = started.rules.kind;
        let mut world = delayed(started);
        world.post(signal("go")).post(update("u")).take();
        assert!(!world.wants_turn, "{kind:?}");
        assert_eq!(world.record.turn, None, "{kind:?}");
        assert_eq!(world.state.turn_scheduled, None, "{kind:?}");
    }
    check(
        delayed(remote()),
        |w| w.post(signal("go")).post(update("u")).take().ring().take().show_turn(),
        expect![[r#"
            2 WorkflowSignalled go
            - 60s rings Run(Delay)
            3 TurnScheduled attempt 1
            > disarm Run(Delay) at 60s
            = turn 3 attempt 1 in "q"
        "#]],
    );
    check(
        delayed(native()),
        |w| w.post(signal("go")).post(update("u")).take().ring().turn([]),
        expect![[r#"
            2 WorkflowSignalled go
            3 UpdateAdmitted u
            - 60s rings Run(Delay)
            4 TurnScheduled attempt 1
            5 TurnStarted of 4
            6 TurnCompleted of 4,5
            > disarm Run(Delay) at 60s
        "#]],
    );
}

#[test]
fn a_cancel_cuts_the_delay_short() {
    check(
        delayed(remote()),
        |w| w.post(signal("go")).post(stop()).take().show_turn(),
        expect![[r#"
            2 WorkflowSignalled go
            3 WorkflowCancelRequested (requested)
            4 TurnScheduled attempt 1
            > disarm Run(Delay) at 60s
            = turn 4 attempt 1 in "q"
        "#]],
    );
    check(
        delayed(native()),
        |w| w.post(stop()).turn([Command::Cancel(None, None)]),
        expect![[r#"
            2 WorkflowCancelRequested (requested)
            3 TurnScheduled attempt 1
            4 TurnStarted of 3
            5 TurnCompleted of 3,4
            6 WorkflowCancelled turn 5
            > disarm Run(Delay) at 60s
        "#]],
    );
}

/// The alarm of the delay had rung when the cancel took it back: the turn is there already.
#[test]
fn a_delay_that_rings_too_late_changes_nothing() {
    let late = AlarmKind::Run(RunAlarm::Delay);
    check(
        given(delayed(remote()), |w| w.post(stop()).take()),
        |w| w.ring_late(late).take().show_turn(),
        expect![[r#"
            = turn 3 attempt 1 in "q"
        "#]],
    );
}

#[test]
fn a_start_that_is_not_acceptable_names_its_fault() {
    let long: String = "x".repeat(limits::TEXT_MAX + 1);
    let eternal = Some(Span(limits::SPAN_MAX * 2));
    let policy = RetryPolicy { coefficient: 0.5, ..RetryPolicy::default() };
    let memo = [("m".to_owned(), huge().unwrap())].into();
    let cases = [
        WorkflowStarted { name: "".into(), ..native() },
        WorkflowStarted { workflow_id: "".into(), ..native() },
        WorkflowStarted { queue: long.into(), ..native() },
        WorkflowStarted { input: huge(), ..native() },
        WorkflowStarted { memo, ..native() },
        WorkflowStarted { run_timeout: eternal, ..native() },
        WorkflowStarted { chain_timeout: eternal, ..native() },
        WorkflowStarted { turn_timeout: eternal, ..native() },
        WorkflowStarted { delay: eternal, ..native() },
        WorkflowStarted { retry: Some(policy), ..native() },
        WorkflowStarted { cron: "*".repeat(1_001), ..native() },
    ];
    let said: Vec<_> = cases.iter().map(|bad| acceptable(bad).unwrap_err().to_string()).collect();
    expect![[r#"
        the workflow's name is not acceptable: it is empty
        the workflow id is not acceptable: it is empty
        the queue is not acceptable: it is longer than 1,000 bytes
        the input is not acceptable: it is larger than 2 MiB
        the memo is not acceptable: it is larger than 2 MiB
        the run timeout is not acceptable: it is longer than a hundred years
        the chain timeout is not acceptable: it is longer than a hundred years
        the turn timeout is not acceptable: it is longer than a hundred years
        the delay is not acceptable: it is longer than a hundred years
        the retry policy is not acceptable: the retry coefficient must be a number of at least 1
        the schedule is not acceptable: it is longer than 1,000 bytes"#]]
    .assert_eq(&said.join("\n"));
    acceptable(&native()).unwrap();
}
