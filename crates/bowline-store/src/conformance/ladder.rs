//! The ladder of a run is armed by the request that stands in its inbox, and needs no code.

use std::time::Duration;

use bowline_core::{
    Address, Cancel, Cause, Ladders, Message, Parked, RequestId, RunAlarm, RunId, RunLadder, Span,
    Status,
};

use super::{
    Harness,
    turn::{birth, cancel, cause, names, started},
    world::World,
};
use crate::Want;

fn ladder(seconds: u64) -> RunLadder {
    RunLadder { terminate_after: Span(Duration::from_secs(seconds)) }
}

/// A cancel that says what becomes of a run which does not obey.
fn pushing(seconds: u64) -> Message {
    let own = Ladders { run: Some(ladder(seconds)), ..Ladders::default() };
    let cause = Cause { ladders: Some(Box::new(own)), ..cause("alice") };
    let request_id = RequestId::default();
    Message::Cancel(Box::new(Cancel { cause, request_id, external: None, wire: None }))
}

/// A run that was started with a ladder of its own.
fn with_ladder(world: &World<'_>, seconds: u64) -> RunId {
    let mut birth = birth(world.run_id(), "a", world.now());
    started(&mut birth).expect("it begins").ladder = Some(ladder(seconds));
    world.begin(birth)
}

fn rings(world: &World<'_>, run: RunId) {
    let fired = world.fire();
    assert_eq!((fired.rang, &fired.runs[..]), (1, &[run][..]));
    let last = world.inbox(run).pop();
    assert_eq!(last, Some(Message::TimeOut(RunAlarm::Ladder)));
    let taken = world.claim_runs(world.claiming(Want::Intake, "turns"));
    assert_eq!(taken.len(), 1, "it is taken in by whoever comes, held or parked or not");
}

/// The alarm stands with the message, without a turn: the request's own, or that of the run.
pub fn a_request_arms_the_ladder_of_its_run(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("asked");
    world.post(run, pushing(30)).expect("taken");
    let own = with_ladder(&world, 60);
    world.hold(own);
    world.post(own, cancel("alice", "")).expect("taken");
    world.tick(29);
    assert_eq!(world.fire().rang, 0);
    world.tick(1);
    rings(&world, run);
    world.run_turn(run, |turn| turn.close(Status::Terminated));
    world.reopen();
    world.tick(29);
    assert_eq!(names(&world.inbox(own)), ["Wake", "Cancel"], "a crash forgets nothing");
    world.tick(1);
    rings(&world, own);
}

/// Nobody works on a parked run, and yet its time passes.
pub fn the_ladder_of_a_parked_run_rings(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let bad =
        Parked { since: world.now(), failures: 3, reason: "panicked".into(), ..Parked::default() };
    world.run_turn(run, |turn| turn.commit.quarantine = Some(Some(bad)));
    world.post(run, pushing(30)).expect("taken");
    world.tick(30);
    rings(&world, run);
    world.close(run, Status::Terminated);
    let head = world.head(run);
    assert_eq!((head.status, head.quarantine), (Status::Terminated, None));
}

/// A second request may hasten, and what the run was started with does not begin again.
pub fn a_later_request_hastens_the_ladder(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = with_ladder(&world, 10);
    world.post(run, pushing(60)).expect("taken");
    world.tick(1);
    world.post(run, cancel("bob", "")).expect("taken");
    world.tick(30);
    assert_eq!(world.fire().rang, 0, "the first request said sixty");
    world.post(run, pushing(5)).expect("taken");
    world.tick(5);
    rings(&world, run);
}

/// One that is repeated is one request, and arms nothing more.
pub fn a_repeated_request_arms_once(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = with_ladder(&world, 10);
    world.post(run, cancel("alice", "r-1")).expect("taken");
    world.tick(5);
    world.post(run, cancel("alice", "r-1")).expect("taken");
    world.tick(5);
    rings(&world, run);
    assert_eq!(world.fire().next, None);
}

/// A cancel that another run sends arms the ladder where it arrives.
pub fn a_cancel_from_another_run_arms_the_ladder(harness: &dyn Harness) {
    let world = World::new(harness);
    let (parent, child) = (world.start("parent"), world.start("child"));
    world.run_turn(parent, |turn| turn.send(Address::Run(child), pushing(30)));
    world.tick(30);
    rings(&world, child);
}

/// The alarm goes with its run.
pub fn a_run_that_closes_takes_its_ladder_along(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = with_ladder(&world, 10);
    world.post(run, cancel("alice", "")).expect("taken");
    world.post(run, pushing(5)).expect("taken");
    world.close(run, Status::Cancelled);
    world.tick(60);
    let fired = world.fire();
    assert_eq!((fired.rang, fired.next), (0, None));
}
