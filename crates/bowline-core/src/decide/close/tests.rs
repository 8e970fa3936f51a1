//! How a run closes, what is open then, and who hears of it.

mod again;
mod cut;

use expect_test::expect;

use crate::{testing::check, testing::*, *};

/// A run with something open of every kind: activities 5 and 6 (the second one cancelled), timer
/// 7, and children 8 to 10 with one policy each.
fn busy(started: WorkflowStarted) -> World {
    given(World::of(started), |w| {
        w.turn([
            activity("a"),
            activity("b"),
            timer("t", 900),
            child_with("c", ParentClose::Cancel),
            child_with("d", ParentClose::Terminate),
            child_with("e", ParentClose::Abandon),
        ]);
        w.post(signal(""));
        match w.state.rules().is_native() {
            true => w.turn([Command::Receive(ids(&[11])), dropped(Cancelled::Activities, &[6])]),
            false => w.turn([cancel_activity(6)]),
        }
    })
}

#[test]
fn every_close_by_the_code_tells_what_was_open() {
    let fail = Command::Fail(Failure::new("no"));
    for (command, expect) in [
        (
            complete(),
            expect![[r#"
                15 WorkflowSignalled
                16 TurnScheduled attempt 1
                17 TurnStarted of 16
                18 TurnCompleted of 16,17
                19 WorkflowCompleted turn 18
                + Outstanding activities 5 timers 7 children 8-9 left 10
                > cancel activities 5 (run_completed)
                > disarm Timer(7) at 900s
                > post to chain run9: cancel (parent_closed < run_completed)
                > post to chain run9: terminate (parent_closed < run_completed)
            "#]],
        ),
        (
            fail,
            expect![[r#"
                15 WorkflowSignalled
                16 TurnScheduled attempt 1
                17 TurnStarted of 16
                18 TurnCompleted of 16,17
                19 WorkflowFailed turn 18 Failure[no] NoPolicy
                + Outstanding activities 5 timers 7 children 8-9 left 10
                > cancel activities 5 (run_failed)
                > disarm Timer(7) at 900s
                > post to chain run9: cancel (parent_closed < run_failed)
                > post to chain run9: terminate (parent_closed < run_failed)
            "#]],
        ),
        (
            Command::Cancel(None, None),
            expect![[r#"
                15 WorkflowSignalled
                16 TurnScheduled attempt 1
                17 TurnStarted of 16
                18 TurnCompleted of 16,17
                19 WorkflowCancelled turn 18
                + Outstanding activities 5 timers 7 children 8-9 left 10
                > cancel activities 5 (run_cancelled)
                > disarm Timer(7) at 900s
                > post to chain run9: cancel (parent_closed < run_cancelled)
                > post to chain run9: terminate (parent_closed < run_cancelled)
            "#]],
        ),
        (
            continue_as_new(),
            expect![[r#"
                15 WorkflowSignalled
                16 TurnScheduled attempt 1
                17 TurnStarted of 16
                18 TurnCompleted of 16,17
                19 WorkflowContinuedAsNew turn 18 next run7
                + Outstanding activities 5 timers 7 children 8-9 left 10
                > begin run7 Next: 1 WorkflowStarted work | 2 WorkflowSignalled
                > cancel activities 5 (run_continued)
                > disarm Timer(7) at 900s
                > post to chain run9: cancel (parent_closed < run_continued)
                > post to chain run9: terminate (parent_closed < run_continued)
            "#]],
        ),
    ] {
        check(busy(native()), |w| w.post(signal("")).turn([command]), expect);
    }
}

#[test]
fn a_remote_run_tells_the_same() {
    check(
        busy(remote()),
        |w| w.post(signal("")).turn([complete()]),
        expect![[r#"
            16 WorkflowSignalled
            17 TurnScheduled attempt 1
            18 TurnStarted of 17
            > arm Run(Turn(17, 1)) at 10s
            19 TurnCompleted of 17,18
            20 WorkflowCompleted turn 19
            + Outstanding activities 5 timers 7 children 8-9 left 10
            > disarm Run(Turn(17, 1)) at 10s
            > cancel activities 5 (run_completed)
            > disarm Timer(7) at 900s
            > post to chain run9: cancel (parent_closed < run_completed)
            > post to chain run9: terminate (parent_closed < run_completed)
        "#]],
    );
}

/// Cancelled before, then completed in the same list: the run closes, and nobody hears of the
/// cancelled end any more.
#[test]
fn a_cancel_of_the_same_turn_does_not_keep_it_open() {
    check(
        given(World::remote(), |w| w.turn([activity("a")]).post(signal("")).start()),
        |w| w.answer([cancel_activity(5), complete()]).post(skip(&[5])).take(),
        expect![[r#"
            9 TurnCompleted of 7,8
            10 ActivityCancelRequested of 5
            11 WorkflowCompleted turn 9
            > disarm Run(Turn(7, 1)) at 10s
            > cancel activities 5 (requested)
        "#]],
    );
}

#[test]
fn a_child_tells_its_parent() {
    let parent = Parent {
        run: run(50),
        workflow_id: "p".into(),
        initiated: EventId(5),
        close: ParentClose::Cancel,
    };
    let started = || WorkflowStarted { parent: Some(parent.clone()), ..native() };
    check(
        World::of(started()),
        |w| w.turn([complete()]),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            5 WorkflowCompleted turn 4
            > post to current "p": child 5 completed
        "#]],
    );
    check(
        World::of(started()),
        |w| w.post(stop()).turn([Command::Cancel(None, None)]),
        expect![[r#"
            2 WorkflowCancelRequested (requested)
            3 TurnScheduled attempt 1
            4 TurnStarted of 3
            5 TurnCompleted of 3,4
            6 WorkflowCancelled turn 5
            > post to current "p": child 5 cancelled (requested)
        "#]],
    );
    check(
        World::of(started()),
        |w| w.post(terminate()).take(),
        expect![[r#"
            2 WorkflowTerminated (requested)
            > post to current "p": child 5 terminated (requested)
        "#]],
    );
    // Its parent goes on waiting for a child that goes on.
    check(
        World::of(started()),
        |w| w.turn([continue_as_new()]),
        expect![[r#"
            2 TurnScheduled attempt 1
            3 TurnStarted of 2
            4 TurnCompleted of 2,3
            5 WorkflowContinuedAsNew turn 4 next run7
            > begin run7 Next: 1 WorkflowStarted work
        "#]],
    );
}

/// Messages wait that the code has not seen: it is shown them, and may close the run then.
#[test]
fn a_close_past_waiting_messages_is_refused() {
    check(
        given(World::remote(), |w| w.turn([activity("a")]).post(signal("one")).start()),
        |w| w.post(done(5)).post(signal("two")).answer([timer("t", 1), complete()]),
        expect![[r#"
            ! failed: messages wait that the code has not seen
            9 TurnFailed of 7,8 Unhandled
            10 WorkflowSignalled two
            11 ActivityStarted 5 attempt 1
            12 ActivityCompleted of 5,11
            13 TurnScheduled attempt 1
            > disarm Run(Turn(7, 1)) at 10s
        "#]],
    );
    check(
        given(World::remote(), |w| w.start()),
        |w| w.post(signal("two")).answer([complete()]).turn([complete()]),
        expect![[r#"
            ! failed: messages wait that the code has not seen
            4 TurnFailed of 2,3 Unhandled
            5 WorkflowSignalled two
            6 TurnScheduled attempt 1
            > disarm Run(Turn(2, 1)) at 10s
            7 TurnStarted of 6
            > arm Run(Turn(6, 1)) at 10s
            8 TurnCompleted of 6,7
            9 WorkflowCompleted turn 8
            > disarm Run(Turn(6, 1)) at 10s
        "#]],
    );
}

/// What changes nothing, or is no business of the code, does not keep a run open.
#[test]
fn not_every_waiting_message_keeps_a_run_open() {
    let world = given(World::remote(), |w| {
        w.turn([activity("a"), child("c"), signal_other("x")]);
        w.post(signal_of("one", "r")).post(stop()).post(done(5)).post(child_refused(6));
        w.post(external_done(7)).start()
    });
    check(
        world,
        |w| {
            w.post(signal_of("one", "r")).post(stop()).post(done(5)).post(skip(&[5]));
            w.post(child_ended(6, RunEnding::Completed(None))).post(external_refused(7));
            w.post(fire(9)).post(cancel_one(5)).post(update("u"));
            w.post(Message::TimeOut(RunAlarm::Deadline)).answer([complete()])
        },
        expect![[r#"
            16 TurnCompleted of 14,15
            17 WorkflowCompleted turn 16
            > disarm Run(Turn(14, 1)) at 10s
            > update u rejected: RunClosed: the run closed first
        "#]],
    );
    // Each of these does.
    let world = given(World::remote(), |w| {
        w.turn([activity("a"), child("c"), signal_other("x"), timer("t", 1)]);
        w.post(signal("")).start()
    });
    for message in [
        signal("new"),
        stop(),
        done(5),
        skip(&[5]),
        child_began(6),
        child_refused(6),
        child_ended(6, RunEnding::Completed(None)),
        external_done(7),
        fire(8),
        Message::TimeOut(RunAlarm::Deadline),
    ] {
        let mut world = world.clone();
        world.told.clear();
        world.post(message.clone()).answer([complete()]);
        assert!(world.told.starts_with("! failed: messages wait"), "{message:?}: {}", world.told);
    }
}

#[test]
fn a_new_run_goes_on_as_it_was_where_nothing_else_is_said() {
    let mut world = given(
        World::of(WorkflowStarted {
            input: text("1"),
            run_timeout: Some(span(60)),
            chain_timeout: Some(span(600)),
            ..remote()
        }),
        |w| w.pass(5).start(),
    );
    let next = ContinueAsNew {
        input: text("2"),
        delay: Some(span(7)),
        name: Some("other".into()),
        ..ContinueAsNew::default()
    };
    world.answer([Command::ContinueAsNew(Box::new(next), run(7))]);
    let born = world.effects.iter().find_map(|effect| match effect {
        Effect::Begin(birth) => Some(State::of(birth.run, &birth.events).started),
        _ => None,
    });
    let born = born.unwrap();
    assert_eq!((born.name.as_str(), born.input.clone()), ("other", text("2")));
    assert_eq!((born.run_timeout, born.delay), (Some(span(60)), Some(span(7))));
    assert_eq!(born.chain_expires_at, Some(Time(600_000_000)), "the chain's end does not move");
    assert_eq!((born.first_run, born.original_run), (run(1), run(7)));
    assert_eq!((born.link, born.tree), (Some(2), None));
    assert_eq!((born.previous_run, born.attempt), (Some(run(1)), 1));
    assert_eq!(world.successor, Some(run(7)));
}

/// A signal that was acknowledged is not lost because the code went on without receiving it.
#[test]
fn signals_that_were_not_received_go_on_with_the_chain() {
    let mut world = given(World::native(), |w| w.turn([]));
    let unread = ["one", "two"].map(|name| WorkflowSignalled {
        name: name.into(),
        request_id: format!("request {name}").into(),
        ..Default::default()
    });
    world.post(signal("wake")).turn([Command::Receive(ids(&[5]))]);
    world.post(signal_of("one", "request one")).post(signal_of("two", "request two"));
    world.turn([Command::ContinueAsNew(Box::default(), run(7))]);
    let born = world.effects.iter().find_map(|effect| match effect {
        Effect::Begin(birth) => Some(birth.events.clone()),
        _ => None,
    });
    let born = born.expect("the next run begins");
    assert_eq!(born[0].kind.name(), "WorkflowStarted");
    for (event, unread) in born[1..].iter().zip(unread) {
        assert_eq!(event.kind, unread.into());
    }
    assert_eq!(born.len(), 3);
    lawful::check(run(7), &born).expect("its history is lawful");
}

/// Oversized things are not merely refused: the code would ask for them again, for ever.
#[test]
fn what_is_too_large_ends_a_remote_run() {
    let details = [("d".to_owned(), huge().unwrap())].into();
    let large = RecordMarker { name: "m".into(), details, ..RecordMarker::default() };
    check(
        given(World::remote(), |w| w.turn([timer("t", 900)]).post(signal("one")).start()),
        |w| w.post(signal("two")).answer([Command::RecordMarker(Box::new(large))]),
        expect![[r#"
            ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
            9 TurnFailed of 7,8 TooLarge
            10 WorkflowSignalled two
            11 WorkflowTerminated (run_terminated)
            + Outstanding timers 5
            > disarm Run(Turn(7, 1)) at 10s
            > disarm Timer(5) at 900s
        "#]],
    );
    check(
        given(World::remote(), |w| w.start().fail(TurnFault::CodeFailed).start()),
        |w| w.answer([Command::Complete(huge())]),
        expect![[r#"
            ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
            5 WorkflowTerminated (run_terminated)
            > disarm Run(Turn(5, 2)) at 10s
        "#]],
    );
    let large = Failure::new("x".repeat(limits::PAYLOAD_MAX + 1));
    let next = ContinueAsNew { input: huge(), ..ContinueAsNew::default() };
    let bad = [
        vec![Command::Fail(large)],
        vec![Command::Cancel(huge(), None)],
        vec![Command::ContinueAsNew(Box::new(next), run(7))],
    ];
    let world = given(World::remote(), |w| w.start());
    expect![[r#"
        ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
        ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
        ! failed: TooLarge: a command carries 2097153 bytes, more than 2 MiB
    "#]]
    .assert_eq(&refusals(&world, bad));
    check(
        World::native(),
        |w| w.turn([Command::Complete(huge())]),
        expect![[r#"
            ! TooLarge: a command carries 2097153 bytes, more than 2 MiB
        "#]],
    );
}

#[test]
fn a_continuation_that_is_not_acceptable_fails_the_turn() {
    let next = ContinueAsNew { name: Some("".into()), ..ContinueAsNew::default() };
    check(
        given(World::remote(), |w| w.start()),
        |w| w.answer([Command::ContinueAsNew(Box::new(next), run(7))]),
        expect![[r#"
            ! failed: BadContinue: the workflow's name is not acceptable: it is empty
            4 TurnFailed of 2,3 BadContinue
            > disarm Run(Turn(2, 1)) at 10s
        "#]],
    );
}

#[test]
fn nothing_may_follow_the_command_that_closes() {
    check(
        given(World::remote(), |w| w.start()),
        |w| w.answer([complete(), timer("t", 1)]).answer([complete(), complete()]),
        expect![[r#"
            ! the list of commands is not acceptable: a command follows the one that closes the run
            ! the list of commands is not acceptable: a command follows the one that closes the run
        "#]],
    );
    check(
        World::native(),
        |w| w.turn([complete(), activity("")]),
        expect![[r#"
            ! the list of commands is not acceptable: a command follows the one that closes the run
        "#]],
    );
}
