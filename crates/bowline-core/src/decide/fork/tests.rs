//! Forks: where history may be cut, what comes along, what is open again.

use expect_test::{Expect, expect};

use crate::{lawful::Lawful, testing::*, *};

/// Forks a world behind an event and tells the new run from the cut on.
#[track_caller]
fn check(given: World, at: u64, then: impl FnOnce(&mut World) -> &mut World, expect: Expect) {
    let now = given.now.after(std::time::Duration::from_secs(100));
    let birth = fork(&given.history, EventId(at), run(1), run(2), now, &[]).unwrap();
    assert_eq!(birth.events[..at as usize], given.history[..at as usize], "the same beginning");
    let mut world = World::born(birth, now);
    let cut = world.told.find(&format!("\n{} ", at + 1)).unwrap();
    world.told.drain(..=cut);
    then(&mut world);
    expect.assert_eq(&world.told);
}

#[track_caller]
fn refused(given: &World, at: u64, expect: Expect) {
    let refusal = fork(&given.history, EventId(at), run(1), run(2), given.now, &[]).unwrap_err();
    expect.assert_eq(&refusal.to_string());
}

/// Two turns: the first schedules an activity and sets a timer, the second does so again.
fn two_turns(started: WorkflowStarted) -> World {
    given(World::of(started), |w| {
        w.turn([activity("a"), timer("t", 300)]);
        w.post(signal("go")).turn([activity("b"), timer("u", 300)])
    })
}

