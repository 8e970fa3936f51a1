//! Work is taken: in order, by those who can do it, never more than asked for, never twice.

use bowline_core::{ActivitySpec, EventId, Holder, Message, RunId, Token, TurnStart};

use super::{
    Harness,
    world::{
        NAMESPACE, World, refused,
        turn::{birth, remote, signal, spec, started, terminate},
        wait::block_on,
    },
};
use crate::{ClaimActivities, ClaimRuns, Error, HolderKind, Posted, Want, ready::Sought};

/// Runs are taken in the order in which they became ready, and come with all there is to know.
pub fn runs_are_taken_in_order_and_whole(harness: &dyn Harness) {
    let world = World::new(harness);
    let runs = ["c", "a", "b"].map(|id| world.start(id));
    let claimed = world.claim_runs(ClaimRuns { count: 2, ..world.claiming(Want::Turn, "turns") });
    let taken: Vec<RunId> = claimed.iter().map(|claimed| claimed.read.head.run).collect();
    assert_eq!(taken, runs[..2], "the oldest, and no more than two");
    for claimed in &claimed {
        assert_eq!((claimed.read.batches.len(), claimed.read.inbox.len()), (1, 1));
        assert_eq!(claimed.read.inbox[0].message, Message::Wake);
        assert_eq!(claimed.fence.expect("it is held").epoch, world.epoch);
    }
    assert_ne!(claimed[0].fence, claimed[1].fence);
    assert_eq!(world.take_runs(), runs[2..]);
    assert_eq!(world.take_runs(), []);
}

/// A member takes only what it has code for, from the queues that it serves.
pub fn runs_are_taken_by_queue_and_name(harness: &dyn Harness) {
    let world = World::new(harness);
    let start = |id: &str, queue: &str, name: &str| {
        let mut birth = birth(world.run_id(), id, world.now());
        let first = started(&mut birth).expect("it begins");
        (first.queue, first.name) = (queue.into(), name.into());
        world.begin_run(birth)
    };
    let (a, b) = (start("a", "q1", "flow"), start("b", "q2", "flow"));
    let c = start("c", "q1", "other");
    let take = |queues: &[&str], names: &[&str]| -> Vec<RunId> {
        let claim = ClaimRuns {
            queues: queues.iter().map(|queue| (*queue).into()).collect(),
            names: names.iter().map(|name| (*name).into()).collect(),
            ..world.claiming(Want::Turn, "")
        };
        world.claim_runs(claim).into_iter().map(|claimed| claimed.read.head.run).collect()
    };
    assert_eq!(take(&["q3"], &["flow", "other"]), []);
    assert_eq!(take(&["q1", "q2"], &["stranger"]), []);
    assert_eq!(take(&["q1", "q2"], &[]), [], "no code, no runs");
    assert_eq!(take(&["q1"], &["other"]), [c]);
    assert_eq!(take(&["q2", "q1"], &["flow"]), [a, b]);
}

/// While somebody holds a run nobody else gets it; a message that comes then is not forgotten.
pub fn a_held_run_is_ready_again_when_it_is_released(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let fence = world.hold(run);
    world.post(run, signal("a", "")).expect("delivered");
    assert_eq!(world.take_runs(), [], "it is held");
    world.run_turn(run, |turn| {
        turn.commit.fence = Some(fence);
        turn.release();
    });
    assert_eq!(world.take_runs(), [], "everything was consumed");
    world.post(run, signal("b", "")).expect("delivered");
    assert_eq!(world.take_runs(), [run]);
}

/// The message arrived between the last look at the inbox and the release.
pub fn a_message_beside_a_release_is_not_forgotten(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let fence = world.hold(run);
    let mut turn = world.turn(run);
    world.post(run, signal("late", "")).expect("delivered");
    turn.commit.fence = Some(fence);
    turn.release();
    let committed = world.commit(turn).expect("a message is no reason to refuse");
    assert_eq!(committed.unread.len(), 1);
    assert_eq!(world.take_runs(), [run]);
}

/// A remote turn is held by nobody: two polls may see the same run, others come first.
pub fn remote_turns_rotate(harness: &dyn Harness) {
    let world = World::new(harness);
    let runs = ["a", "b"].map(|id| world.begin_run(remote(world.run_id(), id, world.now())));
    let take = || {
        let claim = ClaimRuns { count: 1, ..world.claiming(Want::RemoteTurn, "remote") };
        let claimed = world.claim_runs(claim).remove(0);
        assert_eq!(claimed.fence, None);
        assert_eq!(claimed.read.batches.len(), 1);
        claimed.read.head.run
    };
    assert_eq!([take(), take(), take()], [runs[0], runs[1], runs[0]]);
    assert_eq!(world.take_runs(), [], "a remote run has no native turn");
}

