//! Members enter, report, leave and die.

use bowline_core::{Ending, Holder, Message, Outcome, Payload, RetryPolicy, Rung, Status, Step};

use super::{
    Harness,
    world::{
        World, attempt, heartbeat, refused,
        turn::{cause, signal, spec},
        wait::block_on,
    },
};
use crate::{ClaimedActivity, Error, HeartbeatReply, Join, Proof, Renewal, Sighting};

fn begun(world: &World<'_>) -> ClaimedActivity {
    let run = world.start(&format!("run-{}", world.id()));
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    world.claim_one()
}

/// No epoch is used twice, whatever happened in between.
pub fn epochs_rise_across_openings(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let mut epochs = vec![world.epoch];
    for _ in 0..3 {
        world.reopen();
        epochs.push(world.epoch);
    }
    assert!(epochs.is_sorted_by(|a, b| a < b), "{epochs:?}");
}

/// Whatever is written, and whoever opens it again, a store that nothing has taken the place of is
/// of one past.
pub fn a_store_that_stays_is_of_one_past(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let past = world.renew(world.renewal()).past;
    begun(&world);
    assert_eq!(world.renew(world.renewal()).past, past);
    world.reopen();
    assert_eq!(world.renew(world.renewal()).past, past);
}

/// A heartbeat says that the attempt lives, and keeps what it says about its progress.
pub fn a_heartbeat_is_kept(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world);
    for (details, expected) in [(Some("1"), "1"), (None, "1"), (Some("2"), "2")] {
        let heard = world.tick(1);
        let mut beat = heartbeat(&claimed);
        beat.details = details.map(Payload::json);
        let renewed = world.renew(Renewal { heartbeats: vec![beat], ..world.renewal() });
        assert_eq!(renewed.heartbeats, [HeartbeatReply::Alive]);
        let live = world.rows(claimed.run).remove(0).live;
        assert_eq!(live.started().map(|start| start.heard_at), Some(heard));
        assert_eq!(live.heartbeat, Some(Payload::json(expected)));
    }
}

/// Whoever has not the attempt is told so, and changes nothing.
pub fn a_heartbeat_of_somebody_else_is_gone(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world);
    let mut wrong = heartbeat(&claimed);
    wrong.proof = Proof::Remote(Default::default());
    let mut older = heartbeat(&claimed);
    older.attempt.attempt = 0;
    let mut nobody = heartbeat(&claimed);
    nobody.attempt.activity.0 += 1;
    let heard = world.now();
    world.tick(1);
    let heartbeats = vec![wrong, older, nobody];
    let renewed = world.renew(Renewal { heartbeats, ..world.renewal() });
    assert_eq!(renewed.heartbeats, [0, 1, 2].map(|_| HeartbeatReply::Gone));
    let live = world.rows(claimed.run).remove(0).live;
    assert_eq!(live.started().map(|start| start.heard_at), Some(heard));
    world.settle(&claimed, Ending::Completed(None));
    let heartbeats = vec![heartbeat(&claimed)];
    let renewed = world.renew(Renewal { heartbeats, ..world.renewal() });
    assert_eq!(renewed.heartbeats, [HeartbeatReply::Gone], "it has ended");
}

/// A member of an earlier opening is fenced, and so are the heartbeats of its attempts.
pub fn a_dead_member_cannot_renew(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let claimed = begun(&world);
    let dead = world.epoch;
    world.reopen();
    let renewal = Renewal { epoch: dead, ..world.renewal() };
    refused!(block_on(world.store().renew(renewal)), Error::Fenced);
    let heartbeats = vec![heartbeat(&claimed)];
    let renewed = world.renew(Renewal { heartbeats, ..world.renewal() });
    assert_eq!(renewed.heartbeats, [HeartbeatReply::Gone]);
    assert_eq!(renewed.cancels, []);
}

/// Whoever was replaced does not enter again: two of them would throw each other out for ever.
pub fn whoever_was_replaced_does_not_enter_again(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let replaced = world.epoch;
    world.reopen();
    let lease = std::time::Duration::from_secs(60);
    let join = Join { again: Some(replaced), ..Join::new("suite", lease, world.now()) };
    refused!(block_on(world.store().join(join)), Error::Fenced);
    world.renew(world.renewal());
}

