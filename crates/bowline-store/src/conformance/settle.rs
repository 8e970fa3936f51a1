//! Attempts end: once, by whoever has them.

use std::time::Duration;

use bowline_core::{
    ActivitySpec, Ending, Failure, Fence, Message, Outcome, Payload, RetryPolicy, RetryState, Rung,
    Span, Status, Step, Timeouts,
};

use super::{
    Harness,
    world::{
        World, heartbeat, proof,
        turn::{cause, spec},
    },
};
use crate::{ClaimedActivity, Proof, Renewal, Settle};

fn begun(world: &World<'_>, spec: ActivitySpec) -> ClaimedActivity {
    let run = world.start(&format!("run-{}", world.id()));
    world.run_turn(run, |turn| turn.schedule(spec));
    world.claim_one()
}

fn retrying() -> ActivitySpec {
    ActivitySpec { retry: Some(RetryPolicy::default()), ..spec("work") }
}

/// A result goes to the run's inbox with everything that history wants to know, and the row goes.
pub fn a_result_reaches_the_run(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world, spec("work"));
    let started_at = world.now();
    world.tick(1);
    let mut beat = heartbeat(&claimed);
    beat.details = Some(Payload::json("\"half\""));
    world.renew(Renewal { heartbeats: vec![beat], ..world.renewal() });
    let result = Some(Payload::json("7"));
    let settled = world.settle(&claimed, Ending::Completed(result.clone()));
    assert_eq!(settled.step, Step::Ended);
    assert_eq!(settled.message, Some(world.head(claimed.run).inbox));
    let [Message::EndActivity(end)] = &world.inbox(claimed.run)[..] else { panic!() };
    assert_eq!((end.activity, end.attempt), (claimed.activity, 1));
    assert_eq!((end.started_at, end.worker.as_str()), (Some(started_at), "suite"));
    assert_eq!((&end.outcome, end.retry), (&Outcome::Completed(result), RetryState::NonRetryable));
    assert_eq!(end.heartbeat, Some(Payload::json("\"half\"")));
    assert_eq!(world.rows(claimed.run), [], "nobody will ask for the row");
}

/// The same report, sent twice, counts once.
pub fn a_repeated_report_counts_once(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world, spec("work"));
    world.settle(&claimed, Ending::Completed(None));
    for ending in [Ending::Completed(None), Ending::Failed(Failure::new("late"))] {
        let again = world.settle(&claimed, ending);
        assert_eq!((again.step, again.message), (Step::Stale, None));
    }
    assert_eq!(world.inbox(claimed.run).len(), 1);
}

/// Who knows from elsewhere that an activity is done need not have it. Nobody gets it any more, and
/// what a worker has got is the worker's to end.
pub fn what_waits_is_completed_from_outside(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("outside");
    let committed = world.run_turn(run, |turn| turn.schedule(spec("work")));
    drop(committed);
    let [row] = &world.rows(run)[..] else { panic!("one activity waits") };
    let report = Settle {
        run,
        activity: row.activity,
        attempt: 1,
        proof: Proof::Outside("operator".into()),
        ending: Ending::Completed(Some(Payload::json("7"))),
        rung: None,
        delivered_at: None,
        observed_at: None,
        now: world.now(),
    };
    let other = world.report(Settle { attempt: 2, ..report.clone() });
    assert_eq!((other.step, other.message), (Step::Stale, None), "not the attempt that is next");
    let settled = world.report(report.clone());
    assert_eq!(settled.step, Step::Ended);
    let [Message::EndActivity(end)] = &world.inbox(run)[..] else { panic!() };
    assert_eq!((end.attempt, end.worker.as_str()), (1, "operator"));
    assert_eq!(end.started_at, Some(world.now()));
    assert_eq!(end.outcome, Outcome::Completed(Some(Payload::json("7"))));
    assert_eq!(world.claim(1).len(), 0, "nobody gets it any more");
    assert_eq!(world.report(report).step, Step::Stale, "it counts once");
    let taken = begun(&world, spec("work"));
    let late = Settle {
        proof: Proof::Outside("operator".into()),
        ..world.settling(&taken, Ending::Completed(None))
    };
    assert_eq!(world.report(late).step, Step::Stale, "a worker has it");
    assert_eq!(world.settle(&taken, Ending::Completed(None)).step, Step::Ended);
}

/// A failure is tried again after its pause, as the next attempt; the run hears nothing of it.
pub fn a_failure_is_tried_again(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world, retrying());
    let settled = world.settle(&claimed, Ending::Failed(Failure::new("boom")));
    let due = world.now().after(Duration::from_secs(1));
    assert_eq!((settled.step, settled.message), (Step::Requeued(due), None));
    assert_eq!(world.inbox(claimed.run), []);
    assert_eq!(world.claim(1).len(), 0, "its time has not come");
    world.tick(1);
    let next = world.claim_one();
    assert_eq!((next.activity, next.live.attempt), (claimed.activity, 2));
    assert_eq!(next.live.last_failure, Some(Failure::new("boom")));
    assert_ne!(proof(&next), proof(&claimed), "a new attempt has a new proof");
    assert_eq!(world.settle(&claimed, Ending::Completed(None)).step, Step::Stale);
    assert_eq!(world.settle(&next, Ending::Completed(None)).step, Step::Ended);
}

