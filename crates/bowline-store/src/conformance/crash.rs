//! A crash after every kind of call: what was acknowledged is there.

use std::time::Duration;

use bowline_core::{
    ActivitySpec, Address, Ending, Failure, Message, ParentClose, Payload, Ranges, RetryPolicy,
    Status, Step,
};

use super::{
    Harness,
    world::{
        World, attempt, heartbeat,
        turn::{birth, cancel, cause, names, signal, spec},
        wait::block_on,
    },
};
use crate::{Hint, Posted, Read, Renewal, Sighting, Subtree};

/// A start, and a message.
pub fn what_was_posted_is_there(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    world.post(run, signal("s", "r1")).expect("delivered");
    let (receipt, _) = world.post_receipt(run, cancel("ops", "r2"));
    let before = world.head(run);
    world.reopen();
    assert_eq!(world.head(run), before);
    assert_eq!(world.current("a"), Some(run));
    assert_eq!(names(&world.inbox(run)), ["Wake", "s", "Cancel"]);
    let again = world.post(run, signal("s", "r1")).expect("answered");
    assert_eq!(again, Posted::Repeated(run), "a request counts once across a crash");
    let left = block_on(world.store().leftovers(Subtree::Receipt(receipt))).expect("kept");
    assert_eq!(left.receipt.map(|receipt| receipt.run), Some(run));
    assert_eq!(world.take_runs(), [run]);
}

/// Everything that one commit wrote.
pub fn what_was_committed_is_there(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let (run, other) = (world.start("a"), world.start("b"));
    let child = birth(world.run_id(), "child", world.now());
    let id = child.run;
    let due = world.now().after(Duration::from_secs(5));
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(3, &spec("work"));
    turn.timer(due);
    turn.child(child, ParentClose::Cancel);
    turn.send(Address::Run(other), signal("s", ""));
    turn.cancel(ids.ids().last().expect("there are three"), "code");
    world.commit(turn).expect("nobody else writes");
    let (head, events, inbox) = (world.head(run), world.events(run), world.inbox(run));
    world.reopen();
    assert_eq!(world.head(run), head);
    assert_eq!((world.events(run), world.inbox(run)), (events, inbox));
    assert_eq!(names(&world.inbox(other)), ["Wake", "s"]);
    assert_eq!(world.head(id).parent.map(|(parent, _)| parent), Some(run));
    let claimed: Vec<_> = world.claim(9).into_iter().map(|claimed| claimed.activity).collect();
    assert_eq!(claimed, ids.ids().take(2).collect::<Vec<_>>(), "in the order of before");
    assert_eq!(world.leftovers(run).never_started, 1);
    assert_eq!(world.fire().next, Some(due));
    world.tick(5);
    assert_eq!(world.fire().runs, [run]);
}

/// A run that closed and goes on as another.
pub fn what_was_closed_stays_closed(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    let next = birth(world.run_id(), "a", world.now());
    let id = next.run;
    world.run_turn(run, |turn| turn.continue_as(next));
    world.reopen();
    assert_eq!(world.head(run).successor, Some(id));
    assert_eq!(world.current("a"), Some(id));
    assert_eq!(world.take_runs(), [id]);
    world.close(id, Status::Completed);
    world.reopen();
    assert_eq!(world.head(id).status, Status::Completed);
    assert_eq!(world.take_runs(), []);
}

/// An attempt whose start was acknowledged: its number is used up, and never used again.
pub fn what_was_started_stays_started(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    let mut proofs = Vec::new();
    for number in 1..=3 {
        let claimed = world.claim_one();
        assert_eq!(claimed.live.attempt, number);
        proofs.push(super::world::proof(&claimed));
        world.reopen();
        assert_eq!(world.claim(1).len(), 0, "it is not in its queue");
        world.sweep_all();
    }
    assert!(proofs[0] != proofs[1] && proofs[1] != proofs[2], "nor is a fence used twice");
}

/// An outcome, and a retry with its pause.
pub fn what_was_settled_is_settled(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    let retry = Some(RetryPolicy::default());
    let spec = ActivitySpec { retry, ..spec("work") };
    world.run_turn(run, |turn| turn.schedule_many(2, &spec));
    let claimed = world.claim(2);
    world.settle(&claimed[0], Ending::Completed(Some(Payload::json("1"))));
    let retried = world.settle(&claimed[1], Ending::Failed(Failure::new("boom"))).step;
    let Step::Requeued(due) = retried else { panic!("{retried:?}") };
    world.reopen();
    let [Message::EndActivity(end)] = &world.inbox(run)[..] else { panic!() };
    assert_eq!(end.activity, claimed[0].activity);
    world.sweep_all();
    while world.now() < due {
        assert_eq!(world.claim(9).len(), 0, "the pause is kept");
        world.tick(1);
    }
    let next = world.claim_one();
    assert_eq!((next.activity, next.live.attempt), (claimed[1].activity, 2));
    assert_eq!(next.live.last_failure, Some(Failure::new("boom")));
}

