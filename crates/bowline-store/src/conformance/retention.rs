//! Rows go when nobody keeps them: not before, and completely.

use std::time::Duration;

use bowline_core::{Address, Ending, ParentClose, RunId, Status, Timeout};

use super::{
    Harness,
    world::{
        NAMESPACE, World, refused,
        turn::{birth, cancel, signal, spec},
        wait::block_on,
    },
};
use crate::{Error, Posted, RunKey, Subtree};

const HOUR: Duration = Duration::from_secs(3_600);

/// Without a retention period, and without anybody's wish, closed runs are kept.
pub fn closed_runs_are_kept(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.close(run, Status::Completed);
    world.tick(1_000_000);
    world.sweep_all();
    assert!(world.exists(run));
}

/// A run is kept for its time after it closed, and open ones for ever.
pub fn expired_runs_go(harness: &dyn Harness) {
    let world = World::new(harness);
    let (old, young, open) = (world.start("old"), world.start("young"), world.start("open"));
    world.close(old, Status::Completed);
    world.tick(1_800);
    world.close(young, Status::Completed);
    world.tick(1_800);
    world.sweep_for(HOUR);
    assert!(!world.exists(old));
    assert!(world.exists(young) && world.exists(open));
    assert_eq!(world.current("old"), None, "its workflow id is free");
    world.tick(3_600);
    world.sweep_for(HOUR);
    assert!(!world.exists(young) && world.exists(open));
    refused!(block_on(world.store().leftovers(Subtree::Run(old))), Error::Missing(_));
}

/// A deleted run goes at once, with everything that belongs to it.
pub fn a_deleted_run_goes_completely(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| {
        turn.schedule(spec("work"));
        turn.timer(world.now());
    });
    let claimed = world.claim_one();
    world.settle(&claimed, Ending::Completed(None));
    world.close(run, Status::Completed);
    assert_eq!(world.delete(run).expect("it is closed"), Posted::Deleted);
    world.reopen();
    world.sweep_all();
    assert!(!world.exists(run));
    assert_eq!(world.current("a"), None);
    assert_eq!((world.fire().rang, world.claim(9).len()), (0, 0));
    let again = world.start("a");
    assert_eq!(world.events(again).len(), 1, "nothing of it comes back");
}

/// A run may close with the order to be forgotten.
pub fn a_close_may_be_a_deletion(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| {
        turn.close(Status::Terminated);
        turn.commit.close.as_mut().expect("it closes").delete = true;
    });
    assert!(world.head(run).deleted);
    world.sweep_all();
    assert!(!world.exists(run));
}

/// As long as anything of the subtree is not settled, nothing goes: it could not be stopped then.
pub fn nothing_goes_before_its_subtree_is_settled(harness: &dyn Harness) {
    let world = World::new(harness);
    let parent = world.start("parent");
    let birth = birth(world.run_id(), "child", world.now());
    let child = birth.run;
    world.run_turn(parent, |turn| turn.child(birth, ParentClose::Cancel));
    world.run_turn(child, |turn| turn.schedule(spec("work")));
    let claimed = world.claim_one();
    world.close(parent, Status::Completed);
    world.delete(parent).expect("it is closed");
    let there = || {
        world.sweep_all();
        world.exists(parent)
    };
    assert!(there(), "the child is open");
    world.run_turn(child, |turn| {
        turn.cancel(claimed.activity, "parent");
        turn.close(Status::Cancelled);
    });
    assert!(there(), "an attempt runs");
    world.settle(&claimed, Ending::Cancelled(None));
    assert!(!there(), "now it is all over");
    assert!(world.exists(child), "the child was not deleted");
}