/// Retries wait behind what is due before them.
pub fn retries_wait_by_their_due_time(harness: &dyn Harness) {
    let world = World::new(harness);
    let (slow, quick) = (begun(&world, retrying()), begun(&world, retrying()));
    let after = |seconds| {
        let verdict = bowline_core::Verdict::After(Span(Duration::from_secs(seconds)));
        Ending::Failed(Failure { verdict, ..Failure::new("busy") })
    };
    world.settle(&slow, after(20));
    world.settle(&quick, after(10));
    world.tick(15);
    assert_eq!(world.claim(9).iter().map(|c| c.run).collect::<Vec<_>>(), [quick.run]);
    world.tick(15);
    assert_eq!(world.claim(9).iter().map(|c| c.run).collect::<Vec<_>>(), [slow.run]);
}

/// Nobody wakes by polling: the store tells when a retry becomes due.
pub fn the_next_retry_is_told_with_the_alarms(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world, retrying());
    world.settle(&claimed, Ending::Failed(Failure::new("boom")));
    let due = world.now().after(Duration::from_secs(1));
    assert_eq!(world.fire().next, Some(due));
    world.tick(1);
    assert_eq!(world.fire().next, None);
    assert_eq!(world.claim(1).len(), 1);
}

/// Whoever shows another proof, or another attempt, changes nothing.
pub fn a_wrong_proof_changes_nothing(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world, spec("work"));
    let Proof::Native(fence) = proof(&claimed) else { panic!("native code has a fence") };
    let wrong = [
        Settle {
            proof: Proof::Native(Fence { counter: fence.counter + 1, ..fence }),
            ..world.settling(&claimed, Ending::Completed(None))
        },
        Settle {
            proof: Proof::Remote(Default::default()),
            ..world.settling(&claimed, Ending::Completed(None))
        },
        Settle { attempt: 2, ..world.settling(&claimed, Ending::Completed(None)) },
    ];
    for report in wrong {
        let story = format!("{report:?}");
        assert_eq!(world.report(report).step, Step::Stale, "{story}");
    }
    assert_eq!(world.inbox(claimed.run), []);
    assert_eq!(world.settle(&claimed, Ending::Completed(None)).step, Step::Ended);
}

/// A native attempt is over when its member is, even before anybody has swept it up.
pub fn a_dead_members_report_changes_nothing(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let claimed = begun(&world, retrying());
    world.reopen();
    for swept in [false, true] {
        if swept {
            world.sweep_all();
        }
        let settled = world.settle(&claimed, Ending::Completed(None));
        assert_eq!((settled.step, settled.message), (Step::Stale, None), "swept: {swept}");
    }
    assert_eq!(world.inbox(claimed.run), [], "the attempt is tried again");
    world.tick(5);
    assert_eq!(world.claim_one().live.attempt, 2);
}

/// A remote worker's token outlives every member, and counts once.
pub fn a_remote_report_outlives_the_member(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(retrying()));
    let claimed = world.claim_remote();
    world.reopen();
    world.sweep_all();
    assert_eq!(world.claim(9).len(), 0, "it is out, and stays out");
    assert_eq!(world.settle(&claimed, Ending::Completed(None)).step, Step::Ended);
    assert_eq!(world.settle(&claimed, Ending::Completed(None)).step, Step::Stale);
    assert_eq!(world.inbox(run).len(), 1);
}

/// A worker that shuts down hands its attempt back: it costs no try.
pub fn a_returned_attempt_costs_no_try(harness: &dyn Harness) {
    let world = World::new(harness);
    let policy = RetryPolicy { attempts_max: 1, ..RetryPolicy::default() };
    let once = ActivitySpec { retry: Some(policy), ..spec("work") };
    let mut claimed = begun(&world, once);
    for number in 2..5 {
        let settled = world.settle(&claimed, Ending::Returned);
        assert_eq!((settled.step, settled.message), (Step::Requeued(world.now()), None));
        claimed = world.claim_one();
        assert_eq!(claimed.live.attempt, number, "no attempt number is used twice");
    }
    let settled = world.settle(&claimed, Ending::Failed(Failure::new("boom")));
    assert_eq!(settled.step, Step::Ended, "the one try is used up");
}

