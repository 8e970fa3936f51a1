//! Effects are answered by message: a commit never fails for what hangs on another row.

use bowline_core::{
    Address, ChildRefusal, EventId, ExternalRefusal, Link, Message, ParentClose, Post, Reuse,
    RunId, Status, UnreadSize, limits,
};

use super::{
    Harness,
    world::{
        NAMESPACE, World, refused,
        turn::{birth, cancel, cause, names, signal, spec, terminate},
    },
};
use crate::{Error, Read};

/// A child begins in the commit that asks for it, and the parent is told.
pub fn a_child_begins_with_the_commit(harness: &dyn Harness) {
    let world = World::new(harness);
    let parent = world.start("parent");
    let child = birth(world.run_id(), "child", world.now());
    let id = child.run;
    let mut turn = world.turn(parent);
    let initiated = turn.child(child, ParentClose::Cancel);
    world.commit(turn).expect("nobody else writes");
    assert_eq!(world.inbox(parent), [Message::ChildBegan(initiated)]);
    let head = world.head(id);
    assert_eq!((head.parent, head.root), (Some((parent, initiated)), parent));
    assert_eq!(world.inbox(id), [Message::Wake]);
    assert!(world.take_runs().contains(&id));
}

/// Its workflow id is taken by an open run, or by a closed one that forbids using it again.
pub fn a_child_whose_id_is_taken_is_refused(harness: &dyn Harness) {
    let world = World::new(harness);
    let (parent, open) = (world.start("parent"), world.start("open"));
    let closed = world.start("closed");
    world.close(closed, Status::Completed);
    let mut turn = world.turn(parent);
    let taken = turn.child(birth(world.run_id(), "open", world.now()), ParentClose::Cancel);
    let mut once = birth(world.run_id(), "closed", world.now());
    once.reuse = Reuse::Refuse;
    let refused = turn.child(once, ParentClose::Cancel);
    let fine = turn.child(birth(world.run_id(), "free", world.now()), ParentClose::Cancel);
    world.commit(turn).expect("a commit never fails for a child");
    let expected = [
        Message::RefuseChild(taken, ChildRefusal::IdTaken),
        Message::RefuseChild(refused, ChildRefusal::IdTaken),
        Message::ChildBegan(fine),
    ];
    assert_eq!(world.inbox(parent), expected);
    assert_eq!(world.current("open"), Some(open));
    assert_eq!(world.current("closed"), Some(closed));
}

/// Two children of one commit want the same workflow id: the first has it.
pub fn the_first_of_two_children_has_the_id(harness: &dyn Harness) {
    let world = World::new(harness);
    let parent = world.start("parent");
    let mut turn = world.turn(parent);
    let first = turn.child(birth(world.run_id(), "child", world.now()), ParentClose::Cancel);
    let second = turn.child(birth(world.run_id(), "child", world.now()), ParentClose::Cancel);
    world.commit(turn).expect("a commit never fails for a child");
    let refused = Message::RefuseChild(second, ChildRefusal::IdTaken);
    assert_eq!(world.inbox(parent), [Message::ChildBegan(first), refused]);
}

/// A run that goes on keeps its workflow id, and its chain leads to the new run.
pub fn a_successor_takes_over(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let next = birth(world.run_id(), "order-1", world.now());
    let id = next.run;
    world.run_turn(run, |turn| turn.continue_as(next));
    let head = world.head(run);
    assert_eq!((head.status, head.successor), (Status::ContinuedAsNew, Some(id)));
    assert_eq!(world.current("order-1"), Some(id));
    assert_eq!(world.take_runs(), [id]);

    // The birth alone says it, too.
    let last = birth(world.run_id(), "order-1", world.now());
    let after = last.run;
    world.run_turn(id, |turn| {
        turn.continue_as(last);
        turn.commit.close = Some(crate::Close::default());
    });
    assert_eq!(world.head(id).successor, Some(after));
}

