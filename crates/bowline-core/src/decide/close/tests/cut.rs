//! Closed from outside: terminated, timed out, too long; and what a closed run does.

use expect_test::expect;

use super::busy;
use crate::{testing::check, testing::*, *};

#[test]
fn a_terminated_run_records_what_waited_first() {
    check(
        busy(native()),
        |w| w.post(signal("late")).post(terminate()).post(done(5)).take(),
        expect![[r#"
            15 WorkflowSignalled late
            16 ActivityStarted 5 attempt 1
            17 ActivityCompleted of 5,16
            18 WorkflowTerminated (requested)
            + Outstanding timers 7 children 8-9 left 10
            > disarm Timer(7) at 900s
            > post to chain run9: cancel (parent_closed < run_terminated < requested)
            > post to chain run9: terminate (parent_closed < run_terminated < requested)
        "#]],
    );
}

#[test]
fn a_turn_that_is_out_is_void() {
    check(
        given(World::remote(), |w| w.turn([activity("a")]).post(signal("")).start()),
        |w| w.post(done(5)).post(signal("late")).post(terminate()).take().answer([]),
        expect![[r#"
            9 TurnFailed of 7,8 ForceClosed
            10 WorkflowSignalled late
            11 ActivityStarted 5 attempt 1
            12 ActivityCompleted of 5,11
            13 WorkflowTerminated (requested)
            > disarm Run(Turn(7, 1)) at 10s
            ! no such turn: it was answered, or is over
        "#]],
    );
    // One that waits for a worker is simply never taken.
    check(
        World::remote(),
        |w| w.post(signal("late")).post(terminate()).take(),
        expect![[r#"
            3 WorkflowSignalled late
            4 WorkflowTerminated (requested)
        "#]],
    );
}

/// A provisional turn stands nowhere, so there is nothing to take back.
#[test]
fn a_provisional_turn_that_is_out_leaves_no_trace() {
    check(
        given(World::remote(), |w| w.start().fail(TurnFault::CodeFailed).start()),
        |w| w.post(signal("late")).post(terminate()).take(),
        expect![[r#"
            5 WorkflowSignalled late
            6 WorkflowTerminated (requested)
            > disarm Run(Turn(5, 2)) at 10s
        "#]],
    );
    check(
        given(World::remote(), |w| w.turn([]).post(update("u")).start()),
        |w| w.post(terminate()).take(),
        expect![[r#"
            5 WorkflowTerminated (requested)
            > disarm Run(Turn(5, 1)) at 10s
            > update u rejected: RunClosed: the run closed first
        "#]],
    );
}

/// The terminate stands in the inbox when the worker answers. It came first.
#[test]
fn an_answer_does_not_overtake_a_terminate() {
    check(
        given(World::remote(), |w| w.start()),
        |w| {
            w.post(terminate()).answer([complete()]).fail(TurnFault::CodeFailed);
            w.take()
        },
        expect![[r#"
            ! no such turn: it was answered, or is over
            ! no such turn: it was answered, or is over
            4 TurnFailed of 2,3 ForceClosed
            5 WorkflowTerminated (requested)
            > disarm Run(Turn(2, 1)) at 10s
        "#]],
    );
}

#[test]
fn a_run_times_out_with_everything_that_waited() {
    let timed = |started| WorkflowStarted { run_timeout: Some(span(60)), ..started };
    check(
        given(World::of(timed(native())), |w| w.turn([activity("")])),
        |w| w.post(signal("late")).ring().take(),
        expect![[r#"
            - 60s rings Run(Run)
            6 WorkflowSignalled late
            7 WorkflowTimedOut NoPolicy
            + Outstanding activities 5
            > cancel activities 5 (run_timed_out)
            > disarm Run(Run) at 60s
        "#]],
    );
    check(
        given(World::of(timed(remote())), |w| w.pass(55).start()),
        |w| w.post(signal("late")).ring().take(),
        expect![[r#"
            - 60s rings Run(Run)
            4 TurnFailed of 2,3 ForceClosed
            5 WorkflowSignalled late
            6 WorkflowTimedOut NoPolicy
            > disarm Run(Turn(2, 1)) at 65s
            > disarm Run(Run) at 60s
        "#]],
    );
}

/// Whoever closes it, children are told by the policy that they were started with.
#[test]
fn a_run_that_times_out_tells_its_children() {
    let started = WorkflowStarted { run_timeout: Some(span(60)), ..remote() };
    check(
        busy(started),
        |w| w.ring().take(),
        expect![[r#"
            - 60s rings Run(Run)
            16 WorkflowTimedOut NoPolicy
            + Outstanding activities 5 timers 7 children 8-9 left 10
            > cancel activities 5 (run_timed_out)
            > disarm Timer(7) at 900s
            > disarm Run(Run) at 60s
            > post to chain run9: cancel (parent_closed < run_timed_out)
            > post to chain run9: terminate (parent_closed < run_timed_out)
        "#]],
    );
}

#[test]
fn to_delete_a_run_is_to_terminate_it() {
    let mut world = World::native();
    let cause = Cause::new(Code::Deleted);
    world.post(Message::Terminate(Box::new(Terminate { cause, details: None, wire: None })));
    let mut draft = world.draft();
    draft.intake(&world.inbox);
    let decided = draft.finish();
    assert!(decided.delete);
    assert_eq!(decided.state.status, Status::Terminated);
}

/// Whatever comes to a closed run changes nothing. Only who waits for an answer gets one.
#[test]
fn a_closed_run_takes_nothing_in() {
    for world in [
        given(busy(native()), |w| w.post(signal("")).turn([complete()])),
        given(busy(remote()), |w| w.post(signal("")).turn([complete()])),
        given(busy(remote()), |w| w.post(signal("")).start().post(terminate()).take()),
    ] {
        let before = (world.state.clone(), world.history.len());
        let messages = [
            signal("late"),
            stop(),
            terminate(),
            done(5),
            skip(&[5, 6]),
            fire(7),
            child_began(8),
            child_refused(8),
            child_ended(8, RunEnding::Completed(None)),
            external_done(9),
            cancel_one(5),
            Message::Wake,
            Message::TimeOut(RunAlarm::Run),
            Message::TimeOut(RunAlarm::Delay),
            Message::TimeOut(RunAlarm::Deadline),
            Message::TimeOut(RunAlarm::Ladder),
            Message::TimeOut(RunAlarm::Turn(EventId(2), 1)),
            update("u"),
        ];
        let mut world = world;
        world.told.clear();
        for message in messages {
            world.post(message).take();
        }
        assert!(world.inbox.is_empty(), "everything is consumed");
        assert_eq!((world.state.clone(), world.history.len()), before);
        assert_eq!(world.told, "> update u rejected: RunClosed: the run closed first\n");
        world.turn([complete()]);
        assert_eq!(world.history.len(), before.1, "no turn is begun either");
    }
}

/// A loop that never continues as new would become a history that nobody can replay.
#[test]
fn a_history_that_is_too_long_ends_its_run() {
    let long = |mut world: World| {
        world.state.bytes = world.state.rules().bytes_max() - 10;
        world
    };
    let told = |mut draft: Draft, inbox: &[Received]| {
        draft.intake(inbox);
        let events = draft.finish().events;
        events.iter().map(|event| event.kind.name()).collect::<Vec<_>>().join(" ")
    };
    for world in [World::native(), given(World::remote(), |w| w.turn([]))] {
        let world = long(given(world, |w| w.post(signal("last"))));
        assert_eq!(told(world.draft(), &world.inbox), "WorkflowSignalled WorkflowTerminated");
    }
    let mut world = given(World::remote(), |w| w.start());
    world.state.next_event = EventId(limits::EVENTS_MAX);
    let turn = world.record.turn.clone().unwrap();
    let started = turn.started.unwrap().event;
    let mut draft = world.draft();
    let answer =
        TurnAnswer::new(Token { started, ..world.token.unwrap() }, vec![timer("t", 1).into()]);
    draft.answer_turn(answer, &[]).unwrap();
    let last = draft.finish().events.pop().unwrap();
    let EventKind::WorkflowTerminated(last) = last.kind else { panic!("{last:?}") };
    assert_eq!(last.cause.detail, "history is too long: 51201 events, 280 bytes");
    let mut world = World::native();
    world.state.next_event = EventId(limits::EVENTS_NATIVE_MAX - 2);
    let mut draft = world.draft();
    draft.open_turn();
    draft.complete_turn(vec![activity("")]).unwrap();
    assert_eq!(draft.finish().state.status, Status::Terminated);
}
