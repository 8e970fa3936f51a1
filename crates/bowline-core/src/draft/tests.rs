//! Random lives of native and remote runs. The world checks every commit: lawful events, a state
//! that is the fold of history, snapshots that read back. Here it is made to do anything.

mod account;
mod play;

use std::collections::BTreeSet;

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

use self::play::{Move, moves};
use crate::{testing::*, *};

fn started() -> impl Strategy<Value = WorkflowStarted> {
    let seconds = || proptest::option::of(1_u64..90);
    let spans = (seconds(), seconds(), seconds(), seconds());
    (any::<bool>(), spans, any::<bool>()).prop_map(|(is_native, spans, tried)| {
        let (delay, run_timeout, deadline, ladder) = spans;
        WorkflowStarted {
            // A delay, a limit and so on are rare enough not to end every life early.
            delay: delay.filter(|n| n % 4 == 0).map(span),
            run_timeout: run_timeout.filter(|n| n % 4 == 0).map(span),
            deadline: deadline.filter(|n| n % 4 == 0).map(|n| Time(0).after(span(n).0)),
            ladder: ladder.map(|n| RunLadder { terminate_after: span(n) }),
            retry: tried.then(RetryPolicy::default),
            ..if is_native { native() } else { remote() }
        }
    })
}

/// Random lives that never get anywhere would prove nothing.
#[test]
fn the_lives_reach_every_kind_of_event() {
    let mut runner = TestRunner::deterministic();
    let (mut seen, mut notes, mut faults) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for _ in 0..600 {
        let life = (started(), moves(60)).new_tree(&mut runner).unwrap().current();
        let mut world = World::of(life.0);
        life.1.iter().for_each(|step| step.make(&mut world));
        for event in &world.history {
            seen.insert(event.kind.name());
            notes.extend(event.notes.iter().map(|note| format!("{note:?}")));
            if let EventKind::TurnFailed(failed) = &event.kind {
                faults.insert(format!("{:?}", failed.fault));
            }
        }
    }
    let missing: Vec<_> = EventKind::NAMES.iter().filter(|name| !seen.contains(*name)).collect();
    assert_eq!(missing, [&"x"; 0]);
    let kinds: BTreeSet<_> = notes.iter().filter_map(|note| note.split('(').next()).collect();
    assert_eq!(kinds.len(), 9, "{kinds:?}");
    assert!(faults.len() > 5, "{faults:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Nothing panics, every history is lawful, and no message is lost: each one that is consumed
    /// stands in an event, a note or an effect, or has a reason to be ignored.
    #[test]
    fn any_life_is_lawful_and_loses_nothing(started in started(), moves in moves(60)) {
        let mut world = World::of(started);
        world.watch = Some(account::check);
        moves.iter().for_each(|step| step.make(&mut world));
    }

    /// A decision depends on the snapshot that it begins with and on nothing else: a world that
    /// forgets everything but its stored bytes after every step goes the same way.
    #[test]
    fn a_world_that_lives_from_its_bytes_goes_the_same_way(
        started in started(),
        moves in moves(40),
    ) {
        let mut world = World::of(started);
        let mut twin = world.clone();
        for step in &moves {
            step.make(&mut world);
            twin.state = codec::decode(&codec::encode(&twin.state)).unwrap();
            twin.record = codec::decode(&codec::encode(&twin.record)).unwrap();
            step.make(&mut twin);
        }
        prop_assert_eq!(&world.told, &twin.told);
        prop_assert_eq!(world.state, twin.state);
    }

    /// A closed run takes nothing in, whatever comes.
    #[test]
    fn nothing_changes_a_closed_run(started in started(), moves in moves(30), more in moves(30)) {
        let mut world = World::of(started);
        moves.iter().for_each(|step| step.make(&mut world));
        world.post(terminate()).take();
        let (state, events) = (world.state.clone(), world.history.len());
        prop_assert!(!state.status.is_open());
        let effects = world.effects.len();
        more.iter().for_each(|step| step.make(&mut world));
        prop_assert_eq!((&world.state, world.history.len()), (&state, events));
        for effect in &world.effects[effects..] {
            let refused = matches!(effect, Effect::AnswerUpdate(_, UpdateStage::Rejected(_)));
            prop_assert!(refused, "{:?}", effect);
        }
    }

    /// How messages are cut into intakes changes where turns are scheduled, and nothing else.
    #[test]
    fn batches_do_not_matter(setup in moves(20), moves in moves(30), cuts: Vec<bool>) {
        let mut world = World::remote();
        setup.iter().for_each(|step| step.make(&mut world));
        if world.record.turn.as_ref().is_some_and(|turn| turn.started.is_some()) {
            world.answer([]);
        }
        world.take();
        if !world.state.status.is_open() {
            return Ok(());
        }
        let known = world.state.clone();
        let messages = moves.iter().filter_map(|step| match step {
            Move::Post(word) => Some(word.message(&known)),
            _ => None,
        });
        let closing = |message: &Message| message.cuts_in();
        let messages: Vec<_> = messages.filter(|message| !closing(message)).collect();
        let (mut whole, mut parts) = (world.clone(), world);
        for (n, message) in messages.into_iter().enumerate() {
            whole.post(message.clone());
            parts.post(message);
            if cuts.get(n).copied().unwrap_or_default() {
                parts.take();
            }
        }
        whole.take();
        parts.take();
        let told = |world: &World| {
            let mut kinds: Vec<_> = world.history.iter().map(account::shape).collect();
            kinds.retain(|kind| !kind.starts_with("Turn"));
            kinds
        };
        prop_assert_eq!(told(&whole), told(&parts));
        prop_assert_eq!(whole.consumed, parts.consumed);
    }

    /// A run can be forked wherever its history says so, and the fork is a run like any other.
    #[test]
    fn any_history_can_be_forked(
        started in started(),
        moves in moves(40),
        at in any::<prop::sample::Index>(),
        more in moves(20),
    ) {
        let mut world = World::of(started);
        moves.iter().for_each(|step| step.make(&mut world));
        let is_start = |event: &&Event| matches!(event.kind, EventKind::TurnStarted(_));
        let starts: Vec<_> = world.history.iter().filter(is_start).map(|e| e.id).collect();
        if starts.is_empty() {
            return Ok(());
        }
        let cut = starts[at.index(starts.len())];
        match fork(&world.history, cut, run(1), run(2), world.now, &[]) {
            Ok(birth) => {
                let mut forked = World::born(birth, world.now);
                more.iter().for_each(|step| step.make(&mut forked));
            }
            Err(Refusal::CannotFork(_, why)) => prop_assert!(why.contains("about to"), "{}", why),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