/// A new run that is nobody's child or successor needs its workflow id for itself; else the whole
/// commit is refused, before anything of it is written.
pub fn a_stranger_needs_its_id(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, open) = (world.start("order-1"), world.start("open"));
    let mut turn = world.turn(run);
    turn.schedule(spec("lost"));
    turn.commit.births.push(birth(world.run_id(), "open", world.now()));
    let before = world.head(run);
    match world.commit(turn) {
        Err(Error::IdTaken { run: holder, .. }) => assert_eq!(holder, open),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.head(run), before);
    assert_eq!(world.claim(9).len(), 0);

    // The run that closes with it may pass its own workflow id on: that is how a fork begins.
    let mut turn = world.turn(run);
    let mut fork = birth(world.run_id(), "order-1", world.now());
    fork.link = Link::None;
    fork.activities = vec![(EventId(9), spec("again").into())];
    let id = fork.run;
    turn.commit.births.push(fork);
    turn.close(Status::Terminated);
    world.commit(turn).expect("the id is free with this very commit");
    assert_eq!(world.current("order-1"), Some(id));
    let claimed = world.claim_one();
    assert_eq!((claimed.run, claimed.activity, claimed.live.attempt), (id, EventId(9), 1));
}

/// Whether a message reached another run is told by message, if somebody wants to know.
pub fn messages_to_other_runs_are_answered(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, open) = (world.start("a"), world.start("open"));
    let closed = world.start("closed");
    world.close(closed, Status::Completed);
    let nobody = RunId { namespace: NAMESPACE, uuid: 404 };
    let table = [
        (open, signal("s", ""), true),
        (closed, signal("s", ""), false),
        (nobody, signal("s", ""), false),
        (nobody, cancel("a", ""), false),
        (closed, cancel("a", ""), true),
        (closed, terminate("a"), true),
        (open, cancel("a", ""), true),
    ];
    let mut turn = world.turn(run);
    let mut expected = Vec::new();
    for (target, message, done) in table {
        let event = turn.send(Address::Run(target), message);
        expected.push(match done {
            true => Message::ExternalDone(event),
            false => Message::RefuseExternal(event, ExternalRefusal::NotFound),
        });
    }
    let silent =
        Post { to: Address::Run(nobody), message: signal("s", ""), child_of: None, answer: None };
    turn.commit.posts.push(silent);
    world.commit(turn).expect("a commit never fails for a message");
    assert_eq!(world.inbox(run), expected);
    assert_eq!(names(&world.inbox(open)), ["Wake", "s", "Cancel"]);
    assert_eq!(world.head(open).cancel.map(|cancel| cancel.cause), Some(cause("a")));
    assert_eq!(world.inbox(closed), []);
}

/// A run has as many signals to receive as one may have. Another run that sends it one more is told
/// so; what is no signal still comes.
pub fn a_run_that_is_full_refuses_signals_of_others(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, full) = (world.start("a"), world.start("full"));
    let (count, bytes) = (limits::UNREAD_MAX - 1, 0);
    world.run_turn(full, |turn| turn.commit.record.unread = Some(UnreadSize { count, bytes }));
    let mut turn = world.turn(run);
    let taken = turn.send(Address::Run(full), signal("last", ""));
    let refused = turn.send(Address::Run(full), signal("more", ""));
    let cancelled = turn.send(Address::Run(full), cancel("a", ""));
    world.commit(turn).expect("a commit never fails for a message");
    let expected = [
        Message::ExternalDone(taken),
        Message::RefuseExternal(refused, ExternalRefusal::Full),
        Message::ExternalDone(cancelled),
    ];
    assert_eq!(world.inbox(run), expected);
    assert_eq!(names(&world.inbox(full)), ["last", "Cancel"]);
}

