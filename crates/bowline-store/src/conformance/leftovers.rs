//! What is left of a subtree: the query behind receipts, `clean` and orphans.

use bowline_core::{
    ActivitySpec, Address, Ending, EventId, ParentClose, Ranges, ReceiptId, RetryPolicy, RunId,
    Status, Step, Timeout, Version,
};

use super::{
    Harness,
    world::{
        NAMESPACE, World, refused,
        turn::{birth, cancel, cause, spec, terminate},
        wait::block_on,
    },
};
use crate::{Error, Leftovers, Phase, Posted, RunCancel, Subtree};

fn child(world: &World<'_>, parent: RunId, id: &str, close: ParentClose) -> (RunId, EventId) {
    let birth = birth(world.run_id(), id, world.now());
    let run = birth.run;
    let mut turn = world.turn(parent);
    let initiated = turn.child(birth, close);
    world.commit(turn).expect("nobody else writes");
    (run, initiated)
}

fn lines(left: &Leftovers) -> Vec<RunId> {
    left.runs.iter().map(|line| line.run).collect()
}

/// A run that was asked for by nobody but itself is all its subtree.
pub fn a_run_alone_is_its_own_subtree(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, _) = (world.start("a"), world.start("b"));
    world.run_turn(run, |turn| turn.schedule_many(3, &spec("work")));
    let claimed = world.claim_one();
    let left = world.leftovers(run);
    assert_eq!(lines(&left), [run]);
    assert_eq!((left.queued, left.attempts.len(), left.unread), (2, 1, 0));
    let line = &left.attempts[0];
    assert_eq!((line.activity, line.attempt, line.running), (claimed.activity, 1, true));
    assert_eq!((line.name.as_str(), &line.cause), ("work", &None));
    assert_eq!((left.receipt, left.truncated), (None, false));
    let nobody = RunId { namespace: NAMESPACE, uuid: 404 };
    refused!(block_on(world.store().leftovers(Subtree::Run(nobody))), Error::Missing(_));
    let unknown = Subtree::Receipt(ReceiptId(404));
    refused!(block_on(world.store().leftovers(unknown)), Error::Missing(_));
}

/// Children, their children, and whatever a run of the tree continued as.
pub fn a_subtree_follows_children_and_chains(harness: &dyn Harness) {
    let world = World::new(harness);
    let top = world.start("top");
    let (left, _) = child(&world, top, "left", ParentClose::Cancel);
    let (right, _) = child(&world, top, "right", ParentClose::Terminate);
    let (leaf, initiated) = child(&world, left, "leaf", ParentClose::Abandon);
    let next = birth(world.run_id(), "right", world.now());
    let right_next = next.run;
    world.run_turn(right, |turn| turn.continue_as(next));
    let (late, _) = child(&world, right_next, "late", ParentClose::Cancel);
    let again = birth(world.run_id(), "top", world.now());
    let top_next = again.run;
    world.run_turn(top, |turn| turn.continue_as(again));
    let (new, _) = child(&world, top_next, "new", ParentClose::Cancel);
    let found = world.leftovers(top);
    let mut all = lines(&found);
    let place = |run: RunId| lines(&found).iter().position(|line| *line == run);
    for (above, below) in [(top, left), (left, leaf), (right_next, late), (top_next, new)] {
        assert!(place(above) < place(below), "{found:?}");
    }
    all.sort_unstable();
    let mut expected = vec![top, left, right, leaf, right_next, late, top_next, new];
    expected.sort_unstable();
    assert_eq!(all, expected);
    let line = found.runs.iter().find(|line| line.run == leaf).expect("it is there");
    assert_eq!(line.parent, Some((left, initiated, ParentClose::Abandon)));
    assert_eq!((line.workflow_id.as_str(), line.status), ("leaf", Status::Running));
    assert_eq!(lines(&world.leftovers(left)), [left, leaf], "a subtree may begin anywhere");
}