/// Remote turns wait in the queue that their record names, under any name if all are wanted.
pub fn remote_turns_wait_where_their_record_says(harness: &dyn Harness) {
    let world = World::new(harness);
    let mut sticky = remote(world.run_id(), "a", world.now());
    sticky.record.turn.as_mut().expect("one waits").queue = "worker-1".into();
    let run = world.begin_run(sticky);
    let count = |queue: &str, names: &[&str]| {
        let names = names.iter().map(|name| (*name).into()).collect();
        let claim = ClaimRuns { names, ..world.claiming(Want::RemoteTurn, queue) };
        world.claim_runs(claim).len()
    };
    assert_eq!((count("remote", &[]), count("turns", &[])), (0, 0));
    assert_eq!((count("worker-1", &["stranger"]), count("worker-1", &[])), (0, 1));
    world.run_turn(run, |turn| {
        let record = turn.commit.record.turn.as_mut().expect("one waits");
        record.queue = "remote".into();
    });
    assert_eq!((count("worker-1", &[]), count("remote", &[])), (0, 1));
}

/// A turn in a worker's hands is offered to nobody else, and freezes history against intake.
pub fn a_started_remote_turn_is_out_of_the_queue(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.begin_run(remote(world.run_id(), "a", world.now()));
    let turns = || world.claim_runs(world.claiming(Want::RemoteTurn, "remote")).len();
    let intakes = || world.claim_runs(intake(&world)).len();
    assert_eq!((turns(), intakes()), (1, 0));
    world.post(run, signal("a", "")).expect("delivered");
    assert_eq!((turns(), intakes()), (1, 1));
    let start = |world: &World<'_>| TurnStart {
        event: EventId(3),
        at: world.now(),
        worker: "sdk".into(),
        request_id: "poll".into(),
        control: "".into(),
        suggest_continue: false,
        history_bytes: 0,
        wire: None,
    };
    world.run_turn(run, |turn| {
        turn.commit.consumed = bowline_core::Number(0);
        turn.commit.record.turn.as_mut().expect("one waits").started = Some(start(&world));
    });
    assert_eq!((turns(), intakes()), (0, 0));
    world.post(run, terminate("alice")).expect("delivered");
    assert_eq!((turns(), intakes()), (0, 1), "what cuts in does not wait for the worker");
    world.run_turn(run, |turn| {
        turn.commit.consumed = bowline_core::Number(0);
        turn.commit.record.turn = None;
    });
    assert_eq!((turns(), intakes()), (0, 1), "what waited is taken in afterwards");
}

/// Whoever looks before a claim is never told that nothing is there while something is.
pub fn what_waits_can_be_seen(harness: &dyn Harness) {
    let world = World::new(harness);
    let sees = |sought| world.store().may_find(sought, NAMESPACE, &"remote".into());
    let turns = || world.claim_runs(world.claiming(Want::RemoteTurn, "remote")).len();
    let run = world.begin_run(remote(world.run_id(), "a", world.now()));
    assert!(sees(Sought::Turn), "its first turn waits");
    assert_eq!(turns(), 1);
    assert!(sees(Sought::Turn), "a claim takes nothing away that nobody has begun");
    world.run_turn(run, |turn| {
        turn.commit.record.turn = None;
        turn.schedule(ActivitySpec { queue: "remote".into(), ..spec("a") });
    });
    assert!(sees(Sought::Activity), "an activity waits");
    assert_eq!(turns(), 0);
    let claim = ClaimActivities { queue: "remote".into(), ..world.claiming_activities(1) };
    assert_eq!(world.claim_activities(claim).len(), 1);
}

/// Intake serves every queue, in turn.
pub fn intake_rotates_over_all_queues(harness: &dyn Harness) {
    let world = World::new(harness);
    let runs = ["q1", "q2"].map(|queue| {
        let mut birth = remote(world.run_id(), queue, world.now());
        started(&mut birth).expect("it begins").queue = queue.into();
        let run = world.begin_run(birth);
        world.post(run, signal("a", "")).expect("delivered");
        run
    });
    let take = || {
        let claimed = world.claim_runs(ClaimRuns { count: 1, ..intake(&world) }).remove(0);
        assert_eq!((claimed.fence, claimed.read.inbox.len()), (None, 1));
        claimed.read.head.run
    };
    assert_eq!([take(), take(), take()], [runs[0], runs[1], runs[0]]);
    world.run_turn(runs[0], |_| {});
    assert_eq!([take(), take()], [runs[1], runs[1]], "what was consumed is done");
}

pub(super) fn intake(world: &World<'_>) -> ClaimRuns {
    ClaimRuns { queues: Vec::new(), names: Vec::new(), ..world.claiming(Want::Intake, "") }
}

