//! Ladders that come with a request, and what a later request may change.

use expect_test::expect;

use crate::{decide::start, testing::check, testing::*, *};

fn ladder(grace: u64, step: u64) -> Option<Ladder> {
    Some(Ladder { grace: span(grace), step: span(step), detach: false })
}

fn pushing(run: Option<u64>, activities: Option<Ladder>) -> Cause {
    let run = run.map(|seconds| RunLadder { terminate_after: span(seconds) });
    let ladders = Ladders { run, activities, hastens: false };
    Cause { ladders: Some(Box::new(ladders)), ..why("stop") }
}

fn stop_so(cause: Cause) -> Message {
    let request_id = RequestId::default();
    Message::Cancel(Box::new(Cancel { cause, request_id, external: None, wire: None }))
}

/// What code drops because its run is cancelled, as replay says it.
fn dropped(activities: &[u64], cause: Cause) -> Command {
    let cause = Cause::new(Code::RunCancelled).because(cause);
    let what = Cancelled::Activities;
    Command::Drop(vec![Decision { scope: ScopeId(0), what, targets: ids(activities), cause }])
}

fn busy(started: WorkflowStarted) -> World {
    given(World::of(started), |w| w.turn([activity("a")]).pass(10))
}

/// What stands in the inbox arms the ladder: that of the request, or else that of the run, once.
#[test]
fn a_request_arms_a_ladder_as_soon_as_it_is_durable() {
    let own = Some(RunLadder { terminate_after: span(30) });
    let due = |message: Message, own, is_first| {
        let alarm = message.arms(own, is_first, Time(0))?;
        assert_eq!(alarm.what, AlarmKind::Run(RunAlarm::Ladder));
        Some(alarm.due)
    };
    let after = |seconds| Some(Time(0).after(span(seconds).0));
    let hard = || stop_so(pushing(Some(5), None));
    assert_eq!(due(stop(), None, true), None);
    assert_eq!(due(stop(), own, true), after(30));
    assert_eq!(due(stop(), own, false), None, "its time does not begin again");
    assert_eq!(due(hard(), own, true), after(5));
    assert_eq!(due(hard(), None, false), after(5), "it hastens");
    let late = stop_so(pushing(Some(60), None));
    assert_eq!(due(late, own, true), after(60), "whatever the run was started with");
    let child = Cause::new(Code::ParentCancelled).because(pushing(Some(5), None));
    assert_eq!(due(stop_so(child), None, true), after(5), "it goes where the cancel goes");
    assert_eq!(due(Message::TimeOut(RunAlarm::Deadline), own, true), after(30));
    assert_eq!(due(Message::TimeOut(RunAlarm::Deadline), own, false), None);
    assert_eq!(due(Message::Wake, own, true), None);
}