/// A cancelled attempt ends as cancelled, and its row keeps the story for receipts.
pub fn the_story_of_a_cancelled_attempt_is_kept(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world, retrying());
    let decided = world.tick(1);
    world.run_turn(claimed.run, |turn| turn.cancel(claimed.activity, "code"));
    let delivered = world.tick(1);
    let observed = world.tick(1);
    let stopped = world.tick(1);
    let report = Settle {
        rung: Some(Rung::Abort),
        delivered_at: Some(delivered),
        observed_at: Some(observed),
        ..world.settling(&claimed, Ending::Cancelled(None))
    };
    assert_eq!(world.report(report).step, Step::Ended);
    let [Message::EndActivity(end)] = &world.inbox(claimed.run)[..] else { panic!() };
    assert_eq!(end.outcome, Outcome::Cancelled(cause("code"), Rung::Abort, None));
    let left = world.leftovers(claimed.run);
    let [line] = &left.attempts[..] else { panic!("{left:?}") };
    assert_eq!((line.running, &line.cause), (false, &Some(cause("code"))));
    assert_eq!((line.decided_at, line.delivered_at), (Some(decided), Some(delivered)));
    assert_eq!((line.observed_at, line.stopped_at), (Some(observed), Some(stopped)));
    assert_eq!((line.rung, line.leaked, line.lost), (Some(Rung::Abort), false, false));
}

/// A worker had it, and was told to stop before it began: it is listed with its rung, and is not
/// counted among what no worker ever had.
pub fn an_attempt_that_never_began_is_listed(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world, retrying());
    world.run_turn(claimed.run, |turn| turn.cancel(claimed.activity, "code"));
    let report = Settle {
        rung: Some(Rung::NeverStarted),
        delivered_at: Some(world.tick(1)),
        ..world.settling(&claimed, Ending::Cancelled(None))
    };
    assert_eq!(world.report(report).step, Step::Ended);
    let left = world.leftovers(claimed.run);
    let [line] = &left.attempts[..] else { panic!("{left:?}") };
    assert_eq!((line.running, line.rung), (false, Some(Rung::NeverStarted)));
    assert_eq!(left.never_started, 0);
}

/// A fenced attempt can leave what it had to say beside the outcome, once, and nothing else.
pub fn a_late_result_is_kept_beside_the_outcome(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world, retrying());
    world.run_turn(claimed.run, |turn| turn.cancel(claimed.activity, "code"));
    let abandoned = world.settle(&claimed, Ending::Abandoned);
    assert_eq!(abandoned.step, Step::Ended);
    assert!(world.leftovers(claimed.run).attempts[0].leaked);
    let late = world.settle(&claimed, Ending::Completed(Some(Payload::json("1"))));
    assert_eq!((late.step, late.message), (Step::Late, None));
    assert_eq!(world.settle(&claimed, Ending::Completed(None)).step, Step::Stale);
    assert_eq!(world.inbox(claimed.run).len(), 1, "the run has the first outcome");
    let line = world.leftovers(claimed.run).attempts.remove(0);
    assert_eq!((line.late, line.leaked), (true, true));
}

/// The run closed while the attempt ran: it ends on its row, and nobody is told.
pub fn an_attempt_of_a_closed_run_ends_quietly(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world, retrying());
    world.run_turn(claimed.run, |turn| {
        turn.cancel(claimed.activity, "close");
        turn.close(Status::Completed);
    });
    assert!(!world.leftovers(claimed.run).settled());
    let settled = world.settle(&claimed, Ending::Cancelled(None));
    assert_eq!((settled.step, settled.message), (Step::Ended, None));
    assert_eq!(world.inbox(claimed.run), []);
    assert!(world.leftovers(claimed.run).clean());
}

/// An ended row is kept where its end was a limit, because the code may still have a word to say.
pub fn a_timed_out_attempt_may_still_report(harness: &dyn Harness) {
    let world = World::new(harness);
    let timeouts =
        Timeouts { start_to_close: Some(Span(Duration::from_secs(5))), ..Timeouts::default() };
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(ActivitySpec { timeouts, ..spec("work") }));
    let claimed = world.claim_remote();
    world.tick(5);
    assert_eq!(world.fire().runs, [run]);
    assert_eq!(world.settle(&claimed, Ending::Completed(None)).step, Step::Late);
    assert_eq!(world.inbox(run).len(), 1, "the first outcome stands");
}

/// Each report of a batch has its own answer.
pub fn a_stale_report_leaves_the_others_alone(harness: &dyn Harness) {
    let world = World::new(harness);
    let (first, second) = (begun(&world, spec("work")), begun(&world, spec("work")));
    let stale = Settle { attempt: 9, ..world.settling(&first, Ending::Completed(None)) };
    let batch = vec![
        stale,
        world.settling(&second, Ending::Completed(None)),
        world.settling(&first, Ending::Completed(None)),
    ];
    let answers = super::world::wait::block_on(world.store().settle(batch));
    let steps: Vec<Step> = answers.into_iter().map(|answer| answer.expect("taken").step).collect();
    assert_eq!(steps, [Step::Stale, Step::Ended, Step::Ended]);
}