/// The whole course of a cancel, as its receipt tells it.
pub fn a_receipt_tells_how_far_a_cancel_has_come(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule_many(2, &spec("work")));
    let claimed = world.claim_one();
    let requested_at = world.tick(1);
    let (receipt, posted) = world.post_receipt(run, cancel("ops", "r1"));
    assert!(matches!(posted, Ok(Posted::Delivered(..))));
    let left = || block_on(world.store().leftovers(Subtree::Receipt(receipt))).expect("kept");
    let row = left().receipt.expect("asked for by its receipt");
    assert_eq!((row.run, row.cause, row.requested_at), (run, cause("receipt"), requested_at));
    assert_eq!(left().phase(), Phase::Requested);

    let decided_at = Some(world.tick(1));
    let queued = EventId(claimed.activity.0 + 1);
    let both: Ranges = [claimed.activity, queued].into_iter().collect();
    world.run_turn(run, |turn| {
        turn.commit.status = Status::Cancelling;
        let cause = cause("ops");
        turn.commit.cancel = Some(RunCancel { cause, requested_at, decided_at, number: None });
        turn.cancel(both, "ops");
    });
    assert_eq!(left().phase(), Phase::Decided);
    assert_eq!((left().never_started, left().queued), (1, 0));

    let delivered_at = world.tick(1);
    let attempt = super::world::attempt(&claimed);
    let told = crate::Sighting { attempt, delivered_at, observed_at: None };
    world.renew(crate::Renewal { sightings: vec![told], ..world.renewal() });
    assert_eq!(left().phase(), Phase::Delivered);
    let seen = crate::Sighting { observed_at: Some(world.tick(1)), ..told };
    world.renew(crate::Renewal { sightings: vec![seen], ..world.renewal() });
    assert_eq!(left().phase(), Phase::Observed);
    world.settle(&claimed, Ending::Cancelled(None));
    assert_eq!(left().phase(), Phase::Observed, "the run itself is still there");
    world.close(run, Status::Cancelled);
    assert_eq!(left().phase(), Phase::Clean);
    assert_eq!(left().runs[0].cancel.as_ref().and_then(|cancel| cancel.decided_at), decided_at);
}

/// Code that was given up still runs, as far as anybody knows: settled, and clean only when it has
/// ended after all.
pub fn what_leaked_is_never_clean(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    let claimed = world.claim_one();
    world.run_turn(run, |turn| {
        turn.cancel(claimed.activity, "ops");
        turn.close(Status::Terminated);
    });
    world.settle(&claimed, Ending::Abandoned);
    let left = world.leftovers(run);
    assert_eq!(left.phase(), Phase::Settled);
    assert_eq!(left.remainder().leaked.len(), 1);
    assert_eq!(world.settle(&claimed, Ending::Stopped).step, Step::Noted);
    assert_eq!(world.leftovers(run).phase(), Phase::Clean);
    assert_eq!(world.settle(&claimed, Ending::Stopped).step, Step::Stale);
}

/// A limit passed, and the code ran on: the activity has its outcome, or its next attempt, and yet
/// it is known that something runs.
pub fn what_runs_on_after_its_limit_is_named(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(retrying()));
    let first = world.claim_one();
    assert_eq!(world.settle(&first, Ending::RunsOn).step, Step::Noted);
    assert!(matches!(world.settle(&first, limit()).step, Step::Requeued(_)));
    world.tick(3_600);
    let second = world.claim_one();
    assert_eq!(world.leftovers(run).remainder().leaked.len(), 1, "beside the next attempt");
    assert_eq!(world.settle(&first, Ending::Stopped).step, Step::Noted);
    assert_eq!(world.leftovers(run).remainder().leaked.len(), 0);
    assert_eq!(world.settle(&second, Ending::RunsOn).step, Step::Noted);
    assert!(matches!(world.settle(&second, limit()).step, Step::Requeued(_)));
    world.run_turn(run, |turn| {
        turn.cancel(first.activity, "ops");
        turn.close(Status::Terminated);
    });
    let left = world.leftovers(run);
    assert_eq!((left.phase(), left.never_started), (Phase::Settled, 0), "{left:?}");
    assert_eq!(world.settle(&second, Ending::Stopped).step, Step::Noted);
    assert_eq!(world.leftovers(run).phase(), Phase::Clean);
}

fn limit() -> Ending {
    Ending::TimedOut(Timeout::StartToClose)
}

fn retrying() -> ActivitySpec {
    ActivitySpec { retry: Some(RetryPolicy::default()), ..spec("work") }
}

