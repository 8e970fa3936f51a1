//! Activities: their deferred start, every outcome, every way to cancel them, bad commands.

use expect_test::expect;

use crate::{testing::check, testing::*, *};

/// A run that waits for one activity, number 5.
fn one(started: WorkflowStarted) -> World {
    given(World::of(started), |w| w.turn([activity("a")]))
}

/// Its code has asked for the cancel of number 5, and no turn is out.
fn requested() -> World {
    given(one(remote()), |w| w.post(signal("stop")).turn([cancel_activity(5)]))
}

#[test]
fn it_is_queued_by_the_commit_that_schedules_it() {
    check(
        World::native(),
        |w| w.turn([activity(""), activity("")]),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            5 ActivityScheduled ""
            6 ActivityScheduled ""
            > queue activity 5 in "q"
            > queue activity 6 in "q"
        "#]],
    );
    check(
        World::remote(),
        |w| w.turn([activity("a"), activity("b")]),
        expect![[r#"
            3 TurnStarted of 2
            > arm Run(Turn(2, 1)) at 10s
            4 TurnCompleted of 2,3
            5 ActivityScheduled "a"
            6 ActivityScheduled "b"
            > disarm Run(Turn(2, 1)) at 10s
            > queue activity 5 in "q"
            > queue activity 6 in "q"
        "#]],
    );
}

/// Retries leave no trace but the number of the attempt that ended it.
#[test]
fn its_start_is_written_with_its_end() {
    let retried = |started_at| {
        let Message::EndActivity(mut end) = ended(5, Some(started_at), Outcome::Completed(None))
        else {
            unreachable!()
        };
        end.attempt = 3;
        end.last_failure = Some(Failure::new("twice"));
        Message::EndActivity(end)
    };
    check(
        one(remote()),
        |w| w.pass(9).post(retried(Time(7_000_000))).take(),
        expect![[r#"
            6 ActivityStarted 5 attempt 3
            7 ActivityCompleted of 5,6
            8 TurnScheduled attempt 1
        "#]],
    );
    let mut world = one(native());
    world.pass(9).post(retried(Time(7_000_000))).turn([]);
    let started = world.history.iter().find_map(|event| match &event.kind {
        EventKind::ActivityStarted(started) => Some((event.time, started.clone())),
        _ => None,
    });
    let (time, started) = started.unwrap();
    assert_eq!((time, started.at), (Time(9_000_000), Time(7_000_000)), "true start, time of end");
    assert_eq!(started.last_failure, Some(Failure::new("twice")));
}

#[test]
fn every_outcome_has_its_event() {
    let timed_out = Outcome::TimedOut(Timeout::Heartbeat);
    check(
        given(World::remote(), |w| w.turn(["a", "b", "c", "d"].map(activity))),
        |w| {
            w.post(done(5)).post(failed(6)).post(end(7, timed_out.clone()));
            w.post(ended(8, None, Outcome::TimedOut(Timeout::ScheduleToStart))).take()
        },
        expect![[r#"
            9 ActivityStarted 5 attempt 1
            10 ActivityCompleted of 5,9
            11 ActivityStarted 6 attempt 1
            12 ActivityFailed of 6,11 Failure[no]
            13 ActivityStarted 7 attempt 1
            14 ActivityTimedOut of 7,13 Heartbeat
            15 ActivityTimedOut of 8,0 ScheduleToStart
            16 TurnScheduled attempt 1
        "#]],
    );
    check(
        one(native()),
        |w| w.post(end(5, timed_out)).turn([]),
        expect![[r#"
            6 ActivityStarted 5 attempt 1
            7 ActivityTimedOut of 5,6 Heartbeat
            8 TurnScheduled attempt 1
            9 TurnStarted of 8
            10 TurnCompleted of 8,9
        "#]],
    );
}

#[test]
fn a_second_outcome_changes_nothing() {
    for started in [native(), remote()] {
        let mut world = one(started);
        world.post(done(5)).post(failed(5)).take();
        let ends = world.history.iter().filter(|event| event.id > EventId(5)).count();
        let turn = usize::from(world.record.turn.is_some());
        assert_eq!(ends, 2 + turn, "its start and its end:\n{}", world.told);
        world.post(stopped(5)).post(skip(&[5])).take();
        assert_eq!(world.history.len(), 5 + ends, "{}", world.told);
    }
}

/// Trying to cancel and waiting for the end look the same here: the code decides what it waits
/// for. Abandoning asks nothing of us, so there is nothing to test.
#[test]
fn a_started_one_ends_by_its_own_outcome() {
    check(
        one(remote()),
        |w| w.post(signal("stop")).turn([cancel_activity(5)]).post(stopped(5)).take(),
        expect![[r#"
            6 WorkflowSignalled stop
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            > arm Run(Turn(7, 1)) at 10s
            9 TurnCompleted of 7,8
            10 ActivityCancelRequested of 5
            > disarm Run(Turn(7, 1)) at 10s
            > cancel activities 5 (requested)
            11 ActivityStarted 5 attempt 1
            12 ActivityCancelled of 5,11,10
            + (requested)
            + Signal
            13 TurnScheduled attempt 1
        "#]],
    );
    for outcome in [
        Outcome::Completed(None),
        Outcome::Failed(Failure::new("no")),
        Outcome::TimedOut(Timeout::StartToClose),
    ] {
        let mut world = requested();
        world.post(end(5, outcome.clone())).take();
        assert!(world.state.activities.is_empty(), "{outcome:?}: {}", world.told);
    }
}

/// The answer to the commit that cancels lists what had never started. It comes behind all
/// command events, and has a turn.
#[test]
fn an_unstarted_one_is_over_with_its_cancel() {
    check(
        one(remote()),
        |w| {
            w.post(signal("stop")).turn([cancel_activity(5), timer("t", 1)]);
            w.post(skip(&[5])).take()
        },
        expect![[r#"
            6 WorkflowSignalled stop
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            > arm Run(Turn(7, 1)) at 10s
            9 TurnCompleted of 7,8
            10 ActivityCancelRequested of 5
            11 TimerStarted "t" 1s
            > disarm Run(Turn(7, 1)) at 10s
            > cancel activities 5 (requested)
            > arm Timer(11) at 1s
            12 ActivityCancelled of 5,0,10
            13 TurnScheduled attempt 1
        "#]],
    );
}

#[test]
fn an_outcome_that_waits_when_it_is_cancelled_is_its_end() {
    check(
        given(one(remote()), |w| w.post(signal("stop")).start()),
        |w| w.post(done(5)).answer([cancel_activity(5)]),
        expect![[r#"
            9 TurnCompleted of 7,8
            10 ActivityCancelRequested of 5
            11 ActivityStarted 5 attempt 1
            12 ActivityCompleted of 5,11
            13 TurnScheduled attempt 1
            > disarm Run(Turn(7, 1)) at 10s
            > cancel activities 5 (requested)
        "#]],
    );
}

#[test]
fn a_cancel_that_cannot_be_fails_the_turn() {
    check(
        requested(),
        |w| w.post(signal("again")).turn([cancel_activity(5)]),
        expect![[r#"
            11 WorkflowSignalled again
            12 TurnScheduled attempt 1
            13 TurnStarted of 12
            > arm Run(Turn(12, 1)) at 10s
            ! failed: BadActivityCancel: activity 5 is cancelled already
            14 TurnFailed of 12,13 BadActivityCancel
            > disarm Run(Turn(12, 1)) at 10s
        "#]],
    );
    check(
        given(one(remote()), |w| w.post(done(5)).start()),
        |w| w.answer([cancel_activity(5)]),
        expect![[r#"
            ! failed: BadActivityCancel: no activity with number 5 is open
            10 TurnFailed of 8,9 BadActivityCancel
            > disarm Run(Turn(8, 1)) at 10s
        "#]],
    );
    // Both requests in one list: nothing of that list happens.
    check(
        given(one(remote()), |w| w.post(signal("stop")).start()),
        |w| w.answer([cancel_activity(5), cancel_activity(5)]),
        expect![[r#"
            ! failed: BadActivityCancel: activity 5 is cancelled already
            9 TurnFailed of 7,8 BadActivityCancel
            > disarm Run(Turn(7, 1)) at 10s
        "#]],
    );
}

/// Native code drops; one note tells of all activities of a turn, whatever their number.
#[test]
fn native_cancels_are_one_note_of_ranges() {
    check(
        given(World::native(), |w| w.turn((0..4).map(|_| activity("")))),
        |w| {
            w.post(signal("stop")).turn([dropped(Cancelled::Activities, &[5, 6, 8])]);
            w.post(skip(&[5, 8])).post(stopped(6)).turn([])
        },
        expect![[r#"
            9 WorkflowSignalled stop
            10 TurnScheduled attempt 1
            11 TurnStarted of 10
            12 TurnCompleted of 10,11
            + Cancels Activities 5-6,8
            > cancel activities 5-6,8 (future_dropped)
            13 ActivityStarted 6 attempt 1
            14 ActivityCancelled of 6,13,0
            + (requested)
            + Signal
            15 TurnScheduled attempt 1
            + Skipped 5,8
            16 TurnStarted of 15
            17 TurnCompleted of 15,16
        "#]],
    );
}

/// An activity may be dropped in the very turn that schedules it.
#[test]
fn what_a_turn_schedules_it_may_also_drop() {
    check(
        World::native(),
        |w| {
            w.turn([
                activity(""),
                activity(""),
                dropped(Cancelled::Activities, &[6]),
                dropped(Cancelled::Activities, &[5]),
            ]);
            assert!(w.state.activities.values().all(|open| open.cancel == Some(EventId(4))));
            w.post(skip(&[5, 6])).turn([])
        },
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            + Cancels Activities 6
            + Cancels Activities 5
            5 ActivityScheduled ""
            6 ActivityScheduled ""
            > queue activity 5 in "q"
            > queue activity 6 in "q"
            > cancel activities 6 (future_dropped)
            > cancel activities 5 (future_dropped)
            7 TurnScheduled attempt 1
            + Skipped 5-6
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
        "#]],
    );
}

#[test]
fn native_code_cannot_drop_what_is_over() {
    check(
        one(native()),
        |w| w.post(done(5)).turn([dropped(Cancelled::Activities, &[5])]),
        expect![[r#"
            ! BadActivityCancel: no activity with number 5 is open
        "#]],
    );
    check(
        one(native()),
        |w| w.post(signal("")).turn([cancel_activity(5)]),
        expect![[r#"
            ! BadActivityCancel: native runs drop what they cancel
        "#]],
    );
    check(
        one(remote()),
        |w| w.post(signal("")).turn([dropped(Cancelled::Activities, &[5])]),
        expect![[r#"
            6 WorkflowSignalled
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            > arm Run(Turn(7, 1)) at 10s
            ! failed: BadActivityCancel: only native runs drop
            9 TurnFailed of 7,8 BadActivityCancel
            > disarm Run(Turn(7, 1)) at 10s
        "#]],
    );
}

/// What waits is skipped by one note, even if the run closes before there is a turn.
#[test]
fn skipped_ones_are_noted_on_the_event_that_closes_the_run() {
    check(
        given(World::native(), |w| {
            w.turn([activity(""), activity(""), dropped(Cancelled::Activities, &[5])])
        }),
        |w| w.post(skip(&[5])).post(terminate()).take(),
        expect![[r#"
            7 WorkflowTerminated (requested)
            + Skipped 5
            + Outstanding activities 6
            > cancel activities 6 (run_terminated < requested)
        "#]],
    );
}

/// It had been let go of, and an operator cancelled it all the same: then it is not left.
#[test]
fn a_skipped_one_is_not_left_behind() {
    check(
        given(World::native(), |w| {
            w.turn([activity(""), Command::Detach(ids(&[5]))]).post(cancel_one(5)).turn([])
        }),
        |w| w.post(skip(&[5])).post(terminate()).take(),
        expect![[r#"
            9 WorkflowTerminated (requested)
            + Skipped 5
        "#]],
    );
}

#[test]
fn a_bad_one_fails_the_turn() {
    let long = "x".repeat(limits::TEXT_MAX + 1);
    let eternal = Some(Span(limits::SPAN_MAX * 2));
    let none = Timeouts::default();
    let policy = RetryPolicy { initial: span(0), ..RetryPolicy::default() };
    let cases = [
        ActivitySpec { name: "".into(), ..spec("a") },
        ActivitySpec { queue: long.into(), ..spec("a") },
        ActivitySpec { input: huge(), ..spec("a") },
        ActivitySpec { timeouts: Timeouts { heartbeat: eternal, ..none }, ..spec("a") },
        ActivitySpec { retry: Some(policy), ..spec("a") },
        ActivitySpec { id: "".into(), ..spec("a") },
        ActivitySpec { timeouts: none, ..spec("a") },
        spec("taken"),
    ];
    let world = given(World::remote(), |w| w.turn([activity("taken")]).post(signal("")).start());
    let cases = cases.map(|case| vec![Command::ScheduleActivity(Box::new(case))]);
    expect![[r#"
        ! failed: BadActivity: the activity has no name
        ! failed: BadActivity: the activity's name, id or queue is too long
        ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
        ! failed: BadActivity: a limit of the activity is longer than a hundred years
        ! failed: BadActivity: the first retry interval must be longer than zero
        ! failed: BadActivity: the activity has no id
        ! failed: BadActivity: the activity needs start-to-close or schedule-to-close
        ! failed: ActivityIdTaken: an activity of id "taken" is open
    "#]]
    .assert_eq(&refusals(&world, cases));
}

#[test]
fn there_may_not_be_too_many() {
    let many = (0..=limits::PENDING_MAX).map(|n| activity(&n.to_string()));
    check(
        given(World::remote(), |w| w.start()),
        |w| w.answer(many),
        expect![[r#"
            ! failed: TooManyActivities: too many activities are open
            4 TurnFailed of 2,3 TooManyActivities
            > disarm Run(Turn(2, 1)) at 10s
        "#]],
    );
}
