//! Cancels as marks: ranges on the run, folded into the rows a few at a time.

use bowline_core::{
    Ending, EventId, Failure, Fence, Holder, Message, Ranges, RetryPolicy, RunId, Status, Step,
    limits,
};

use super::{
    Harness,
    world::{
        SWEEP, World, heartbeat,
        turn::{cause, spec},
    },
};
use crate::{HeartbeatReply, Renewal};

/// More than a mark begins at, and little enough to be quick.
const MANY: usize = limits::MARK_FROM as usize * 2;

fn scheduled(world: &World<'_>, count: usize) -> (RunId, Ranges) {
    let run = world.start("a");
    let spec = bowline_core::ActivitySpec { retry: Some(RetryPolicy::default()), ..spec("work") };
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(count, &spec);
    world.commit(turn).expect("nobody else writes");
    world.sweep_all();
    (run, ids)
}

/// A hundred thousand activities are cancelled in one commit. No sweep touches more than its share
/// of rows, nothing can be started in between, and in the end each of them is counted.
pub fn a_hundred_thousand_are_cancelled_at_once(harness: &dyn Harness) {
    const ALL: u64 = 100_000;
    let world = World::new(harness);
    let (run, ids) = scheduled(&world, ALL as usize);
    assert_eq!(world.leftovers(run).queued, ALL);
    let committed = world.run_turn(run, |turn| turn.cancel(ids.clone(), "code"));
    assert_eq!(committed.hits.len(), 0);
    assert_eq!(world.inbox(run), [Message::SkipActivities(ids)], "told at once, in one message");
    assert_eq!(world.claim(9).len(), 0, "and none can start");
    let before = world.leftovers(run);
    assert_eq!((before.queued, before.unswept, before.never_started), (0, ALL, 0));
    let mut swept = 0;
    loop {
        let sweep = world.sweep(SWEEP);
        assert!(sweep.rows <= SWEEP, "{} rows in one sweep", sweep.rows);
        swept += sweep.rows as u64;
        if !sweep.more {
            break;
        }
        assert_eq!(sweep.rows, SWEEP, "a sweep that leaves work has done its share");
        assert_eq!(world.claim(9).len(), 0);
        if swept % 20_000 == 0 {
            let left = world.leftovers(run);
            assert_eq!((left.queued, left.unswept), (0, ALL - left.never_started));
            assert!(!left.settled());
        }
    }
    assert!(swept >= ALL, "{swept} rows");
    let after = world.leftovers(run);
    assert_eq!((after.queued, after.unswept, after.never_started), (0, 0, ALL));
    assert_eq!(world.rows(run), []);
}

/// Those that run are hit and must be told; the message lists the others only.
pub fn a_mark_hits_what_runs(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, ids) = scheduled(&world, MANY);
    let native = world.claim(3);
    let remote = world.claim_remote();
    let done = world.claim_one();
    world.settle(&done, Ending::Completed(None));
    let mut turn = world.turn(run);
    turn.commit.consumed = bowline_core::Number(1);
    turn.cancel(ids.clone(), "code");
    let committed = world.commit(turn).expect("nobody else writes");
    let hits: Vec<EventId> = committed.hits.iter().map(|hit| hit.activity).collect();
    let running: Vec<EventId> =
        native.iter().chain([&remote]).map(|claimed| claimed.activity).collect();
    assert_eq!(hits, running);
    let over = |id: EventId| running.contains(&id) || id == done.activity;
    let expected = Message::SkipActivities(ids.without(over));
    assert_eq!(world.inbox(run).last(), Some(&expected));
    let renewed = world.renew(world.renewal());
    assert_eq!(renewed.cancels.len(), 3, "each of its own, and not the remote one");
    assert!(renewed.cancels.iter().all(|hit| hit.cause == cause("code")));
    let heartbeats = vec![heartbeat(&remote), heartbeat(&native[0])];
    let renewed = world.renew(Renewal { heartbeats, ..world.renewal() });
    assert_eq!(renewed.heartbeats, [0, 1].map(|_| HeartbeatReply::Cancelled(cause("code"))));
}

/// An attempt under a mark fails: it is not tried again, swept or not.
pub fn a_marked_attempt_is_not_tried_again(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, ids) = scheduled(&world, MANY);
    let claimed = world.claim(2);
    world.run_turn(run, |turn| turn.cancel(ids, "code"));
    for (at, claimed) in claimed.iter().enumerate() {
        let settled = world.settle(claimed, Ending::Failed(Failure::new("boom")));
        assert_eq!(settled.step, Step::Ended, "attempt {at}");
        assert!(settled.message.is_some());
        world.sweep_all();
    }
    world.tick(1_000);
    assert_eq!(world.claim(9).len(), 0);
    assert_eq!(world.leftovers(run).never_started, MANY as u64 - 2);
}

/// An attempt failed, waits for its time, and is then marked: that time never comes.
pub fn a_marked_retry_never_starts(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, ids) = scheduled(&world, MANY);
    let claimed = world.claim_one();
    let settled = world.settle(&claimed, Ending::Failed(Failure::new("boom")));
    assert!(matches!(settled.step, Step::Requeued(_)));
    world.run_turn(run, |turn| turn.cancel(ids.clone(), "code"));
    assert_eq!(world.inbox(run), [Message::SkipActivities(ids)]);
    world.tick(1_000);
    assert_eq!(world.claim(9).len(), 0);
    world.sweep_all();
    assert_eq!(world.leftovers(run).never_started, MANY as u64 - 1, "one of them had run");
}

