//! Cancels that stand on the rows of their activities, one by one.

use std::time::Duration;

use bowline_core::{
    Cause, Ending, EventId, Failure, Fence, Holder, Ladder, Ladders, Message, Payload, Ranges,
    RetryPolicy, Span, Step,
};

use super::{
    Harness,
    world::{
        World, heartbeat,
        turn::{cause, spec},
    },
};
use crate::{ClaimedActivity, HeartbeatReply, Renewal};

/// An activity that never started is over with the commit that cancels it.
pub fn a_cancelled_queued_activity_never_starts(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(3, &spec("work"));
    world.commit(turn).expect("nobody else writes");
    let second = EventId(ids.ranges()[0].first.0 + 1);
    let committed = world.run_turn(run, |turn| turn.cancel(second, "code"));
    assert_eq!((committed.hits.len(), committed.started.len()), (0, 0));
    assert_eq!(world.inbox(run), [Message::SkipActivities(second.into())]);
    let taken: Vec<EventId> = world.claim(9).into_iter().map(|claimed| claimed.activity).collect();
    let expected: Vec<EventId> = ids.ids().filter(|id| *id != second).collect();
    assert_eq!(taken, expected);
    let left = world.leftovers(run);
    assert_eq!((left.never_started, left.queued, left.attempts.len()), (1, 0, 2));
}

/// Everything that one commit cancels before it started is told in one message.
pub fn one_message_lists_all_that_never_started(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(6, &spec("work"));
    world.commit(turn).expect("nobody else writes");
    let started = world.claim_one().activity;
    let first = EventId(started.0 + 1);
    let rest: Ranges = ids.ids().filter(|id| *id > first).collect();
    world.run_turn(run, |turn| {
        turn.cancel(Ranges::from(started), "one");
        turn.cancel(rest.clone(), "two");
        turn.cancel(first, "three");
    });
    let skipped: Ranges = ids.ids().filter(|id| *id != started).collect();
    assert_eq!(world.inbox(run), [Message::SkipActivities(skipped)]);
}

/// What one commit both schedules and cancels never starts, even if it was to be started at once.
pub fn enqueue_and_cancel_in_one_commit_never_starts(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let queued = turn.schedule(spec("work"));
    let begun = turn.schedule(spec("work"));
    turn.start_now(Holder::Native(Fence { epoch: world.epoch, counter: 1 << 40 }));
    turn.cancel([queued, begun].into_iter().collect::<Ranges>(), "code");
    let committed = world.commit(turn).expect("nobody else writes");
    assert_eq!((committed.started.len(), committed.hits.len()), (0, 0));
    let skipped: Ranges = [queued, begun].into_iter().collect();
    assert_eq!(world.inbox(run), [Message::SkipActivities(skipped)]);
    assert_eq!(world.claim(9).len(), 0);
    assert_eq!(world.leftovers(run).never_started, 2);
}

/// A running attempt is hit: the commit says who must be told, and the renewal says it again.
pub fn a_cancelled_attempt_is_told(harness: &dyn Harness) {
    let world = World::new(harness);
    let (claimed, decided_at) = cancelled(&world);
    let renewed = world.renew(world.renewal());
    let [hit] = &renewed.cancels[..] else { panic!("{renewed:?}") };
    assert_eq!((hit.run, hit.activity, hit.attempt), (claimed.run, claimed.activity, 1));
    assert_eq!((&hit.cause, hit.decided_at, hit.cancel), (&cause("code"), decided_at, true));
    let start = claimed.live.started().expect("it is started");
    assert_eq!(hit.holder, start.holder);
    assert_eq!(world.inbox(claimed.run), [], "it ends by its own outcome");
}

/// The first cause wins; a second cancel hits nobody.
pub fn the_first_cancel_stays(harness: &dyn Harness) {
    let world = World::new(harness);
    let (claimed, _) = cancelled(&world);
    let again = world.run_turn(claimed.run, |turn| turn.cancel(claimed.activity, "second"));
    assert_eq!(again.hits.len(), 0);
    let renewed = world.renew(world.renewal());
    assert_eq!(renewed.cancels[0].cause, cause("code"));
}