/// A child that its parent let go of is named, and nothing of it keeps the parent's tree open.
pub fn what_was_left_is_named(harness: &dyn Harness) {
    let world = World::new(harness);
    let parent = world.start("parent");
    let (by_policy, _) = child(&world, parent, "policy", ParentClose::Abandon);
    let (detached, initiated) = child(&world, parent, "detached", ParentClose::Cancel);
    for run in [by_policy, detached] {
        world.run_turn(run, |turn| turn.schedule(spec("work")));
    }
    let (below, _) = child(&world, by_policy, "below", ParentClose::Cancel);
    let mut turn = world.turn(parent);
    turn.close_leaving(Status::Completed, Ranges::from(initiated));
    world.commit(turn).expect("nobody else writes");
    let left = world.leftovers(parent);
    assert_eq!((left.phase(), left.queued), (Phase::Settled, 0), "{left:?}");
    let mut named: Vec<RunId> = left.remainder().left.iter().map(|line| line.run).collect();
    named.sort_unstable();
    assert_eq!(named, [by_policy, detached]);
    assert!(!lines(&left).contains(&below), "nothing below it is looked at");
    assert_eq!(world.leftovers(by_policy).queued, 1, "unless it is asked for");
    world.close(below, Status::Completed);
    world.run_turn(detached, |turn| turn.close(Status::Completed));
    let claimed = world.claim(9);
    assert_eq!(claimed.len(), 2, "what was left goes on");
}

/// Nothing is an orphan as long as every close tells its own.
pub fn orphans_are_what_nobody_told(harness: &dyn Harness) {
    let world = World::new(harness);
    assert!(world.orphans().is_empty());
    let parent = world.start("parent");
    let (told, _) = child(&world, parent, "told", ParentClose::Cancel);
    let (killed, _) = child(&world, parent, "killed", ParentClose::Terminate);
    let (forgotten, _) = child(&world, parent, "forgotten", ParentClose::Cancel);
    let (left, _) = child(&world, parent, "left", ParentClose::Abandon);
    let (detached, initiated) = child(&world, parent, "detached", ParentClose::Cancel);
    let mut turn = world.turn(parent);
    let (kept, lost) = (turn.schedule(spec("work")), turn.schedule(spec("work")));
    let (marked, queued) = (turn.schedule(spec("work")), turn.schedule(spec("work")));
    world.commit(turn).expect("nobody else writes");
    assert_eq!(world.claim(2).len(), 2);
    assert!(world.orphans().is_empty(), "nothing is closed yet");
    let mut turn = world.turn(parent);
    turn.send(Address::Run(told), cancel("parent", ""));
    turn.send(Address::Run(killed), terminate("parent"));
    turn.cancel(marked, "parent");
    turn.close_leaving(Status::Completed, [kept, initiated].into_iter().collect());
    world.commit(turn).expect("nobody else writes");
    let orphans = world.orphans();
    assert_eq!(lines(&orphans), [forgotten], "{orphans:?}");
    let attempts: Vec<EventId> = orphans.attempts.iter().map(|line| line.activity).collect();
    assert_eq!((attempts, orphans.queued), (vec![lost], 1));
    assert!(left != detached && queued != marked);
    world.post(forgotten, cancel("ops", "")).expect("it is open");
    assert_eq!(lines(&world.orphans()), []);
}

/// A great many children are told in part, and what is told comes first where it matters.
pub fn a_large_subtree_is_told_in_part(harness: &dyn Harness) {
    const MANY: usize = 1_200;
    let world = World::new(harness);
    let top = world.start("top");
    let mut turn = world.turn(top);
    let children: Vec<RunId> = (0..MANY)
        .map(|at| {
            let birth = birth(world.run_id(), &format!("child-{at}"), world.now());
            let run = birth.run;
            turn.child(birth, ParentClose::Cancel);
            run
        })
        .collect();
    world.commit(turn).expect("nobody else writes");
    let last = *children.last().expect("there are many");
    let closing = |run: &RunId| {
        let mut turn = world.turn(*run);
        turn.close(Status::Completed);
        turn
    };
    let answers = world.commits(children.iter().filter(|run| **run != last).map(closing).collect());
    assert!(answers.iter().all(Result::is_ok));
    world.close(top, Status::Completed);
    let left = world.leftovers(top);
    assert!(left.truncated && left.runs.len() <= 1_000, "{} lines", left.runs.len());
    assert_eq!(left.runs[0].run, top, "the target comes first");
    assert!(lines(&left).contains(&last), "what is open is not left out");
    assert!(!left.settled());
    world.close(last, Status::Completed);
    assert!(world.leftovers(top).clean(), "what was left out is all over");
    assert!(world.head(top).version > Version(0));
}

