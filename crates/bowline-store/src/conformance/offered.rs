//! Ends of attempts that are written with the decision that they led to.

use bowline_core::{Ending, Epoch, EventId, Failure, Fence, Message, Payload, Status, Step};

use super::{
    Harness,
    world::{
        World, heartbeat,
        turn::{Turn, cause, signal, spec},
    },
};
use crate::{ClaimedActivity, Error, OfferedEnd, Posted, Proof, Renewal, Settle};

fn begun(world: &World<'_>) -> ClaimedActivity {
    let run = world.start(&format!("run-{}", world.id()));
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    world.claim_one()
}

fn offered(world: &World<'_>, claimed: &ClaimedActivity) -> OfferedEnd {
    let result = Ending::Completed(Some(Payload::json("7")));
    let report = world.settling(claimed, result);
    OfferedEnd::new(&claimed.spec, &claimed.live, report).expect("a result ends an activity")
}

fn turn(world: &World<'_>, claimed: &ClaimedActivity, offered: OfferedEnd) -> Turn {
    let mut turn = world.turn(claimed.run);
    turn.commit.ended.push(offered);
    turn
}

/// The attempt is over, its row is gone, and no message was needed to say so.
pub fn an_end_is_written_with_the_decision(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let claimed = begun(&world);
    let before = world.head(claimed.run);
    let done = world.commit(turn(&world, &claimed, offered(&world, &claimed)));
    let done = done.expect("it is as offered");
    assert_eq!(done.unread, [], "no message was sent");
    let after = world.head(claimed.run);
    assert_eq!((after.inbox, after.next_event), (before.inbox, before.next_event.plus(1)));
    assert_eq!(world.rows(claimed.run), [], "nobody will ask for the row");
    assert_eq!(world.settle(&claimed, Ending::Completed(None)).step, Step::Stale);
    world.reopen();
    assert_eq!(world.rows(claimed.run), []);
    assert_eq!(world.claim(9).len(), 0, "it does not run again");
}

/// A run may close by the turn that its last activity led to.
pub fn an_end_may_close_its_run(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world);
    let mut last = turn(&world, &claimed, offered(&world, &claimed));
    last.close(Status::Completed);
    world.commit(last).expect("it is as offered");
    assert_eq!(world.head(claimed.run).status, Status::Completed);
    assert_eq!(world.rows(claimed.run), []);
}

/// The same commit again is answered as done, like every other.
pub fn a_repeated_decision_counts_once(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world);
    let first = turn(&world, &claimed, offered(&world, &claimed));
    let again = first.clone();
    let version = world.commit(first).expect("it is as offered").version;
    assert_eq!(world.commit(again).expect("it is done").version, version);
}

/// A message was acknowledged before the end was: the decision does not know of it, and would have
/// the run hear of the end first. It is refused whole, and the end comes after the message.
pub fn what_was_acknowledged_first_comes_first(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world);
    let seen = offered(&world, &claimed);
    let decided = turn(&world, &claimed, seen.clone());
    world.post(claimed.run, signal("hello", "r")).expect("the run is open");
    let (head, rows) = (world.head(claimed.run), world.rows(claimed.run));
    let refused = world.commit(decided);
    assert!(matches!(refused, Err(Error::Conflict)), "{refused:?}");
    assert_eq!((world.head(claimed.run), world.rows(claimed.run)), (head, rows));
    let knowing = world.commit(turn(&world, &claimed, seen)).expect("it knows of the signal");
    assert_eq!(knowing.unread, [], "the signal was read");
    let claimed = begun(&world);
    let OfferedEnd { settle, message: end } = offered(&world, &claimed);
    world.post(claimed.run, signal("hello", "r")).expect("the run is open");
    assert_eq!(world.report(settle).step, Step::Ended);
    let inbox = world.inbox(claimed.run);
    let told: Vec<bool> = inbox.iter().map(|own| *own == end).collect();
    assert_eq!(told.len(), 2, "{inbox:?}");
    assert!(!told[0], "the signal comes first: {inbox:?}");
}

/// A message that the decision drops unread is none that it does not know of.
pub fn a_dropped_message_is_not_overtaken(harness: &dyn Harness) {
    let world = World::new(harness);
    let claimed = begun(&world);
    let mut decided = turn(&world, &claimed, offered(&world, &claimed));
    let posted = world.post(claimed.run, Message::FireTimer(EventId(1)));
    let Ok(Posted::Delivered(_, number)) = posted else { panic!("{posted:?}") };
    decided.commit.forgotten.push(number);
    let done = world.commit(decided).expect("nothing comes before it");
    assert_eq!(done.unread, []);
}

/// An attempt that was cancelled, has said something, was reported, or belongs to somebody else is
/// not what was offered. The decision is refused whole.
pub fn what_is_not_as_foreseen_is_a_conflict(harness: &dyn Harness) {
    let mut world = World::new(harness);
    type Meanwhile = fn(&World<'_>, &ClaimedActivity);
    let cancelled: Meanwhile = |world, claimed| {
        world.run_turn(claimed.run, |turn| {
            turn.commit.cancels.push((claimed.activity.into(), cause("stop")));
        });
    };
    let spoken: Meanwhile = |world, claimed| {
        let mut beat = heartbeat(claimed);
        beat.details = Some(Payload::json("1"));
        world.renew(Renewal { heartbeats: vec![beat], ..world.renewal() });
    };
    let reported: Meanwhile = |world, claimed| {
        world.settle(claimed, Ending::Failed(Failure::new("no").final_()));
    };
    for meanwhile in [cancelled, spoken, reported] {
        let claimed = begun(&world);
        let seen = offered(&world, &claimed);
        meanwhile(&world, &claimed);
        refused(&world, &claimed, seen);
    }
    let claimed = begun(&world);
    let seen = offered(&world, &claimed);
    let other = Fence { epoch: Epoch(0), counter: 7 };
    let wrong = Settle { proof: Proof::Native(other), ..seen.settle.clone() };
    refused(&world, &claimed, OfferedEnd { settle: wrong, ..seen.clone() });
    let stranger = begun(&world);
    refused(&world, &stranger, seen.clone());
    world.reopen();
    world.sweep_all();
    refused(&world, &claimed, seen);
}

fn refused(world: &World<'_>, claimed: &ClaimedActivity, seen: OfferedEnd) {
    let (head, rows) = (world.head(claimed.run), world.rows(claimed.run));
    let refused = world.commit(turn(world, claimed, seen));
    assert!(matches!(refused, Err(Error::Conflict)), "{refused:?}");
    assert_eq!(world.head(claimed.run), head);
    assert_eq!(world.rows(claimed.run), rows);
}
