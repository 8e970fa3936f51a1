//! Turns that only keep a local activity alive.

use expect_test::expect;

use crate::testing::{check, *};

#[test]
fn a_heartbeat_has_the_next_turn_at_once() {
    check(
        given(World::remote(), |w| w.start()),
        |w| w.pass(8).heartbeat().show_turn().start().pass(8).heartbeat().turn([marker("local")]),
        expect![[r#"
            4 TurnCompleted of 2,3
            5 TurnScheduled attempt 1
            > disarm Run(Turn(2, 1)) at 10s
            = turn 5 attempt 1 in "q"
            6 TurnStarted of 5
            > arm Run(Turn(5, 1)) at 18s
            7 TurnCompleted of 5,6
            8 TurnScheduled attempt 1
            > disarm Run(Turn(5, 1)) at 18s
            9 TurnStarted of 8
            > arm Run(Turn(8, 1)) at 26s
            10 TurnCompleted of 8,9
            11 MarkerRecorded local
            > disarm Run(Turn(8, 1)) at 26s
        "#]],
    );
}

/// A message that waited is told between the two turns.
#[test]
fn a_heartbeat_takes_in_what_waited() {
    check(
        given(World::remote(), |w| w.start()),
        |w| w.post(signal("a")).heartbeat(),
        expect![[r#"
            4 TurnCompleted of 2,3
            5 WorkflowSignalled a
            6 TurnScheduled attempt 1
            > disarm Run(Turn(2, 1)) at 10s
        "#]],
    );
}

fn beating(seconds: u64) -> World {
    let mut world = given(World::remote(), |w| w.start());
    for _ in 0..seconds / 9 {
        world.pass(9).heartbeat().start();
    }
    world.pass(seconds % 9);
    world
}

/// After half an hour no further heartbeat is taken, and the turn times out. The code may still
/// answer with what it was busy with.
#[test]
fn heartbeats_have_an_end() {
    check(
        beating(1800),
        |w| w.heartbeat().show_turn(),
        expect![[r#"
            604 TurnCompleted of 602,603
            605 TurnScheduled attempt 1
            > disarm Run(Turn(602, 1)) at 1810s
            = turn 605 attempt 1 in "q"
        "#]],
    );
    check(
        beating(1801),
        |w| w.heartbeat().ring().take().show_turn(),
        expect![[r#"
            ! no such turn: it was answered, or is over
            - 1810s rings Run(Turn(602, 1))
            604 TurnTimedOut of 602,603 StartToClose
            > disarm Run(Turn(602, 1)) at 1810s
            = turn 605 attempt 2 in "q" provisional
        "#]],
    );
    check(
        beating(1801),
        |w| w.answer([marker("local")]),
        expect![[r#"
            604 TurnCompleted of 602,603
            605 MarkerRecorded local
            > disarm Run(Turn(602, 1)) at 1810s
        "#]],
    );
}

/// An answer with a command ends the chain; the next one has its own half hour.
#[test]
fn a_command_begins_a_new_chain() {
    let mut world = beating(1700);
    world.answer_so([marker("local")], |answer| answer.again = true).start();
    for _ in 0..60 {
        world.pass(9).heartbeat().start();
    }
    assert!(world.record.turn.is_some(), "{}", world.told);
    assert!(!world.told.contains('!'), "{}", world.told);
}
