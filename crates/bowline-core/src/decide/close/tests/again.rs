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

/// Once, a retry and a schedule left behind what was acknowledged and not received.
#[test]
fn what_was_not_received_goes_on_however_the_run_closes() {
    let carried = |mut world: World, close: fn(&mut World)| {
        world.post(signal("read")).post(signal("kept")).turn([]);
        close(&mut world);
        let births = world.effects.iter().filter_map(|effect| match effect {
            Effect::Begin(birth) => Some(&birth.events),
            _ => None,
        });
        let signals = births.flatten().filter_map(|event| match &event.kind {
            EventKind::WorkflowSignalled(signal) => Some(signal.name.to_string()),
            _ => None,
        });
        signals.collect::<Vec<_>>()
    };
    let all = ["read", "kept"];
    assert_eq!(carried(World::of(tried(0)), |w| _ = w.turn([fail()])), all, "tried again");
    assert_eq!(carried(World::of(tried(0)), |w| _ = w.ring().take()), all, "its time was up");
    let one = |close: Command| {
        let mut world = World::of(tried(0));
        let receive = Command::Receive(ids(&[2]));
        world.post(signal("read")).post(signal("kept")).turn([receive, close]);
        let next = world.effects.iter().find_map(|effect| match effect {
            Effect::Begin(birth) => Some(State::of(birth.run, &birth.events)),
            _ => None,
        });
        let next = next.expect("it goes on");
        next.unread.signals().map(|signal| signal.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(one(fail()), ["kept"]);
    assert_eq!(one(Command::ContinueAsNew(Box::default(), run(7))), ["kept"]);
    let mut world = World::of(WorkflowStarted { cron: "@daily".into(), ..native() });
    world.post(signal("kept"));
    let mut draft = world.draft();
    draft.starts_next(Time(1_000));
    draft.intake(&world.inbox);
    draft.open_turn();
    draft.complete_turn(vec![complete()]).unwrap();
    let begun = draft.finish().effects.into_iter().find_map(|effect| match effect {
        Effect::Begin(birth) => Some(birth.events.len()),
        _ => None,
    });
    assert_eq!(begun, Some(2), "the next run of its schedule has it");
}

/// A signal is received once, and only a signal is.
#[test]
fn only_what_waits_is_received() {
    let refused = |received: &[u64]| {
        let mut world = World::native();
        world.post(signal("s"));
        let mut draft = world.draft();
        draft.intake(&world.inbox);
        draft.open_turn();
        draft.complete_turn(vec![Command::Receive(ids(received))]).unwrap_err().to_string()
    };
    for (received, wrong) in [(&[1][..], 1), (&[2, 9], 9)] {
        let why = format!("event {wrong} is no signal that waits to be received");
        assert!(refused(received).ends_with(&why), "{}", refused(received));
    }
}

/// What is not received goes on with the chain, so there is a bound to it, which is asked for
/// before a signal is acknowledged.
#[test]
fn one_too_many_is_refused_before_it_is_acknowledged() {
    let ask = |world: &World, bytes: usize| {
        let input = Some(Payload::wire(vec![7; bytes]));
        let asked = Signal { name: "s".into(), input, ..Signal::default() };
        world.draft().check_signal(&asked, &world.inbox)
    };
    let mut world = World::native();
    for _ in 1..limits::UNREAD_MAX {
        world.post(signal("s"));
    }
    world.turn([]);
    assert_eq!(world.record.unread.map(|size| size.count), Some(limits::UNREAD_MAX - 1));
    assert_eq!(ask(&world, 1), Ok(()));
    world.post(signal("s"));
    let refusal = ask(&world, 1).unwrap_err();
    assert_eq!(refusal.code(), "too_many_unread");
    assert!(refusal.to_string().contains("10000 signals wait"), "{refusal}");
    world.turn([Command::Receive(ids(&[2]))]);
    assert_eq!(ask(&world, 1), Ok(()), "one was received");
    let large = usize::try_from(limits::UNREAD_BYTES_MAX).unwrap();
    assert!(ask(&World::native(), large).is_err());
    assert_eq!(ask(&World::native(), large / 2), Ok(()));
}