/// A receipt is kept for its time, and with it the runs that it tells about.
pub fn a_receipt_keeps_its_runs(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let (receipt, posted) = world.post_receipt(run, cancel("ops", "r1"));
    posted.expect("delivered");
    world.close(run, Status::Cancelled);
    world.delete(run).expect("it is closed");
    let expires = world.now().after(Duration::from_secs(3_600));
    assert_eq!(world.sweep(10).next, Some(expires), "a sweep says when to come again");
    world.tick(3_599);
    world.sweep_all();
    let left = block_on(world.store().leftovers(Subtree::Receipt(receipt))).expect("it is kept");
    assert!(left.clean() && left.runs.len() == 1, "{left:?}");
    world.tick(1);
    world.sweep_all();
    refused!(block_on(world.store().leftovers(Subtree::Receipt(receipt))), Error::Missing(_));
    assert!(!world.exists(run));
    assert_eq!(world.sweep(10).next, None);
}

/// Many expired runs go a few at a time.
pub fn expiry_is_bounded(harness: &dyn Harness) {
    let world = World::new(harness);
    let runs: Vec<RunId> = (0..10).map(|at| world.start(&format!("run-{at}"))).collect();
    runs.iter().for_each(|run| drop(world.close(*run, Status::Completed)));
    runs.iter().for_each(|run| drop(world.delete(*run)));
    let mut sweeps = 0;
    loop {
        let swept = world.sweep(4);
        assert!(swept.rows <= 4, "{swept:?}");
        sweeps += 1;
        if !swept.more {
            break;
        }
    }
    assert!(sweeps >= 3, "ten runs have more than eight rows");
    assert!(runs.iter().all(|run| !world.exists(*run)));
}

/// The newest run of a workflow id is the current one, whatever became of those before.
pub fn the_current_run_outlives_older_ones(harness: &dyn Harness) {
    let world = World::new(harness);
    let first = world.start("a");
    world.close(first, Status::Completed);
    let second = world.start("a");
    world.delete(first).expect("it is closed");
    world.sweep_all();
    assert!(!world.exists(first));
    assert_eq!(world.current("a"), Some(second));
    let read = world.read(crate::Read::head(RunKey::Run(second)));
    assert!(read.head.status.is_open());
}

/// Closed runs of one namespace go while those of another are kept, for longer or for ever.
pub fn each_namespace_keeps_its_runs_for_its_own_time(harness: &dyn Harness) {
    let world = World::new(harness);
    let begin = |namespace: u32| {
        let mut birth = birth(world.run_id(), "a", world.now());
        birth.run.namespace.0 = namespace;
        let run = world.begin_run(birth);
        world.close(run, Status::Completed);
        run
    };
    let [short, long, ever] = [NAMESPACE.0, 8, 9].map(begin);
    world.tick(3_600);
    let kept = [(NAMESPACE, HOUR), (long.namespace, 2 * HOUR)];
    world.sweep_by(&kept);
    assert!(!world.exists(short) && world.exists(long) && world.exists(ever));
    world.tick(3_600);
    world.sweep_by(&kept);
    assert!(!world.exists(long) && world.exists(ever));
}

/// Closed runs of a chain go while it lives, and it is found by its first run all the same. Once,
/// nothing of a living chain ever went.
pub fn closed_links_go_while_the_chain_lives(harness: &dyn Harness) {
    let world = World::new(harness);
    let mut runs = vec![world.start("a")];
    world.run_turn(runs[0], |turn| turn.schedule(spec("work")));
    let running = world.claim_one();
    for _ in 0..4 {
        let next = birth(world.run_id(), "a", world.now());
        runs.push(next.run);
        world.run_turn(runs[runs.len() - 2], |turn| turn.continue_as(next));
    }
    let (first, last) = (runs[0], runs[4]);
    world.tick(3_600);
    world.sweep_for(HOUR);
    let there = || runs.iter().map(|run| world.exists(*run)).collect::<Vec<_>>();
    assert_eq!(there(), [true, false, false, false, true], "code of the first one runs");
    world.settle(&running, Ending::Completed(None));
    world.sweep_for(HOUR);
    assert_eq!(there(), [false, false, false, false, true]);
    let posted = world.post_to(Address::Chain(first), signal("s", "")).expect("it is open");
    assert!(matches!(posted, Posted::Delivered(run, _) if run == last), "{posted:?}");
    let read = world.read(crate::Read::head(RunKey::Chain(first)));
    assert_eq!((read.head.run, read.head.link), (last, 5));
    let nobody = RunId { namespace: NAMESPACE, uuid: 404 };
    refused!(world.post_to(Address::Chain(nobody), signal("s", "")), Error::Missing(_));
    world.close(last, Status::Completed);
    world.tick(3_600);
    world.sweep_for(HOUR);
    assert!(!world.exists(last));
    refused!(world.post_to(Address::Chain(first), signal("s", "")), Error::Missing(_));
}