/// How far word of a cancel has come is kept; the first sighting stays.
pub fn sightings_are_kept(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world);
    let early = Sighting {
        attempt: attempt(&claimed),
        delivered_at: world.now(),
        observed_at: Some(world.now()),
    };
    world.renew(Renewal { sightings: vec![early], ..world.renewal() });
    world.run_turn(claimed.run, |turn| turn.cancel(claimed.activity, "code"));
    let line = || world.leftovers(claimed.run).attempts.remove(0);
    assert_eq!(line().delivered_at, None, "there was nothing to see before");
    let delivered = world.tick(1);
    let told = Sighting { attempt: attempt(&claimed), delivered_at: delivered, observed_at: None };
    world.renew(Renewal { sightings: vec![told], ..world.renewal() });
    let observed = world.tick(1);
    let seen = Sighting { delivered_at: observed, observed_at: Some(observed), ..told };
    world.renew(Renewal { sightings: vec![seen], ..world.renewal() });
    world.tick(1);
    let again = Sighting { delivered_at: world.now(), observed_at: Some(world.now()), ..told };
    world.renew(Renewal { sightings: vec![again], ..world.renewal() });
    assert_eq!((line().delivered_at, line().observed_at), (Some(delivered), Some(observed)));
}

/// A remote worker that comes for its notices, to whichever member, is told of every cancel that
/// it is not known to have, and of nobody else's.
pub fn what_a_remote_worker_was_not_told_is_found_again(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("order-1");
    world.run_turn(run, |turn| {
        turn.schedule(spec("work"));
        turn.schedule(spec("work"));
        turn.schedule(spec("work"))
    });
    let [told, untold] = [world.claim_remote(), world.claim_remote()];
    let own = world.claim_one();
    world.run_turn(run, |turn| {
        turn.cancel(told.activity, "code");
        turn.cancel(untold.activity, "code");
        turn.cancel(own.activity, "code")
    });
    let sighting =
        Sighting { attempt: attempt(&told), delivered_at: world.now(), observed_at: None };
    world.renew(Renewal { sightings: vec![sighting], ..world.renewal() });
    let ask = |world: &World<'_>, control: &str| {
        let controls = vec![control.into()];
        let cancels = world.renew(Renewal { controls, ..world.renewal() }).cancels;
        cancels.into_iter().map(|hit| (hit.activity, hit.attempt)).collect::<Vec<_>>()
    };
    assert_eq!(ask(&world, "control"), [(own.activity, 1), (untold.activity, 1)]);
    assert_eq!(ask(&world, "another"), [(own.activity, 1)]);
    world.reopen();
    assert_eq!(ask(&world, "control"), [(untold.activity, 1)], "after a crash too");
    world.settle(&untold, Ending::Cancelled(None));
    assert_eq!(ask(&world, "control"), [], "it is over");
}

/// A member that asks is told of every attempt that it has, in closed runs too, and of no others.
pub fn a_member_is_told_what_it_has(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let inventory = |world: &World<'_>| {
        let renewed = world.renew(Renewal { inventory: true, ..world.renewal() });
        renewed.inventory
    };
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule_many(4, &spec("work")));
    assert_eq!(inventory(&world), [], "what waits is nobody's");
    let claimed = world.claim(2);
    world.claim_remote();
    let own: Vec<_> = claimed.iter().map(|own| (own.run, own.activity)).collect();
    assert_eq!(inventory(&world), own);
    assert_eq!(world.renew(world.renewal()).inventory, [], "nobody asked");
    let left = claimed.iter().map(|own| own.activity).collect();
    world.run_turn(run, |turn| turn.close_leaving(Status::Completed, left));
    assert_eq!(inventory(&world), own, "they run on");
    world.settle(&claimed[0], Ending::Completed(None));
    assert_eq!(inventory(&world), own[1..]);
    world.reopen();
    assert_eq!(inventory(&world), [], "that was another member");
}

