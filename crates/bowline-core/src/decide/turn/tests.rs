//! Turns of remote workers: taken, answered, failed, timed out, tried again.

mod again;
mod beat;

use expect_test::expect;

use crate::{testing::check, testing::*, *};

/// The worker keeps the run in its cache.
fn sticky() -> World {
    given(World::remote(), |w| {
        w.sticky = true;
        w.turn([timer("t", 900)])
    })
}

#[test]
fn only_a_turn_that_waits_can_be_taken() {
    check(
        World::remote(),
        |w| w.start().start(),
        expect![[r#"
            3 TurnStarted of 2
            > arm Run(Turn(2, 1)) at 10s
            ! no such turn: it was answered, or is over
        "#]],
    );
    check(
        given(World::remote(), |w| w.turn([])),
        |w| w.start(),
        expect![[r#"
            ! no such turn: it was answered, or is over
        "#]],
    );
}

/// Whatever waits in the inbox is taken in before a turn is handed out.
#[test]
fn a_turn_is_handed_out_with_what_waited() {
    check(
        World::remote(),
        |w| w.post(signal("a")).start(),
        expect![[r#"
            3 WorkflowSignalled a
            4 TurnStarted of 2
            > arm Run(Turn(2, 1)) at 10s
        "#]],
    );
}

#[test]
fn an_answer_must_name_the_turn_that_is_out() {
    let world = given(World::remote(), |w| w.start());
    let token = world.token.unwrap();
    for wrong in [
        Token { run: run(2), ..token },
        Token { scheduled: EventId(3), ..token },
        Token { attempt: 2, ..token },
        Token { started: EventId(2), ..token },
        Token { serial: 0, ..token },
    ] {
        let mut world = world.clone();
        world.told.clear();
        world.token = Some(wrong);
        world.answer([]).fail(TurnFault::CodeFailed);
        let no = "! no such turn: it was answered, or is over\n";
        assert_eq!(world.told, no.repeat(2), "{wrong:?}");
    }
    let mut answered = given(world, |w| w.answer([]));
    answered.told.clear();
    answered.answer([timer("t", 1)]);
    assert!(answered.told.starts_with("! no such turn"), "only once: {}", answered.told);
}

/// Advice that code reads must be the same in history as it was when the turn was handed out.
#[test]
fn a_long_history_is_advised_to_continue_as_new() {
    let mut world = given(World::remote(), |w| w.turn([]).post(signal("")).take());
    world.state.next_event = EventId(limits::EVENTS_SUGGEST + 1);
    let mut draft = world.draft();
    draft.start_turn(StartTurn::default()).unwrap();
    let Some(EventKind::TurnStarted(started)) = draft.events().last().map(|e| e.kind.clone())
    else {
        panic!("{:?}", draft.events())
    };
    assert!(started.suggest_continue);
    let record = draft.record().turn.clone().unwrap().started.unwrap();
    assert!(record.suggest_continue);
    assert_eq!(record.history_bytes, started.history_bytes);
}

/// The events of an unwritten turn, as its worker is shown them, are those that are written.
#[test]
fn what_was_shown_is_written() {
    let wire = Some(Blob::from(&b"as sent"[..]));
    for mut world in [
        given(World::remote(), |w| w.start().fail(TurnFault::CodeFailed)),
        given(sticky(), |w| w.post(update("u")).take()),
    ] {
        let mut draft = world.draft();
        let start = StartTurn { worker: "w".into(), wire: wire.clone(), ..StartTurn::default() };
        world.token = Some(draft.start_turn(start).unwrap());
        world.commit(draft.finish());
        let shown = world.record.tail(&world.state);
        assert_eq!(shown.len(), 2);
        let before = world.history.len();
        world.pass(3).answer([timer("x", 1)]);
        assert_eq!(world.history[before..before + 2], shown[..]);
        assert!(world.record.tail(&world.state).is_empty());
    }
    let real = given(World::remote(), |w| w.start());
    assert!(real.record.tail(&real.state).is_empty(), "it is in history");
}

#[test]
fn the_next_turn_goes_to_who_has_the_run_cached() {
    check(
        sticky(),
        |w| w.post(signal("a")).take().show_turn(),
        expect![[r#"
            6 WorkflowSignalled a
            7 TurnScheduled sticky "worker's own" attempt 1
            > arm Run(Turn(7, 1)) at 10s
            = turn 7 attempt 1 in "worker's own" sticky until 10s
        "#]],
    );
    check(
        sticky(),
        |w| {
            let mut draft = w.draft();
            draft.reset_sticky();
            w.commit(draft.finish());
            w.post(signal("a")).take().show_turn()
        },
        expect![[r#"
            6 WorkflowSignalled a
            7 TurnScheduled attempt 1
            = turn 7 attempt 1 in "q"
        "#]],
    );
}

/// The worker is gone: after its patience the turn goes back to the run's own queue, with the
/// same attempt.
#[test]
fn a_turn_that_waits_too_long_for_one_worker_goes_to_anybody() {
    check(
        given(sticky(), |w| w.post(signal("a")).take()),
        |w| w.ring().post(signal("b")).take().show_turn(),
        expect![[r#"
            - 10s rings Run(Turn(7, 1))
            8 TurnTimedOut of 7,0 ScheduleToStart
            9 WorkflowSignalled b
            10 TurnScheduled attempt 1
            > disarm Run(Turn(7, 1)) at 10s
            = turn 10 attempt 1 in "q"
        "#]],
    );
    // A provisional one stood nowhere, so nothing is written.
    check(
        given(sticky(), |w| w.post(update("u")).take()),
        |w| w.show_turn().ring().take().show_turn(),
        expect![[r#"
            = turn 6 attempt 1 in "worker's own" sticky provisional speculative until 10s
            - 10s rings Run(Turn(6, 1))
            > disarm Run(Turn(6, 1)) at 10s
            = turn 6 attempt 1 in "q" provisional speculative
        "#]],
    );
}

/// The alarm of the worker's patience rang just when the worker took the turn. It says nothing
/// about how long the turn has been running.
#[test]
fn an_alarm_that_was_meant_for_the_waiting_turn_does_not_end_it() {
    let late = AlarmKind::Run(RunAlarm::Turn(EventId(7), 1));
    check(
        given(sticky(), |w| w.post(signal("a")).take().pass(9).start()),
        |w| w.pass(1).ring_late(late).take().show_turn().answer([]),
        expect![[r#"
            = turn 7 attempt 1 in "worker's own" sticky started until 19s
            9 TurnCompleted of 7,8
            > disarm Run(Turn(7, 1)) at 19s
        "#]],
    );
    // Nor does one that was meant for a turn which left no trace, and whose number is used again.
    let late = AlarmKind::Run(RunAlarm::Turn(EventId(6), 1));
    check(
        given(sticky(), |w| w.post(update("u")).turn([reject("u")]).post(update("v")).take()),
        |w| w.ring_late(late).take().show_turn(),
        expect![[r#"
            = turn 6 attempt 1 in "worker's own" sticky provisional speculative until 10s
        "#]],
    );
}
