//! Attempts whose end nobody saw: they stay on the row, whatever becomes of their activity.

use bowline_core::{
    ActivitySpec, Ending, EventId, Failure, ParentClose, RetryPolicy, RunId, Rung, Status, Step,
    Timeout,
};

use super::{
    Harness,
    world::{
        World,
        turn::{birth, cancel, spec},
    },
};
use crate::{ClaimedActivity, Phase, Posted};

fn retrying() -> ActivitySpec {
    ActivitySpec { retry: Some(RetryPolicy::default()), ..spec("work") }
}

fn limit() -> Ending {
    Ending::TimedOut(Timeout::StartToClose)
}

/// A remote attempt passed its limit, and nobody knows whether its code has ended. It waits to be
/// tried again.
fn silent(world: &World<'_>) -> (RunId, ClaimedActivity) {
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(retrying()));
    let first = world.claim_remote();
    assert!(matches!(world.settle(&first, limit()).step, Step::Requeued(_)));
    world.tick(3_600);
    (run, first)
}

fn stop(world: &World<'_>, run: RunId, activity: EventId) {
    world.run_turn(run, |turn| {
        turn.cancel(activity, "ops");
        turn.close(Status::Terminated);
    });
}

/// The activity was queued again, and cancelled before anybody had it once more: the attempt of
/// which nobody saw the end is named, and the tree is not clean before it has reported.
pub fn a_retry_does_not_forget_it(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, first) = silent(&world);
    assert_eq!(world.leftovers(run).remainder().lost.len(), 1, "while it waits");
    stop(&world, run, first.activity);
    let left = world.leftovers(run);
    assert_eq!((left.phase(), left.remainder().lost.len()), (Phase::Settled, 1), "{left:#?}");
    assert_eq!(world.settle(&first, Ending::Completed(None)).step, Step::Late);
    assert_eq!(world.leftovers(run).phase(), Phase::Clean);
    assert_eq!(world.settle(&first, Ending::Completed(None)).step, Step::Stale);
}

/// The next attempt runs and ends as it should; the first one is still somewhere.
pub fn the_next_attempt_does_not_forget_it(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, first) = silent(&world);
    let second = world.claim_one();
    assert_eq!(second.live.attempt, 2);
    assert_eq!(world.leftovers(run).remainder().lost.len(), 1, "beside the next attempt");
    world.settle(&second, Ending::Completed(None));
    world.close(run, Status::Completed);
    let left = world.leftovers(run);
    assert_eq!((left.phase(), left.remainder().lost.len()), (Phase::Settled, 1), "{left:#?}");
    assert_ne!(world.settle(&first, Ending::Cancelled(None)).step, Step::Stale);
    assert_eq!(world.leftovers(run).phase(), Phase::Clean);
}

/// It reports while the next one runs: that is noted, and changes nothing else.
pub fn it_leaves_when_it_reports(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, first) = silent(&world);
    let second = world.claim_one();
    assert_eq!(world.settle(&first, Ending::Failed(Failure::new("no"))).step, Step::Noted);
    assert_eq!(world.leftovers(run).remainder().lost.len(), 0);
    assert_eq!(world.settle(&second, Ending::Completed(None)).step, Step::Ended);
}

/// A process ran the activity of a child, and is lost; the child's parent was asked to cancel. Word
/// of that has yet to come down, and until then nothing of the child is begun again.
pub fn below_a_cancelled_run_it_waits_for_word(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let (parent, below) = (world.start("parent"), birth(world.run_id(), "child", world.now()));
    let child = below.run;
    world.run_turn(parent, |turn| turn.child(below, ParentClose::Cancel));
    world.run_turn(child, |turn| turn.schedule(spec("work")));
    assert_eq!(world.claim_one().live.attempt, 1);
    let (_, posted) = world.post_receipt(parent, cancel("ops", "r1"));
    assert!(matches!(posted, Ok(Posted::Delivered(..))));
    world.reopen();
    world.sweep_all();
    assert_eq!(world.claim(9).len(), 0, "the cancel may be on its way");
    world.tick(bowline_core::limits::HELD_BACK.as_secs() as i64);
    assert_eq!(world.claim_one().live.attempt, 2, "nobody sent it on");
}

/// What failed, and waited to be tried again when it was cancelled, had run: it is listed, and not
/// counted among those that had never started. However many are cancelled at once.
pub fn what_had_run_is_not_called_unstarted(harness: &dyn Harness) {
    let world = World::new(harness);
    for (many, id) in [(1, "few"), (100, "many")] {
        let run = world.start(id);
        let mut turn = world.turn(run);
        let ids = turn.schedule_many(many, &retrying());
        world.commit(turn).expect("nobody else writes");
        let claimed = world.claim_one();
        world.settle(&claimed, Ending::Failed(Failure::new("boom")));
        world.run_turn(run, |turn| {
            turn.cancel(ids, "ops");
            turn.close(Status::Terminated);
        });
        world.sweep_all();
        let left = world.leftovers(run);
        assert_eq!(left.never_started, many as u64 - 1, "{left:#?}");
        let [line] = &left.attempts[..] else { panic!("{left:#?}") };
        assert_eq!((line.activity, line.attempt), (claimed.activity, 1));
        assert_ne!(line.rung, Some(Rung::NeverStarted));
        assert_eq!(left.phase(), Phase::Clean);
    }
}

/// A member was given up while it had an attempt, and its row had yet to be handed on. That its
/// code runs on is true whoever says it; what it reports besides changes nothing.
pub fn whoever_was_given_up_may_say_what_runs_on(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    let claimed = world.claim_one();
    world.reopen();
    assert_eq!(world.settle(&claimed, Ending::RunsOn).step, Step::Noted);
    assert_eq!(world.settle(&claimed, Ending::Completed(None)).step, Step::Stale);
    assert_eq!(world.settle(&claimed, Ending::Stopped).step, Step::Noted);
    assert_eq!(world.settle(&claimed, Ending::Stopped).step, Step::Stale);
}