/// What is below a closed run of a chain keeps it, and so does a receipt of the chain.
pub fn a_link_goes_when_what_is_below_it_is_settled(harness: &dyn Harness) {
    let world = World::new(harness);
    let first = world.start("a");
    let birth_of = |id: &str| birth(world.run_id(), id, world.now());
    let child = birth_of("child");
    let below = child.run;
    world.run_turn(first, |turn| turn.child(child, ParentClose::Cancel));
    let next = birth_of("a");
    let second = next.run;
    world.run_turn(first, |turn| turn.continue_as(next));
    world.tick(3_600);
    world.sweep_for(HOUR);
    assert!(world.exists(first), "its child is open");
    world.close(below, Status::Completed);
    let (_, posted) = world.post_receipt(second, cancel("ops", "r1"));
    posted.expect("delivered");
    world.sweep_for(HOUR);
    assert!(world.exists(first), "a receipt of its chain is kept");
    world.tick(3_600);
    world.sweep_for(HOUR);
    assert!(!world.exists(first) && world.exists(second));
}

/// A child had let its own child go, and expired; so its row went, and with it the way from the run
/// above to the one that lives. A receipt of that run said clean. Now who is above goes first.
pub fn what_was_left_keeps_the_way_to_it(harness: &dyn Harness) {
    let world = World::new(harness);
    let top = world.start("top");
    let birth_of = |id: &str| birth(world.run_id(), id, world.now());
    let (middle, bottom) = (birth_of("middle"), birth_of("bottom"));
    let (below, alone) = (middle.run, bottom.run);
    world.run_turn(top, |turn| turn.child(middle, ParentClose::Abandon));
    world.run_turn(below, |turn| turn.child(bottom, ParentClose::Abandon));
    world.close(below, Status::Completed);
    world.tick(1_800);
    world.close(top, Status::Completed);
    world.tick(1_800);
    world.sweep_for(HOUR);
    let left = world.leftovers(top).remainder().left;
    assert_eq!(left.iter().map(|line| line.run).collect::<Vec<_>>(), [alone]);
    world.tick(3_600);
    world.sweep_for(HOUR);
    world.sweep_for(HOUR);
    assert!(!world.exists(top) && !world.exists(below), "nobody can ask any more");
    assert!(world.exists(alone), "it is open");
}

/// The same for a run whose chain goes on.
pub fn what_a_link_left_keeps_the_way_to_it(harness: &dyn Harness) {
    let world = World::new(harness);
    let first = world.start("a");
    let birth_of = |id: &str| birth(world.run_id(), id, world.now());
    let (child, next) = (birth_of("child"), birth_of("a"));
    let (alone, second) = (child.run, next.run);
    world.run_turn(first, |turn| turn.child(child, ParentClose::Abandon));
    world.run_turn(first, |turn| turn.continue_as(next));
    world.tick(3_600);
    world.sweep_for(HOUR);
    assert_eq!(world.leftovers(second).remainder().left.len(), 1, "the chain goes on");
    world.close(second, Status::Completed);
    world.tick(1_800);
    world.sweep_for(HOUR);
    assert_eq!(world.leftovers(second).remainder().left.len(), 1, "it may be asked about");
    world.tick(1_800);
    world.sweep_for(HOUR);
    assert!(!world.exists(first) && !world.exists(second) && world.exists(alone));
}