/// A member that leaves gives everything back: attempts are tried again, runs are free.
pub fn a_member_that_leaves_gives_all_back(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let claimed = begun(&world);
    world.post(claimed.run, signal("a", "")).expect("delivered");
    world.hold(claimed.run);
    let renewal = Renewal { leave: true, ..world.renewal() };
    world.renew(renewal.clone());
    refused!(block_on(world.store().renew(renewal)), Error::Fenced);
    world.epoch = world.join();
    assert_eq!(world.take_runs(), [claimed.run]);
    let next = world.claim_one();
    assert_eq!((next.activity, next.live.attempt), (claimed.activity, 2));
    let lost = next.live.last_failure.expect("the attempt before was lost");
    assert_eq!(lost.kind, "worker_lost");
}

/// What a dead member had is swept up: attempts are tried again, runs are free.
pub fn a_dead_members_work_is_swept_up(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let claimed = begun(&world);
    world.post(claimed.run, signal("a", "")).expect("delivered");
    world.hold(claimed.run);
    world.reopen();
    world.sweep_all();
    assert_eq!(world.take_runs(), [claimed.run]);
    assert_eq!(world.claim_one().live.attempt, 2);
    assert_eq!(world.inbox(claimed.run).len(), 1, "the run heard nothing of it");
}

/// A cancelled attempt of a dead member is not tried again: its process died, and it with it.
pub fn a_dead_members_cancelled_attempt_is_over(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let claimed = begun(&world);
    world.run_turn(claimed.run, |turn| turn.cancel(claimed.activity, "code"));
    world.reopen();
    world.sweep_all();
    let [Message::EndActivity(end)] = &world.inbox(claimed.run)[..] else { panic!() };
    assert_eq!(end.outcome, Outcome::Cancelled(cause("code"), Rung::Died, None));
    assert_eq!(world.claim(9).len(), 0);
    let left = world.leftovers(claimed.run);
    assert_eq!((left.attempts[0].lost, left.attempts[0].running), (false, false));
}

/// An attempt that was started by the commit that scheduled it dies with its member too.
pub fn an_attempt_started_by_its_commit_dies_with_the_member(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let activity = turn.schedule(spec("work"));
    let fence = bowline_core::Fence { epoch: world.epoch, counter: 1 << 40 };
    turn.start_now(Holder::Native(fence));
    world.commit(turn).expect("nobody else writes");
    world.reopen();
    world.sweep_all();
    let next = world.claim_one();
    assert_eq!((next.activity, next.live.attempt), (activity, 2));
}

/// A worker that is lost again and again ends the activity, ten attempts after the first.
pub fn a_worker_is_not_lost_for_ever(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let claimed = begun(&world);
    for _ in 1..bowline_core::limits::LOST_ATTEMPTS_MAX {
        world.reopen();
        world.sweep_all();
        world.claim_one();
    }
    assert_eq!(world.inbox(claimed.run), []);
    world.reopen();
    world.sweep_all();
    assert_eq!(world.claim(1).len(), 0);
    let [Message::EndActivity(end)] = &world.inbox(claimed.run)[..] else { panic!() };
    assert!(matches!(&end.outcome, Outcome::Failed(failure) if failure.kind == "worker_lost"));
    assert_eq!(end.attempt, bowline_core::limits::LOST_ATTEMPTS_MAX);
}

/// A remote attempt belongs to no member: neither its leaving nor its death touches it.
pub fn a_remote_attempt_outlives_members(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    let retry = Some(RetryPolicy::default());
    let spec = bowline_core::ActivitySpec { retry, ..spec("work") };
    world.run_turn(run, |turn| turn.schedule(spec));
    let claimed = world.claim_remote();
    world.renew(Renewal { leave: true, ..world.renewal() });
    world.reopen();
    world.sweep_all();
    let heartbeats = vec![heartbeat(&claimed)];
    let renewed = world.renew(Renewal { heartbeats, ..world.renewal() });
    assert_eq!(renewed.heartbeats, [HeartbeatReply::Alive]);
    assert_eq!(world.settle(&claimed, Ending::Completed(None)).step, Step::Ended);
}

/// Sweeping up after a dead member keeps to its share of rows, and can be stopped anywhere.
pub fn sweeping_up_after_the_dead_is_bounded(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule_many(10, &spec("work")));
    assert_eq!(world.claim(10).len(), 10);
    world.reopen();
    let swept = world.sweep(4);
    assert_eq!((swept.rows, swept.more), (4, true));
    world.reopen();
    world.sweep_all();
    assert_eq!(world.claim(99).len(), 10);
}
