//! Between the acknowledgement of a run's cancel and its decision no attempt of the run begins.

use bowline_core::{Ending, EventId, Failure, Fence, Holder, Queue, RetryPolicy, RunId, Status};

use super::{
    Harness,
    world::{
        NAMESPACE, World,
        turn::{Turn, cancel, cause, signal, spec, terminate},
    },
};
use crate::{ClaimActivities, Hint, HolderKind, RunCancel};

/// A run with one activity that waits.
fn waiting(world: &World<'_>) -> (RunId, EventId) {
    let run = world.start(&format!("run-{}", world.id()));
    let mut turn = world.turn(run);
    let activity = turn.schedule(spec("work"));
    world.commit(turn).expect("nobody else writes");
    (run, activity)
}

fn asked(world: &World<'_>, run: RunId) {
    world.post(run, cancel("ops", "")).expect("the run is open");
}

/// The turn that takes the cancel in, and decides that nothing of the run stops.
fn deciding(world: &World<'_>, run: RunId) -> Turn {
    let mut turn = world.turn(run);
    let (now, cause) = (world.now(), cause("ops"));
    turn.commit.status = Status::Cancelling;
    turn.commit.cancel =
        Some(RunCancel { cause, requested_at: now, decided_at: Some(now), number: None });
    turn
}

fn decide(world: &World<'_>, run: RunId) {
    world.commit(deciding(world, run)).expect("nobody else writes");
}

/// What anybody could start now: none, and nobody who tried is the wiser.
fn nothing_begins(world: &World<'_>) {
    assert_eq!(world.claim(9).len(), 0);
    let holder = HolderKind::Remote("control".into());
    let claim = ClaimActivities { holder, ..world.claiming_activities(9) };
    assert_eq!(world.claim_activities(claim).len(), 0);
}

/// What waits is withheld as soon as the cancel is acknowledged, from remote workers too and after
/// a crash. When the cancel is decided, what goes on can be had, and whoever looked before is told.
pub fn what_waits_is_withheld_until_the_cancel_is_decided(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let (run, activity) = waiting(&world);
    let (_, other) = waiting(&world);
    asked(&world, run);
    let free = world.claim(9);
    assert_eq!(free.iter().map(|own| own.activity).collect::<Vec<_>>(), [other]);
    assert_ne!(free[0].run, run, "only the other run's may begin");
    nothing_begins(&world);
    world.reopen();
    world.sweep_all();
    let freed = world.claim(9);
    assert!(freed.iter().all(|own| own.run != run), "it is withheld after a crash: {freed:?}");
    nothing_begins(&world);
    let mut hints = world.store().watch();
    decide(&world, run);
    world.hinted(&mut hints, &Hint::Activity(NAMESPACE, Queue::from("work")));
    let claimed = world.claim_one();
    assert_eq!((claimed.run, claimed.activity, claimed.live.attempt), (run, activity, 1));
}

/// An attempt that failed, or was lost with its process, is not tried again meanwhile.
pub fn no_further_attempt_begins(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    let retry = Some(RetryPolicy::default());
    world.run_turn(run, |turn| {
        turn.schedule(bowline_core::ActivitySpec { retry, ..spec("work") });
    });
    let first = world.claim_one();
    asked(&world, run);
    world.settle(&first, Ending::Failed(Failure::new("no")));
    world.tick(60);
    world.fire();
    nothing_begins(&world);
    decide(&world, run);
    let second = world.claim_one();
    assert_eq!(second.live.attempt, 2);
    // A second request is no more than what was decided.
    asked(&world, run);
    world.settle(&second, Ending::Failed(Failure::new("no")));
    world.tick(60);
    assert_eq!(world.claim_one().live.attempt, 3);
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    world.claim_one();

    let (lost, _) = waiting(&world);
    world.claim_one();
    asked(&world, lost);
    world.reopen();
    world.sweep_all();
    world.tick(60);
    let freed = world.claim(9);
    assert!(freed.iter().all(|own| own.run != lost), "{freed:?}");
    decide(&world, lost);
    let claimed = world.claim_one();
    assert_eq!((claimed.run, claimed.live.attempt), (lost, 2));
}