#[test]
fn a_second_request_hastens_a_run_that_has_not_taken_the_first_one_in() {
    let (own, due) = (RunLadder { terminate_after: span(30) }, AlarmKind::Run(RunAlarm::Ladder));
    let started = WorkflowStarted { ladder: Some(own), ..native() };
    check(
        busy(started),
        |w| {
            w.post(stop()).pass(5).post(stop_so(pushing(Some(5), None)));
            w.pass(5).ring_late(due).take()
        },
        expect![[r#"
            6 WorkflowCancelRequested (requested)
            7 WorkflowTerminated (escalated < requested)
            + Hastened (requested) run 10s
            + Outstanding activities 5
            > disarm Run(Ladder) at 40s
            > cancel activities 5 (run_terminated < escalated < requested)
            > disarm Run(Ladder) at 40s
        "#]],
    );
}

#[test]
fn n4_a_request_brings_ladders_of_its_own() {
    let cause = pushing(Some(60), ladder(2, 1));
    check(
        busy(native()),
        |w| w.post(stop_so(cause.clone())).turn([dropped(&[5], cause.clone())]).ring().take(),
        expect![[r#"
            6 WorkflowCancelRequested (requested)
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
            + Cancels Activities 5
            > arm Run(Ladder) at 70s
            > cancel activities 5 (run_cancelled < requested) run 60s activities 2s 1s
            - 70s rings Run(Ladder)
            10 WorkflowTerminated (escalated < requested)
            > disarm Run(Ladder) at 70s
        "#]],
    );
}

#[test]
fn n4_the_ladder_of_a_request_replaces_that_of_the_run() {
    let own = Some(RunLadder { terminate_after: span(30) });
    for started in [native(), remote()] {
        let world = busy(WorkflowStarted { ladder: own, ..started });
        let world = given(world, |w| w.post(stop_so(pushing(Some(300), None))).take());
        let armed = start::run_ladder(&world.state).map(|ladder| ladder.terminate_after);
        assert_eq!(armed, Some(span(300)), "{:?}", world.state.rules().kind);
    }
}

#[test]
fn k7_a_later_request_hastens_the_end_of_a_run_and_never_delays_it() {
    let first = stop_so(pushing(Some(60), None));
    let waiting = given(busy(native()), |w| w.post(first.clone()).turn([]).pass(5));
    check(waiting.clone(), |w| w.post(stop_so(pushing(Some(90), None))).take(), expect![[r#""#]]);
    check(
        waiting,
        |w| w.post(stop_so(pushing(Some(3), None))).turn([]).ring().take(),
        expect![[r#"
            10 TurnScheduled attempt 1
            + Hastened (requested) run 8s
            11 TurnStarted of 10
            12 TurnCompleted of 10,11
            > disarm Run(Ladder) at 70s
            > arm Run(Ladder) at 18s
            - 18s rings Run(Ladder)
            13 WorkflowTerminated (escalated < requested)
            + Outstanding activities 5
            > cancel activities 5 (run_terminated < escalated < requested) run 8s
            > disarm Run(Ladder) at 18s
        "#]],
    );
    // A remote history has no place for the note; the earlier alarm is enough.
    check(
        given(busy(remote()), |w| w.post(first.clone()).turn([]).pass(5)),
        |w| w.post(stop_so(pushing(Some(3), None))).take().ring().take(),
        expect![[r#"
            > disarm Run(Ladder) at 70s
            > arm Run(Ladder) at 18s
            - 18s rings Run(Ladder)
            10 WorkflowTerminated (escalated < requested)
            + Outstanding activities 5
            > cancel activities 5 (run_terminated < escalated < requested) run 60s
            > disarm Run(Ladder) at 70s
        "#]],
    );
}

#[test]
fn k7_a_later_request_hastens_what_was_cancelled_before() {
    let first = why("stop");
    check(
        given(busy(native()), |w| {
            w.post(stop_so(first.clone())).turn([dropped(&[5], first.clone())]).pass(1)
        }),
        |w| w.post(stop_so(pushing(None, ladder(2, 1)))).turn([]),
        expect![[r#"
            10 TurnScheduled attempt 1
            + Hastened (requested) activities at most 2s 1s
            11 TurnStarted of 10
            12 TurnCompleted of 10,11
            > cancel activities 5 (requested) activities 2s 1s
        "#]],
    );
}

/// Both requests wait in the inbox when the code first hears of a cancel: it knows the first, and
/// what it drops is pushed as hard as the second one says.
#[test]
fn k7_what_is_dropped_later_is_pushed_as_hard_as_anybody_asked() {
    let first = pushing(None, ladder(60, 9));
    let second = pushing(None, ladder(2, 30));
    check(
        busy(native()),
        |w| {
            w.post(stop_so(first.clone()))
                .post(stop_so(second))
                .post(stop_so(pushing(None, ladder(600, 600))))
                .turn([dropped(&[5], first.clone())])
        },
        expect![[r#"
            6 WorkflowCancelRequested (requested)
            7 TurnScheduled attempt 1
            + Hastened (requested) activities 2s 9s
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
            + Cancels Activities 5
            > cancel activities 5 (run_cancelled < requested) activities 2s 9s
        "#]],
    );
}

#[test]
fn n4_one_activity_or_child_is_pushed_as_asked_and_again() {
    let one = |target, cause| Message::CancelOne(EventId(target), cause);
    check(
        given(World::native(), |w| w.turn([activity("a"), child("c")]).pass(1)),
        |w| {
            w.post(one(5, pushing(None, ladder(9, 9))))
                .post(one(6, pushing(Some(60), None)))
                .turn([])
                .post(one(5, why("again")))
                .post(one(5, pushing(None, ladder(1, 1))))
                .post(one(6, pushing(Some(1), None)))
                .take()
        },
        expect![[r#"
            7 TurnScheduled attempt 1
            + CancelledOne 5 (requested)
            + CancelledOne 6 (requested)
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
            > cancel activities 5 (requested) activities 9s 9s
            > post to chain run9: cancel (parent_cancelled < requested) run 60s
            > cancel activities 5 (requested) activities 1s 1s
            > post to chain run9: cancel (parent_cancelled < requested) run 1s
        "#]],
    );
}

#[test]
fn n4_the_ladder_of_a_child_follows_from_its_parents() {
    let cause = pushing(Some(60), None);
    let decision = |targets: &[u64]| Decision {
        scope: ScopeId(0),
        what: Cancelled::Children,
        targets: ids(targets),
        cause: cause.clone(),
    };
    check(
        given(World::native(), |w| w.turn([child("c")]).pass(1)),
        |w| w.post(stop_so(cause.clone())).turn([Command::Drop(vec![decision(&[5])])]),
        expect![[r#"
            6 WorkflowCancelRequested (requested)
            7 TurnScheduled attempt 1
            8 TurnStarted of 7
            9 TurnCompleted of 7,8
            + Cancels Children 5
            10 ExternalCancelInitiated "c" child 5
            + (requested)
            > arm Run(Ladder) at 61s
            > post to chain run9: cancel (parent_cancelled < requested) run 60s, answer 10
        "#]],
    );
}