#[test]
fn a_remote_run_is_cut_behind_the_start_of_a_turn() {
    check(
        two_turns(remote()),
        9,
        |w| w.show_turn(),
        expect![[r#"
            10 TurnFailed of 8,9 Forked
            11 TurnScheduled attempt 1
            > arm Timer(6) at 300s
            > queue activity 5 in "q"
            = turn 11 attempt 1 in "q"
        "#]],
    );
    check(
        two_turns(remote()),
        3,
        |w| w,
        expect![[r#"
            4 TurnFailed of 2,3 Forked
            5 WorkflowSignalled go
            6 TurnScheduled attempt 1
        "#]],
    );
}

/// Native turns are committed whole, so this cuts inside of a batch.
#[test]
fn a_native_run_is_cut_inside_a_batch() {
    check(
        two_turns(native()),
        9,
        |w| w.turn([complete()]),
        expect![[r#"
            10 TurnFailed of 8,9 Forked
            > arm Timer(6) at 300s
            > queue activity 5 in "q"
            11 TurnScheduled attempt 1
            12 TurnStarted of 11
            13 TurnCompleted of 11,12
            14 WorkflowCompleted turn 13
            + Outstanding activities 5 timers 6
            > cancel activities 5 (run_completed)
            > disarm Timer(6) at 300s
        "#]],
    );
}

#[test]
fn signals_and_updates_that_came_later_are_brought_along() {
    let later = |w: World| {
        given(w, |w| {
            w.turn([timer("t", 300)]).post(signal_of("one", "r")).post(update("u"));
            w.turn([accept("u"), answer_update("u")]).post(update("v")).post(signal("two"));
            w.turn([accept("v")])
        })
    };
    check(
        later(World::remote()),
        3,
        |w| w.turn([accept("v"), accept("u")]),
        expect![[r#"
            4 TurnFailed of 2,3 Forked
            5 WorkflowSignalled one
            6 UpdateAdmitted u
            7 WorkflowSignalled two
            8 UpdateAdmitted v
            9 TurnScheduled attempt 1
            10 TurnStarted of 9
            > arm Run(Turn(9, 1)) at 110s
            11 TurnCompleted of 9,10
            12 UpdateAccepted v
            13 UpdateAccepted u
            > disarm Run(Turn(9, 1)) at 110s
            > update v accepted
            > update u accepted
        "#]],
    );
    check(
        later(World::native()),
        3,
        |w| w.turn([accept("v"), accept("u")]),
        expect![[r#"
            4 TurnFailed of 2,3 Forked
            5 WorkflowSignalled one
            6 UpdateAdmitted u
            7 UpdateAdmitted v
            8 WorkflowSignalled two
            9 TurnScheduled attempt 1
            10 TurnStarted of 9
            11 TurnCompleted of 9,10
            12 UpdateAccepted v
            13 UpdateAccepted u
            > update v accepted
            > update u accepted
        "#]],
    );
}

/// A request that the old run had carried out is known to the new one.
#[test]
fn a_request_that_was_brought_along_still_counts_once() {
    let old = given(World::remote(), |w| w.turn([]).post(signal_of("one", "r")).take());
    check(
        old,
        3,
        |w| w.post(signal_of("one", "r")).take(),
        expect![[r#"
            4 TurnFailed of 2,3 Forked
            5 WorkflowSignalled one
            6 TurnScheduled attempt 1
        "#]],
    );
}

/// It had been told to stop, and must not begin again only because its end lies behind the cut.
#[test]
fn what_was_cancelled_before_the_cut_ends_at_it() {
    let cancelled = given(two_turns(remote()), |w| {
        w.post(signal("stop")).turn([cancel_activity(5)]).post(signal("more")).start()
    });
    let at = cancelled.history.last().unwrap().id.0;
    check(
        cancelled,
        at,
        |w| w,
        expect![[r#"
            21 TurnFailed of 19,20 Forked
            22 ActivityCancelled of 5,0,17
            23 TurnScheduled attempt 1
            > arm Timer(6) at 300s
            > arm Timer(12) at 300s
            > queue activity 11 in "q"
        "#]],
    );
    let dropped = given(two_turns(native()), |w| {
        w.post(signal("stop")).turn([dropped(Cancelled::Activities, &[5])]);
        w.post(signal("more")).turn([])
    });
    let at = dropped.history.last().unwrap().id.0 - 1;
    check(
        dropped,
        at,
        |w| w,
        expect![[r#"
            20 TurnFailed of 18,19 Forked
            21 ActivityCancelled of 5,0,0
            > arm Timer(6) at 300s
            > arm Timer(12) at 300s
            > queue activity 11 in "q"
        "#]],
    );
}

/// The limits of the run begin anew; the chain's do not.
#[test]
fn the_limits_of_the_run_are_set_again() {
    let started = WorkflowStarted {
        run_timeout: Some(span(1000)),
        deadline: Some(Time(700_000_000)),
        ladder: Some(RunLadder { terminate_after: span(50) }),
        ..remote()
    };
    let world = given(World::of(started.clone()), |w| w.pass(60).post(stop()).start());
    check(
        world.clone(),
        4,
        |w| w.post(terminate()).take(),
        expect![[r#"
            5 TurnFailed of 2,4 Forked
            6 TurnScheduled attempt 1
            > arm Run(Run) at 1160s
            > arm Run(Deadline) at 700s
            > arm Run(Ladder) at 210s
            7 WorkflowTerminated (requested)
            > disarm Run(Run) at 1160s
            > disarm Run(Deadline) at 700s
            > disarm Run(Ladder) at 210s
        "#]],
    );
    let chain = WorkflowStarted { chain_timeout: Some(span(900)), ..started };
    check(
        given(World::of(chain), |w| w.start()),
        3,
        |w| w,
        expect![[r#"
            4 TurnFailed of 2,3 Forked
            5 TurnScheduled attempt 1
            > arm Run(Run) at 900s
            > arm Run(Deadline) at 700s
        "#]],
    );
}

#[test]
fn a_fork_can_be_forked() {
    let old = two_turns(remote());
    let now = old.now;
    let birth = fork(&old.history, EventId(9), run(1), run(2), now, &[]).unwrap();
    let middle = given(World::born(birth, now), |w| w.start());
    let at = middle.history.last().unwrap().id.0;
    check(
        middle,
        at,
        |w| w,
        expect![[r#"
            13 TurnFailed of 11,12 Forked
            14 TurnScheduled attempt 1
            > arm Timer(6) at 300s
            > queue activity 5 in "q"
        "#]],
    );
}

#[test]
fn a_cut_that_cannot_be_is_refused() {
    let world = two_turns(remote());
    refused(&world, 99, expect!["history cannot be cut at event 99: there is no such event"]);
    refused(&world, 4, expect!["history cannot be cut at event 4: it is not the start of a turn"]);
    let child = given(World::remote(), |w| w.turn([child("c")]).post(signal("go")).start());
    let last = child.history.last().unwrap().id.0;
    refused(&child, last, expect!["history cannot be cut at event 8: a child was about to start"]);
    let asked = given(World::remote(), |w| w.turn([signal_other("x")]).post(signal("go")).start());
    refused(
        &asked,
        last,
        expect![
            "history cannot be cut at event 8: another run was about to be asked for something"
        ],
    );
}

/// A run whose child, number 5, has begun, as the turn of event 8 has seen.
fn with_child(started: WorkflowStarted) -> World {
    let mut world = World::of(started);
    world.turn([child("c")]).post(child_began(5)).turn([]);
    world
}

/// The start of that turn.
const SAW_IT: u64 = 8;

/// What was told while the old run was alive is told again, with who had asked for it.
#[test]
fn the_end_of_a_child_that_came_later_is_brought_along() {
    let ended = RunEnding::Cancelled(None, Some(why("stop")));
    for (started, expect) in [
        (
            remote(),
            expect![[r#"
        9 TurnFailed of 7,8 Forked
        10 ChildCancelled of 5,6
        + (requested)
        11 TurnScheduled attempt 1
        12 TurnStarted of 11
        > arm Run(Turn(11, 1)) at 110s
        13 TurnCompleted of 11,12
        14 WorkflowCompleted turn 13
        > disarm Run(Turn(11, 1)) at 110s
    "#]],
        ),
        (
            native(),
            expect![[r#"
        9 TurnFailed of 7,8 Forked
        10 ChildCancelled of 5,6
        + (requested)
        11 TurnScheduled attempt 1
        12 TurnStarted of 11
        13 TurnCompleted of 11,12
        14 WorkflowCompleted turn 13
    "#]],
        ),
    ] {
        let later = given(with_child(started), |w| {
            w.post(child_ended(5, ended.clone())).turn([child("d")])
        });
        check(later, SAW_IT, |w| w.turn([complete()]), expect);
    }
}

/// The end of another run's child, which happens to have the same number there.
fn stranger() -> Message {
    let (child, ending) = (EventId(5), RunEnding::Completed(None));
    Message::EndChild(Box::new(EndChild { child, run: run(7), ending, first: Some(run(7)) }))
}

/// It is a child of the fork: told by policy when that closes, known by the run it began with.
#[test]
fn a_child_that_was_open_at_the_cut_is_inherited() {
    check(
        with_child(native()),
        SAW_IT,
        |w| w.post(stranger()).post(child_ended(5, RunEnding::Completed(None))).turn([]),
        expect![[r#"
            9 TurnFailed of 7,8 Forked
            10 ChildCompleted of 5,6
            11 TurnScheduled attempt 1
            12 TurnStarted of 11
            13 TurnCompleted of 11,12
        "#]],
    );
    check(
        with_child(native()),
        SAW_IT,
        |w| w.turn([complete()]),
        expect![[r#"
        9 TurnFailed of 7,8 Forked
        10 TurnScheduled attempt 1
        11 TurnStarted of 10
        12 TurnCompleted of 10,11
        13 WorkflowCompleted turn 12
        + Outstanding children 5
        > post to chain run9: cancel (parent_closed < run_completed)
    "#]],
    );
}

/// An end that nobody could be told is told to the fork.
#[test]
fn a_child_that_ended_unheard_is_over_in_the_fork() {
    let given = with_child(native());
    let end = EndChild {
        child: EventId(5),
        run: run(8),
        ending: RunEnding::Completed(None),
        first: Some(run(9)),
    };
    let at = EventId(SAW_IT);
    let birth = fork(&given.history, at, run(1), run(2), given.now, &[end]).unwrap();
    let names: Vec<_> = birth.events[8..].iter().map(|event| event.kind.name()).collect();
    assert_eq!(names, ["TurnFailed", "ChildCompleted"]);
    assert!(State::of(run(2), &birth.events).children.is_empty());
}

/// A run that closes in favour of a fork leaves alone what the fork inherits, and tells the rest.
#[test]
fn the_old_run_spares_what_the_fork_inherits() {
    let mut old = with_child(native());
    old.post(signal("more")).turn([Command::StartChild(Box::new(child_spec("d")), run(8))]);
    let birth = fork(&old.history, EventId(SAW_IT), run(1), run(2), old.now, &[]).unwrap();
    let mut draft = Draft::new(
        State::of(run(1), &old.history),
        TurnRecord::default(),
        Number(9),
        old.now,
        run(3),
    );
    draft.bequeath(&birth);
    let cause = why("a fork");
    let terminate = Message::Terminate(Box::new(Terminate { cause, details: None, wire: None }));
    draft.intake(&[Received { number: Number(9), at: old.now, message: terminate }]);
    let told = draft.effects.iter().filter_map(|effect| match effect {
        Effect::Post(post) => Some(post.to.clone()),
        _ => None,
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [Address::Chain(run(8))],
        "the child that the fork does not know"
    );
    let closing = draft.events.last().unwrap();
    let Some(Note::Outstanding(note)) = closing.notes.last() else { panic!("{closing:?}") };
    assert_eq!(note.left.ids().collect::<Vec<_>>(), [EventId(5)]);
    assert_eq!(note.inherited.iter().flat_map(Ranges::ids).collect::<Vec<_>>(), [EventId(5)]);
    let mut lawful = Lawful::new(run(1));
    for event in old.history.iter().chain(&draft.events) {
        lawful.check(event).unwrap_or_else(|broken| panic!("{broken}"));
    }
    // Whoever says nothing of a fork has told its children.
    let mut silent = Lawful::new(run(1));
    old.history.iter().for_each(|event| silent.check(event).unwrap());
    let mut events = draft.events.clone();
    for note in &mut events.last_mut().unwrap().notes {
        if let Note::Outstanding(note) = note {
            note.inherited = None;
        }
    }
    let broken = events.iter().find_map(|event| silent.check(event).err()).unwrap();
    assert_eq!(broken.rule, "the last event tells what was open");
}
