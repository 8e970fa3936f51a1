//! Parked runs wait apart from the queues, for a member whose code may go on with them.

use bowline_core::{Epoch, GaveUp, MayTry, Parked, RunId, Status, Time, Tried};

use super::{
    Harness,
    world::{World, turn::signal, wait::block_on},
};
use crate::{ClaimedRun, Filter, Hint, TakeUp};

/// The member of this world could not go on with a run.
fn park(world: &World<'_>, run: RunId, build: &str) {
    let by = Tried { epoch: world.epoch, build: build.into() };
    let reason = "it panicked".to_owned();
    let gave_up = GaveUp { by, failures: 3, reason, harms: false, others: false };
    let head = world.head(run);
    let parked = Parked::after(head.parked.as_ref(), gave_up, world.now());
    let mut turn = world.turn(run).silent();
    turn.commit.consumed = head.consumed;
    turn.commit.parked = Some(Some(parked));
    turn.release();
    world.commit(turn).expect("nobody else writes");
}

fn take(world: &World<'_>, build: &str, runs: &[RunId]) -> Vec<ClaimedRun> {
    let (epoch, build) = (world.epoch, build.to_owned());
    let take = TakeUp { epoch, build, runs: runs.to_vec(), now: world.now() };
    block_on(world.store().take_up(take)).expect("the member is alive")
}

/// The runs on which nobody works because their code cannot go on.
fn listed(world: &World<'_>) -> Vec<RunId> {
    let namespace = super::world::NAMESPACE;
    let filter = Filter { namespace, parked: Some(true), limit: 10, ..Filter::default() };
    let page = block_on(world.store().find(filter)).expect("it lists");
    page.runs.iter().map(|head| head.run).collect()
}

/// Who has tried does not try again; a new process does, and holds it until it lets go.
pub fn a_parked_run_is_taken_up_by_a_new_member(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    park(&world, run, "");
    assert!(take(&world, "", &[run]).is_empty(), "it has tried");
    world.reopen();
    assert_eq!(world.take_runs(), [], "it stands in no queue");
    let taken = take(&world, "", &[run, world.run_id()]);
    let [ClaimedRun { read, fence: Some(fence) }] = &taken[..] else { panic!("{taken:?}") };
    assert_eq!((read.head.run, read.head.holder), (run, Some(*fence)));
    assert_eq!((read.inbox.len(), read.batches.len()), (1, 1), "whole, as any claim");
    assert!(take(&world, "", &[run]).is_empty(), "it is held");
    assert_eq!(listed(&world), [], "somebody works on it");
    world.post(run, signal("a", "")).expect("messages still come in");
    let mut turn = world.turn(run).silent();
    turn.commit.fence = Some(*fence);
    turn.commit.consumed = read.head.consumed;
    turn.release();
    world.commit(turn).expect("it lets go");
    assert_eq!(listed(&world), [run], "nobody has had a turn");
    assert_eq!(take(&world, "", &[run]).len(), 1, "and so it may try once more");
}

/// A turn that is written under a lease takes its run out by itself.
pub fn a_turn_takes_its_run_out(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    park(&world, run, "");
    world.reopen();
    let fence = take(&world, "", &[run])[0].fence;
    let mut turn = world.turn(run);
    turn.commit.fence = fence;
    turn.release();
    world.commit(turn).expect("nobody else writes");
    assert_eq!(world.head(run).parked, None);
    world.post(run, signal("a", "")).expect("taken");
    assert_eq!(world.take_runs(), [run], "it is like any other");
}

/// Pauses grow, other code need not wait, and everything that is known of it is kept.
pub fn tries_are_counted_and_paced(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    let since = world.now();
    for tries in 1..=3 {
        park(&world, run, "one");
        let parked = world.head(run).parked.expect("it is parked");
        assert_eq!((parked.since, parked.tries, parked.failures), (since, tries, 3));
        assert_eq!(parked.tried.len(), tries as usize);
        world.reopen();
        let may = parked.may_try(world.epoch, "one", world.now());
        let next = parked.next.expect("there is a next time");
        assert_eq!(may == MayTry::Now, next <= world.now());
        if tries == 3 {
            assert_eq!(may, MayTry::At(next));
            assert!(take(&world, "one", &[run]).is_empty(), "not before its time");
        }
    }
    assert_eq!(take(&world, "two", &[run]).len(), 1, "other code tries at once");
}

/// What is closed, free, or nobody's business is not taken.
pub fn only_parked_runs_are_taken_up(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let (free, closed) = (world.start("free"), world.start("closed"));
    park(&world, closed, "");
    world.close(closed, Status::Terminated);
    world.reopen();
    assert!(take(&world, "", &[free, closed, world.run_id()]).is_empty());
    let dead = TakeUp { epoch: Epoch(99), build: String::new(), runs: vec![free], now: Time(0) };
    let refused = block_on(world.store().take_up(dead));
    assert!(matches!(refused, Err(crate::Error::Fenced)), "{refused:?}");
}

/// Somebody tries a parked run, and lets go of it without a word; somebody else dies of it. Each
/// time the others hear that it may be tried: nobody has to look again and again.
pub fn others_hear_when_a_parked_run_is_let_go(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    park(&world, run, "");
    world.reopen();
    let taken = take(&world, "", &[run]);
    let mut hints = world.store().watch();
    let mut turn = world.turn(run).silent();
    turn.commit.fence = taken[0].fence;
    turn.commit.consumed = taken[0].read.head.consumed;
    turn.release();
    world.commit(turn).expect("it lets go");
    world.hinted(&mut hints, &Hint::Parked(run));
    assert_eq!(take(&world, "", &[run]).len(), 1, "it is free");
    drop(hints);
    world.reopen();
    let mut hints = world.store().watch();
    world.sweep_all();
    world.hinted(&mut hints, &Hint::Parked(run));
    assert_eq!(take(&world, "", &[run]).len(), 1, "it is free again");
}

/// Others hear of it, and lists find it among many.
pub fn parked_runs_are_told_of_and_listed(harness: &dyn Harness) {
    let world = World::new(harness);
    let others: Vec<RunId> = (0..200).map(|n| world.start(&format!("other-{n}"))).collect();
    let run = world.start("a");
    let mut hints = world.store().watch();
    park(&world, run, "");
    world.hinted(&mut hints, &Hint::Parked(run));
    let filter = Filter {
        namespace: super::world::NAMESPACE,
        statuses: vec![Status::Running, Status::Cancelling],
        parked: Some(true),
        limit: 10,
        ..Filter::default()
    };
    let page = block_on(world.store().find(filter.clone())).expect("it lists");
    assert_eq!(page.runs.iter().map(|head| head.run).collect::<Vec<_>>(), [run]);
    assert_eq!(page.next, None, "{} others are not looked at", others.len());
    let named = Filter { name: Some("flow".into()), ..filter.clone() };
    assert_eq!(block_on(world.store().find(named)).expect("it lists").runs.len(), 1);
    let other = Filter { name: Some("other".into()), ..filter };
    assert_eq!(block_on(world.store().find(other)).expect("it lists").runs.len(), 0);
}