/// Activities start in the order of their arrival, no more than there are slots for.
pub fn activities_start_in_order(harness: &dyn Harness) {
    let world = World::new(harness);
    let (a, b) = (world.start("a"), world.start("b"));
    let mut expected = Vec::new();
    for run in [b, a, b] {
        let mut turn = world.turn(run);
        expected.push((run, turn.schedule(spec("work"))));
        world.commit(turn).expect("nobody else writes");
    }
    let claimed = world.claim(2);
    assert_eq!(claimed.len(), 2);
    let first = &claimed[0];
    assert_eq!((first.workflow_id.as_str(), first.workflow.as_str()), ("b", "flow"));
    assert_eq!((first.spec.clone(), first.live.attempt), (spec("work"), 1));
    let start = first.live.started().expect("it is started");
    assert_eq!((start.at, start.worker.as_str()), (world.now(), "suite"));
    assert!(matches!(start.holder, Holder::Native(fence) if fence.epoch == world.epoch));
    let all: Vec<_> = claimed.into_iter().chain(world.claim(9)).collect();
    let taken: Vec<_> = all.iter().map(|claimed| (claimed.run, claimed.activity)).collect();
    assert_eq!(taken, expected);
    let holders: Vec<_> = all.iter().map(super::world::proof).collect();
    assert!(holders[0] != holders[1] && holders[1] != holders[2], "each has a fence of its own");
    assert_eq!(world.claim(9).len(), 0);
}

/// A worker gets only activities that it knows, from the queue and namespace that it serves.
pub fn activities_start_by_queue_and_name(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let mail = turn.schedule(spec("mail"));
    let pay = turn.schedule(spec("pay"));
    world.commit(turn).expect("nobody else writes");
    let claim = |queue: &str, names: &[&str], namespace| {
        let names = names.iter().map(|name| (*name).into()).collect();
        let claim = world.claiming_activities(9);
        let claim = ClaimActivities { queue: queue.into(), names, namespace, ..claim };
        let claimed = world.claim_activities(claim);
        claimed.into_iter().map(|claimed| claimed.activity).collect::<Vec<_>>()
    };
    assert_eq!(claim("other", &[], NAMESPACE), []);
    assert_eq!(claim("work", &["stranger"], NAMESPACE), []);
    assert_eq!(claim("work", &[], bowline_core::Namespace(NAMESPACE.0 + 1)), []);
    assert_eq!(claim("work", &["pay", "ship"], NAMESPACE), [pay]);
    assert_eq!(claim("work", &[], NAMESPACE), [mail]);
}

/// A remote worker is known by bytes that can be made again from the row alone.
pub fn a_remote_worker_has_a_token(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let activity = turn.schedule(spec("work"));
    world.commit(turn).expect("nobody else writes");
    let claimed = world.claim_remote();
    let token = Token::activity(run, activity, 1).to_blob();
    let holder = Holder::Remote { token, control: "control".into() };
    assert_eq!(claimed.live.started().map(|start| start.holder.clone()), Some(holder));
}

/// Where a slot is free, the commit that schedules an activity also starts it.
pub fn a_commit_may_start_what_it_schedules(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let waiting = turn.schedule(spec("work"));
    let begun = turn.schedule(spec("work"));
    let fence = bowline_core::Fence { epoch: world.epoch, counter: 1 << 40 };
    turn.start_now(Holder::Native(fence));
    let committed = world.commit(turn).expect("nobody else writes");
    assert_eq!(committed.started, [(begun, 1)]);
    let rows = world.rows(run);
    assert_eq!(rows.len(), 2);
    assert_eq!(
        rows[1].live.started().map(|start| start.holder.clone()),
        Some(Holder::Native(fence))
    );
    let claimed: Vec<EventId> =
        world.claim(9).into_iter().map(|claimed| claimed.activity).collect();
    assert_eq!(claimed, [waiting], "it is started once");
}

/// A member of an earlier opening takes nothing.
pub fn a_dead_member_takes_nothing(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    world.post(run, Message::Wake).expect("delivered");
    let dead = world.epoch;
    world.reopen();
    assert!(world.epoch > dead);
    let runs = ClaimRuns { epoch: dead, ..world.claiming(Want::Turn, "turns") };
    refused!(block_on(world.store().claim_runs(runs)), Error::Fenced);
    for holder in [HolderKind::Native, HolderKind::Remote("".into())] {
        let claim = ClaimActivities { epoch: dead, holder, ..world.claiming_activities(1) };
        refused!(block_on(world.store().claim_activities(claim)), Error::Fenced);
    }
    assert_eq!(world.take_runs(), [run]);
    assert_eq!(world.claim_one().live.attempt, 1, "the dead one used no attempt up");
    let nothing = ClaimActivities { epoch: dead, ..world.claiming_activities(1) };
    let nothing = block_on(world.store().claim_activities(nothing));
    refused!(nothing, Error::Fenced);
}

/// A closed run has no turns, whatever was posted before.
pub fn a_closed_run_is_not_taken(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.close(run, bowline_core::Status::Completed);
    assert_eq!(world.take_runs(), []);
    let (_, posted) = world.post_receipt(run, super::world::turn::cancel("ops", ""));
    assert_eq!(posted.expect("it is over"), Posted::Finished(run));
    assert_eq!(world.take_runs(), []);
}