/// Once, a receipt looked at its run and at what came after: it said `clean` while code of an
/// earlier run of the same chain was still running.
pub fn a_receipt_covers_the_whole_chain(harness: &dyn Harness) {
    let world = World::new(harness);
    let first = world.start("a");
    let (asked, _) = child(&world, first, "asked", ParentClose::Cancel);
    let (deep, _) = child(&world, asked, "deep", ParentClose::Cancel);
    let (left_open, _) = child(&world, first, "left", ParentClose::Abandon);
    world.run_turn(first, |turn| turn.schedule(spec("work")));
    let running = world.claim_one();
    let mut runs = vec![first];
    for _ in 0..3 {
        let next = birth(world.run_id(), "a", world.now());
        runs.push(next.run);
        world.run_turn(runs[runs.len() - 2], |turn| {
            turn.continue_as(next);
            if turn.commit.run == first {
                turn.send(Address::Run(asked), cancel("parent", ""));
            }
        });
    }
    let last = runs[3];
    let head = world.head(last);
    assert_eq!((head.first_run, head.link, head.tree), (first, 4, first));
    world.run_turn(asked, |turn| {
        turn.send(Address::Run(deep), cancel("parent", ""));
        turn.close(Status::Cancelled);
    });
    let (receipt, posted) = world.post_receipt(last, cancel("ops", "r1"));
    posted.expect("delivered");
    world.close(last, Status::Cancelled);
    let left = || block_on(world.store().leftovers(Subtree::Receipt(receipt))).expect("kept");
    assert!(left().phase() < Phase::Stopped, "an attempt and a grandchild: {:?}", left());
    assert_eq!(left().attempts.len(), 1);
    assert_eq!(left().runs[0].run, last, "the target comes first");
    assert!(lines(&left()).contains(&deep) && lines(&left()).contains(&left_open));
    world.close(deep, Status::Cancelled);
    assert!(left().phase() < Phase::Stopped, "an attempt: {:?}", left());
    world.settle(&running, Ending::Completed(None));
    assert_eq!(left().phase(), Phase::Settled);
    assert_eq!(left().remainder().left.len(), 1, "what was left alone is named");
    world.close(left_open, Status::Completed);
    assert_eq!(left().phase(), Phase::Clean);
    let child = world.leftovers(deep);
    assert_eq!(lines(&child), [deep], "other runs of the tree are no part of it");
}

/// A tree that is larger than a walk is proven by what is not over: far below, in no walk's reach.
pub fn a_large_subtree_is_proven(harness: &dyn Harness) {
    const MANY: usize = 1_200;
    let world = World::new(harness);
    let top = world.start("top");
    let mut turn = world.turn(top);
    let children: Vec<RunId> = (0..MANY)
        .map(|at| {
            let birth = birth(world.run_id(), &format!("child-{at}"), world.now());
            let run = birth.run;
            turn.child(birth, ParentClose::Cancel);
            run
        })
        .collect();
    world.commit(turn).expect("nobody else writes");
    let last = *children.last().expect("there are many");
    let (deep, _) = child(&world, last, "deep", ParentClose::Cancel);
    let (leaf, _) = child(&world, deep, "leaf", ParentClose::Abandon);
    let (under, _) = child(&world, leaf, "under", ParentClose::Cancel);
    world.run_turn(deep, |turn| turn.schedule(spec("work")));
    let running = world.claim_one();
    let closing = |run: &RunId| {
        let mut turn = world.turn(*run);
        turn.close(Status::Completed);
        turn
    };
    let answers = world.commits(children.iter().map(closing).collect());
    assert!(answers.iter().all(Result::is_ok));
    world.close(top, Status::Completed);
    let left = || world.leftovers(top);
    assert!(lines(&left()).contains(&deep) && left().phase() < Phase::Stopped, "it is open");
    world.run_turn(deep, |turn| {
        turn.cancel(running.activity, "ops");
        turn.close(Status::Terminated);
    });
    assert!(left().phase() < Phase::Stopped, "an attempt runs");
    world.settle(&running, Ending::Abandoned);
    assert_eq!(left().phase(), Phase::Settled, "its code runs on");
    assert_eq!(left().remainder().leaked.len(), 1);
    let alone: Vec<RunId> = left().remainder().left.iter().map(|line| line.run).collect();
    assert_eq!(alone, [leaf], "nothing below it is looked at");
    assert_eq!(world.settle(&running, Ending::Stopped).step, Step::Noted);
    assert!(left().remainder().leaked.is_empty());
    world.close(under, Status::Completed);
    world.close(leaf, Status::Completed);
    assert!(left().truncated && !left().unknown);
    assert_eq!(left().phase(), Phase::Clean);
}