/// One commit schedules a whole crowd and cancels it: none of them starts, not even the one that
/// was to start at once.
pub fn a_crowd_is_scheduled_and_marked_at_once(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let mut ids: Vec<EventId> = turn.schedule_many(MANY, &spec("work")).ids().collect();
    ids.push(turn.schedule(spec("work")));
    turn.start_now(Holder::Native(Fence { epoch: world.epoch, counter: 1 << 40 }));
    turn.cancel(ids.iter().copied().collect::<Ranges>(), "code");
    let committed = world.commit(turn).expect("nobody else writes");
    assert_eq!((committed.hits.len(), committed.started.len()), (0, 0));
    assert_eq!(world.inbox(run), [Message::SkipActivities(ids.into_iter().collect())]);
    assert_eq!(world.claim(9).len(), 0);
    world.sweep_all();
    assert_eq!(world.claim(9).len(), 0);
    assert_eq!(world.leftovers(run).never_started, MANY as u64 + 1);
}

/// A mark leaves alone what it does not name, in its own run and in others.
pub fn a_mark_hits_nothing_else(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, ids) = scheduled(&world, MANY + 2);
    let other = world.start("b");
    world.run_turn(other, |turn| turn.schedule_many(MANY, &spec("work")));
    let all: Vec<EventId> = ids.ids().collect();
    let shielded = [all[0], all[MANY + 1]];
    world.run_turn(run, |turn| turn.cancel(ids.minus(&shielded), "code"));
    for swept in [false, true] {
        if swept {
            world.sweep_all();
        }
        let claimed = world.claim(1).remove(0);
        assert!(shielded.contains(&claimed.activity), "{:?}", claimed.activity);
    }
    let rest = world.claim(2 * MANY);
    assert_eq!((rest.len(), rest.iter().all(|claimed| claimed.run == other)), (MANY, true));
}

/// A second mark over the same ranges says nothing new, and its cause does not count.
pub fn the_first_mark_stays(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, ids) = scheduled(&world, MANY);
    let claimed = world.claim_one();
    let first = world.run_turn(run, |turn| turn.cancel(ids.clone(), "first"));
    assert_eq!(first.hits.len(), 1);
    let mut turn = world.turn(run);
    turn.commit.consumed = bowline_core::Number(1);
    turn.cancel(ids.clone(), "second");
    let second = world.commit(turn).expect("nobody else writes");
    assert_eq!(second.hits.len(), 0);
    let told = Message::SkipActivities(ids.minus(&[claimed.activity]));
    assert_eq!(world.inbox(run), [told], "each is told once");
    world.sweep_all();
    assert_eq!(world.leftovers(run).never_started, MANY as u64 - 1);
    assert_eq!(world.renew(world.renewal()).cancels[0].cause, cause("first"));
}

/// The rows of a large crowd may follow their events; whoever claims sees each of them once, in
/// order, and no sweep does more than its share.
pub fn a_large_crowd_is_materialised(harness: &dyn Harness) {
    const ALL: usize = 5_000;
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(ALL, &spec("work"));
    let begun = turn.schedule(spec("work"));
    turn.start_now(Holder::Native(Fence { epoch: world.epoch, counter: 1 << 40 }));
    let committed = world.commit(turn).expect("nobody else writes");
    assert_eq!(committed.started, [(begun, 1)], "what starts at once has its row at once");
    assert_eq!(world.leftovers(run).queued, ALL as u64, "what is committed counts");
    let mut taken: Vec<EventId> = Vec::new();
    loop {
        let swept = world.sweep(SWEEP);
        assert!(swept.rows <= SWEEP);
        taken.extend(world.claim(ALL).into_iter().map(|claimed| claimed.activity));
        if !swept.more {
            break;
        }
    }
    assert_eq!(taken, ids.ids().collect::<Vec<_>>());
    assert_eq!(world.leftovers(run).queued, 0);
}

/// A crowd is cancelled before its rows exist, and the run closes: no row of it ever starts.
pub fn a_crowd_is_marked_before_it_is_materialised(harness: &dyn Harness) {
    const ALL: usize = 5_000;
    let mut world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(ALL, &spec("work"));
    world.commit(turn).expect("nobody else writes");
    world.run_turn(run, |turn| {
        turn.cancel(ids, "code");
        turn.close(Status::Completed);
    });
    let left = world.leftovers(run);
    assert_eq!((left.queued, left.unswept), (0, ALL as u64));
    world.sweep(SWEEP);
    assert_eq!(world.claim(9).len(), 0);
    world.reopen();
    assert_eq!(world.claim(9).len(), 0, "a crash changes nothing about it");
    world.sweep_all();
    assert_eq!(world.claim(9).len(), 0);
    let left = world.leftovers(run);
    assert_eq!((left.unswept, left.never_started), (0, ALL as u64));
    assert!(left.clean(), "{left:?}");
}