/// A message that is meant for a child goes to no stranger of the same name.
pub fn a_message_for_a_child_reaches_no_stranger(harness: &dyn Harness) {
    let world = World::new(harness);
    let (parent, stranger) = (world.start("parent"), world.start("stranger"));
    let child = birth(world.run_id(), "child", world.now());
    let id = child.run;
    world.run_turn(parent, |turn| turn.child(child, ParentClose::Cancel));
    let mut turn = world.turn(parent);
    let first = turn.send(Address::Run(id), cancel("parent", ""));
    let second = turn.send(Address::Run(stranger), cancel("parent", ""));
    turn.commit.posts.iter_mut().for_each(|post| post.child_of = Some(parent));
    world.commit(turn).expect("a commit never fails for a message");
    let refused = Message::RefuseExternal(second, ExternalRefusal::NotFound);
    assert_eq!(world.inbox(parent), [Message::ExternalDone(first), refused]);
    assert_eq!(names(&world.inbox(stranger)), ["Wake"]);
    assert_eq!(names(&world.inbox(id)), ["Wake", "Cancel"]);
}

/// A chain is followed to its newest run, wherever it began.
pub fn a_message_follows_the_chain(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, sender) = (world.start("chain"), world.start("sender"));
    let mut last = run;
    for _ in 0..3 {
        let next = birth(world.run_id(), "chain", world.now());
        let id = next.run;
        world.run_turn(last, |turn| turn.continue_as(next));
        last = id;
    }
    world.run_turn(sender, |turn| turn.send(Address::Chain(run), signal("s", "")));
    assert_eq!(names(&world.inbox(last)), ["Wake", "s"]);
}

/// The answers of one commit stand in one order: births, messages, cancels.
pub fn answers_stand_in_a_fixed_order(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, other) = (world.start("a"), world.start("b"));
    let activity = {
        let mut turn = world.turn(run);
        let activity = turn.schedule(spec("work"));
        world.commit(turn).expect("nobody else writes");
        activity
    };
    let mut turn = world.turn(run);
    turn.cancel(activity, "a");
    let event = turn.send(Address::Run(other), signal("s", ""));
    let child = turn.child(birth(world.run_id(), "child", world.now()), ParentClose::Cancel);
    let committed = world.commit(turn).expect("nobody else writes");
    let expected = [
        Message::ChildBegan(child),
        Message::ExternalDone(event),
        Message::SkipActivities(activity.into()),
    ];
    assert_eq!(world.inbox(run), expected);
    let unread: Vec<Message> = committed.unread.into_iter().map(|r| r.message).collect();
    assert_eq!(unread, expected, "and the commit tells them at once");
}

/// A run that closes hears no answers: there is nobody to read them.
pub fn a_closing_commit_is_not_answered(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let activity = {
        let mut turn = world.turn(run);
        let activity = turn.schedule(spec("work"));
        world.commit(turn).expect("nobody else writes");
        activity
    };
    world.run_turn(run, |turn| {
        turn.cancel(activity, "a");
        turn.close(Status::Completed);
    });
    assert_eq!(world.inbox(run), []);
    assert_eq!(world.claim(9).len(), 0);
    assert_eq!(world.leftovers(run).never_started, 1);
}

/// The first commit of a run reads as its whole history.
pub fn a_birth_writes_all_its_events(harness: &dyn Harness) {
    let world = World::new(harness);
    let mut birth = birth(world.run_id(), "order-1", world.now());
    let first = birth.events[0].clone();
    for id in 2..=4 {
        let kind = bowline_core::MarkerRecorded::default().into();
        birth.events.push(bowline_core::Event { id: EventId(id), kind, ..first.clone() });
    }
    let run = world.begin_run(birth);
    assert_eq!(world.head(run).next_event, EventId(5));
    assert_eq!(world.read(Read::whole(run)).batches.len(), 1);
    assert_eq!(world.events(run).len(), 4);
    let bad = super::world::turn::birth(world.run_id(), "order-2", world.now());
    let bad = bowline_core::Birth { events: Vec::new(), ..bad };
    refused!(world.try_start(world.starting(bad)), Error::Invalid(_));
}