/// A later cancel may push harder: the worker is told at once, and by every renewal after that.
/// Whose cancel it is does not change.
pub fn a_later_cancel_may_hasten(harness: &dyn Harness) {
    let world = World::new(harness);
    let (claimed, decided_at) = cancelled(&world);
    let (grace, step) = (Span(Duration::from_secs(2)), Span(Duration::from_secs(1)));
    let ladder = Some(Ladder { grace, step, detach: false });
    let ladders = Ladders { activities: ladder, ..Ladders::default() };
    let harder = Cause { ladders: Some(Box::new(ladders)), ..cause("second") };
    let target = Ranges::from(claimed.activity);
    let hasten = || {
        let (target, harder) = (target.clone(), harder.clone());
        world.run_turn(claimed.run, |turn| turn.commit.cancels.push((target, harder)))
    };
    world.tick(1);
    let committed = hasten();
    let renewed = world.renew(world.renewal());
    for hits in [&committed.hits, &renewed.cancels] {
        let [hit] = &hits[..] else { panic!("{hits:?}") };
        assert_eq!((hit.activity, hit.cause.activity_ladder()), (claimed.activity, ladder));
        assert_eq!((hit.cause.requested_by.as_str(), hit.decided_at), ("code", decided_at));
    }
    assert_eq!(hasten().hits.len(), 0, "once is enough");
}

/// A cancel is never a reason to take the lease away: the code must have time to clean up.
pub fn a_cancelled_attempt_keeps_its_lease(harness: &dyn Harness) {
    let world = World::new(harness);
    let (claimed, _) = cancelled(&world);
    let heard = world.tick(30);
    let mut beat = heartbeat(&claimed);
    beat.details = Some(Payload::json("42"));
    let renewed = world.renew(Renewal { heartbeats: vec![beat], ..world.renewal() });
    assert_eq!(renewed.heartbeats, [HeartbeatReply::Cancelled(cause("code"))]);
    let live = world.rows(claimed.run).remove(0).live;
    assert_eq!(live.started().map(|start| start.heard_at), Some(heard));
    assert_eq!(live.heartbeat, Some(Payload::json("42")));
}

/// A cancel is final for all attempts: a failure is not tried again.
pub fn a_cancelled_attempt_is_not_tried_again(harness: &dyn Harness) {
    let world = World::new(harness);
    let (claimed, _) = cancelled(&world);
    let settled = world.settle(&claimed, Ending::Failed(Failure::new("boom")));
    assert_eq!(settled.step, Step::Ended);
    assert!(settled.message.is_some());
    world.tick(1_000);
    assert_eq!(world.claim(9).len(), 0);
}

/// A retry that waits for its time is in the queue like any other, and is cancelled there.
pub fn a_waiting_retry_is_cancelled_in_its_queue(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world);
    let settled = world.settle(&claimed, Ending::Failed(Failure::new("boom")));
    assert!(matches!(settled.step, Step::Requeued(_)), "{settled:?}");
    world.run_turn(claimed.run, |turn| turn.cancel(claimed.activity, "code"));
    assert_eq!(world.inbox(claimed.run), [Message::SkipActivities(claimed.activity.into())]);
    world.tick(1_000);
    assert_eq!(world.claim(9).len(), 0);
    assert_eq!(world.fire().runs, [], "nothing of it rings either");
}

/// The outcome was first: there is nothing to cancel, and nothing is said twice.
pub fn a_cancel_after_the_end_hits_nobody(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world);
    let mut turn = world.turn(claimed.run);
    world.settle(&claimed, Ending::Completed(None));
    turn.cancel(claimed.activity, "code");
    let committed = world.commit(turn).expect("nobody else writes");
    assert_eq!(committed.hits.len(), 0);
    let [Message::EndActivity(end)] = &world.inbox(claimed.run)[..] else {
        panic!("{:?}", world.inbox(claimed.run));
    };
    assert_eq!(end.outcome, bowline_core::Outcome::Completed(None));
}

/// An activity that retries, with its first attempt out.
fn begun(world: &World<'_>) -> ClaimedActivity {
    let run = world.start("a");
    let retry = Some(RetryPolicy::default());
    let spec = bowline_core::ActivitySpec { retry, ..spec("work") };
    world.run_turn(run, |turn| turn.schedule(spec));
    world.claim_one()
}

/// The same, cancelled; and when.
fn cancelled(world: &World<'_>) -> (ClaimedActivity, bowline_core::Time) {
    let claimed = begun(world);
    let at = world.tick(1);
    let committed = world.run_turn(claimed.run, |turn| turn.cancel(claimed.activity, "code"));
    let [hit] = &committed.hits[..] else { panic!("{committed:?}") };
    assert_eq!((hit.activity, hit.attempt, hit.cancel), (claimed.activity, 1, true));
    (claimed, at)
}