/// A commit that was decided before the cancel came starts nothing: what it schedules waits. The
/// one that decides the cancel may.
pub fn a_commit_that_does_not_know_starts_nothing(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let epoch = world.epoch;
    let holder = |n: u64| Holder::Native(Fence { epoch, counter: (1 << 40) + n });
    let mut unknowing = world.turn(run);
    let withheld = unknowing.schedule(spec("work"));
    unknowing.start_now(holder(1));
    asked(&world, run);
    let again = unknowing.clone();
    let committed = world.commit(unknowing).expect("it may schedule");
    assert_eq!(committed.started, [], "it does not know of the cancel");
    assert_eq!(committed.unread.len(), 1, "now it does");
    assert_eq!(world.commit(again).expect("it was done").started, []);
    assert!(world.rows(run)[0].live.started().is_none());
    nothing_begins(&world);
    let mut knowing = deciding(&world, run);
    let begun = knowing.schedule(spec("work"));
    knowing.start_now(holder(2));
    let committed = world.commit(knowing).expect("nobody else writes");
    assert_eq!(committed.started, [(begun, 1)]);
    assert_eq!(world.claim_one().activity, withheld);
}

/// It ends with the run too, and with a request that came to nothing.
pub fn what_withholds_may_come_to_nothing(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, _) = waiting(&world);
    asked(&world, run);
    nothing_begins(&world);
    world.run_turn(run, |_| ());
    let claimed = world.claim_one();
    assert_eq!(claimed.run, run, "the request was read, and nothing came of it");
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    asked(&world, run);
    nothing_begins(&world);
    world.run_turn(run, |_| ());
    assert_eq!(world.claim_one().run, run);

    let (closing, left) = waiting(&world);
    for message in [cancel("ops", ""), terminate("ops")] {
        world.post(closing, message).expect("the run is open");
    }
    nothing_begins(&world);
    let mut hints = world.store().watch();
    world.run_turn(closing, |turn| turn.close_leaving(Status::Terminated, left.into()));
    world.hinted(&mut hints, &Hint::Activity(NAMESPACE, Queue::from("work")));
    assert_eq!(world.claim_one().run, closing, "what was let go of outlives it");
}

/// A termination that was acknowledged withholds as a cancel does. Nothing else does.
pub fn a_termination_withholds_and_a_signal_does_not(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, _) = waiting(&world);
    world.post(run, signal("hello", "")).expect("the run is open");
    world.claim_one();
    let (run, _) = waiting(&world);
    world.post(run, terminate("ops")).expect("the run is open");
    nothing_begins(&world);
    world.close(run, Status::Terminated);
}

/// A crowd that is withheld is in nobody's way.
pub fn a_crowd_that_is_withheld_keeps_nobody_waiting(harness: &dyn Harness) {
    let world = World::new(harness);
    let crowd = world.start("crowd");
    world.run_turn(crowd, |turn| turn.schedule_many(2_000, &spec("work")));
    let late = world.start("late");
    world.run_turn(late, |turn| turn.schedule_many(2_000, &spec("work")));
    world.tick(1);
    asked(&world, crowd);
    asked(&world, late);
    let (run, _) = waiting(&world);
    let mut claimed = Vec::new();
    // A look may be cut short, and is hinted at then.
    for _ in 0..10 {
        claimed.extend(world.claim(1));
    }
    assert_eq!(claimed.iter().map(|own| own.run).collect::<Vec<_>>(), [run]);
    decide(&world, crowd);
    assert_eq!(world.claim(3_000).len(), 2_000);
    decide(&world, late);
    assert_eq!(world.claim(3_000).len(), 2_000);
}