/// A timer that rang does not ring again, and its message is there.
pub fn what_rang_has_rung(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.timer(world.now()));
    assert_eq!(world.fire().rang, 1);
    world.reopen();
    assert_eq!(world.fire().rang, 0);
    assert_eq!(names(&world.inbox(run)), ["FireTimer"]);
    assert_eq!(world.take_runs(), [run]);
}

/// A mark, before and in the middle of being swept.
pub fn what_was_marked_never_starts(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(200, &spec("work"));
    let free = turn.schedule(spec("work"));
    world.commit(turn).expect("nobody else writes");
    world.run_turn(run, |turn| turn.cancel(ids, "code"));
    for swept in [0, 70, 70] {
        if swept > 0 {
            assert!(world.sweep(swept).more);
        }
        world.reopen();
        let left = world.leftovers(run);
        assert_eq!((left.queued, left.never_started + left.unswept), (1, 200));
    }
    assert_eq!(world.claim(9).into_iter().map(|c| c.activity).collect::<Vec<_>>(), [free]);
    world.sweep_all();
    assert_eq!(world.leftovers(run).never_started, 200);
}

/// What a worker reported about a cancel and about its progress.
pub fn what_was_reported_is_there(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    let claimed = world.claim_remote();
    world.run_turn(run, |turn| turn.cancel(claimed.activity, "code"));
    let mut beat = heartbeat(&claimed);
    beat.details = Some(Payload::json("42"));
    let seen = Sighting {
        attempt: attempt(&claimed),
        delivered_at: world.now(),
        observed_at: Some(world.now()),
    };
    let heard = world.now();
    let renewal = Renewal { heartbeats: vec![beat], sightings: vec![seen], ..world.renewal() };
    world.renew(renewal);
    world.reopen();
    world.sweep_all();
    let live = world.rows(run).remove(0).live;
    assert_eq!(live.heartbeat, Some(Payload::json("42")));
    assert_eq!(live.started().map(|start| start.heard_at), Some(heard));
    let record = live.cancel.expect("it is cancelled");
    assert_eq!((record.delivered_at, record.observed_at), (Some(heard), Some(heard)));
    assert_eq!(record.cause, cause("code"));
}

/// A released run is free at once; one that was held is free after sweeping.
pub fn leases_do_not_outlive_their_member(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let (released, held) = (world.start("a"), world.start("b"));
    assert_eq!(world.take_runs().len(), 2);
    world.run_turn(released, |turn| {
        turn.commit.consumed = bowline_core::Number(0);
        turn.release();
    });
    world.reopen();
    world.sweep_all();
    let mut free = world.take_runs();
    free.sort_unstable();
    assert_eq!(free, [released, held]);
}

/// Only rows outlive a crash: a question dies with its process, and its listener with it.
pub fn questions_and_hints_do_not_survive(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let mut hints = world.store().watch();
    world.start("a");
    hints.take();
    world.reopen();
    let pending = block_on(world.store().answer(world.epoch, Vec::new())).expect("alive");
    assert_eq!(pending.len(), 0);
    let mut fresh = world.store().watch();
    let run = world.start("b");
    world.hinted(&mut fresh, &Hint::Changed(run));
    assert_eq!(hints.take(), []);
}

/// Work that was left for later goes on where it stopped, however often it is interrupted.
pub fn sweeping_goes_on_after_a_crash(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(3_000, &spec("work"));
    world.commit(turn).expect("nobody else writes");
    let kept: Ranges = ids.ids().filter(|id| id.0 % 2 == 0).collect();
    world.run_turn(run, |turn| turn.cancel(ids.without(|id| kept.contains(id)), "code"));
    loop {
        let swept = world.sweep(700);
        world.reopen();
        if !swept.more {
            break;
        }
    }
    world.sweep_all();
    let left = world.leftovers(run);
    assert_eq!((left.never_started, left.queued, left.unswept), (1_500, 1_500, 0));
    let taken: Vec<_> = world.claim(9_999).into_iter().map(|claimed| claimed.activity).collect();
    assert_eq!(taken, kept.ids().collect::<Vec<_>>());
    assert!(world.read(Read::whole(run)).batches.len() == 3);
}