/// The newest run of a chain may be kept although it has expired: something below it has still to
/// stop. It can be asked about, so what an earlier run has let go of is named by its receipt. That
/// run was forgotten, since the chain had expired, and with it the way to what lives below it.
pub fn what_a_link_left_is_named_while_the_newest_is_there(harness: &dyn Harness) {
    let world = World::new(harness);
    let first = world.start("a");
    let birth_of = |id: &str| birth(world.run_id(), id, world.now());
    let (child, next, busy) = (birth_of("child"), birth_of("a"), birth_of("busy"));
    let (alone, second, below) = (child.run, next.run, busy.run);
    world.run_turn(first, |turn| turn.child(child, ParentClose::Abandon));
    world.run_turn(first, |turn| turn.continue_as(next));
    world.run_turn(second, |turn| turn.child(busy, ParentClose::Cancel));
    world.close(second, Status::Completed);
    world.tick(7_200);
    world.sweep_for(HOUR);
    assert!(world.exists(second), "it has a child that has still to stop");
    let left = world.leftovers(second).remainder().left;
    assert_eq!(left.iter().map(|line| line.run).collect::<Vec<_>>(), [alone]);
    world.close(below, Status::Cancelled);
    world.sweep_for(HOUR);
    assert!(!world.exists(first) && !world.exists(second) && world.exists(alone));
}

/// An early run of a chain may be kept although the newest one has gone: something below it has
/// still to stop. It can be asked about, so what another early run has let go of is named too. Only
/// the newest run was looked for, and an earlier one was forgotten as soon as that had expired.
pub fn what_a_link_left_is_named_while_any_other_is_there(harness: &dyn Harness) {
    let world = World::new(harness);
    let first = world.start("a");
    let birth_of = |id: &str| birth(world.run_id(), id, world.now());
    let (child, busy) = (birth_of("child"), birth_of("busy"));
    let (second, third) = (birth_of("a"), birth_of("a"));
    let (alone, below, middle, newest) = (child.run, busy.run, second.run, third.run);
    world.run_turn(first, |turn| turn.child(child, ParentClose::Abandon));
    world.run_turn(first, |turn| turn.continue_as(second));
    world.run_turn(middle, |turn| turn.child(busy, ParentClose::Cancel));
    world.run_turn(middle, |turn| turn.continue_as(third));
    world.close(newest, Status::Completed);
    world.tick(7_200);
    world.sweep_for(HOUR);
    assert!(world.exists(middle) && !world.exists(newest), "only one has still to wait");
    let left = world.leftovers(middle).remainder().left;
    assert_eq!(left.iter().map(|line| line.run).collect::<Vec<_>>(), [alone]);
    world.close(below, Status::Cancelled);
    world.sweep_for(HOUR);
    assert!(!world.exists(first) && !world.exists(middle) && world.exists(alone));
}

/// Code that runs on in a process, or of a process that fell silent, is named by the receipts of
/// all runs above it: its run is there as long as they are. A remote attempt of which nobody has
/// heard keeps nothing: there is nobody who could ever say more.
pub fn what_runs_on_keeps_the_way_to_it(harness: &dyn Harness) {
    let world = World::new(harness);
    let parent = world.start("parent");
    let child_of = |id: &str| {
        let child = birth(world.run_id(), id, world.now());
        let run = child.run;
        world.run_turn(parent, |turn| turn.child(child, ParentClose::Cancel));
        world.run_turn(run, |turn| turn.schedule(spec("work")));
        run
    };
    let leaking = child_of("leaking");
    let claimed = world.claim_one();
    world.run_turn(leaking, |turn| {
        turn.cancel(claimed.activity, "ops");
        turn.close(Status::Cancelled);
    });
    world.settle(&claimed, Ending::Abandoned);
    let remote = child_of("remote");
    let silent = world.claim_remote();
    world.settle(&silent, Ending::TimedOut(Timeout::StartToClose));
    world.close(remote, Status::Completed);
    assert_eq!(world.leftovers(remote).remainder().lost.len(), 1);
    world.tick(3_600);
    world.sweep_for(HOUR);
    assert!(world.exists(leaking) && !world.exists(remote));
    assert_eq!(world.leftovers(parent).remainder().leaked.len(), 1);
    world.settle(&claimed, Ending::Stopped);
    world.sweep_for(HOUR);
    assert!(!world.exists(leaking));
}
