//! Decisions are written whole, once, and only on the version that they were made for.

use std::collections::BTreeMap;

use bowline_core::{
    Address, Fence, Holder, Message, Number, Payload, RunId, SearchField, SearchValue, Status,
    Version,
};

use super::{
    Harness,
    claim::intake,
    world::{
        NAMESPACE, World, refused,
        turn::{cancel, cause, names, signal, spec, terminate, turn_out},
    },
};
use bowline_core::Parked;

use crate::{Error, Posted, Posting, RunCancel};

/// Two members decided on the same version: the first wins, the other reads again.
pub fn a_stale_version_conflicts(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let (first, mut second) = (world.turn(run), world.turn(run));
    second.schedule(spec("lost"));
    let version = world.commit(first).expect("it is the first").version;
    assert_eq!(version, world.head(run).version);
    refused!(world.commit(second), Error::Conflict);
    assert_eq!(world.head(run).version, version);
    assert_eq!(world.events(run).len(), 2);
    assert_eq!(world.claim(9).len(), 0, "nothing of the loser is there");
}

/// A version from the future is as wrong as one from the past.
pub fn a_version_that_is_not_yet_conflicts(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let mut turn = world.turn(run);
    turn.commit.expected = Version(turn.commit.expected.0 + 1);
    refused!(world.commit(turn), Error::Conflict);
}

/// A decision about a message that never came is about another past of the run: were it written,
/// the next message would count as consumed before anybody has heard it.
pub fn a_message_that_never_came_is_not_consumed(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let mut turn = world.turn(run);
    turn.commit.consumed.0 += 1;
    refused!(world.commit(turn), Error::Conflict);
    world.run_turn(run, |_| {});
    world.post(run, signal("hello", "")).expect("delivered");
    assert_eq!(world.inbox(run).len(), 1, "it waits");
    assert_eq!(world.take_runs(), [run]);
}

/// The answer to a commit was lost, so it is sent again: it is done already, and says the same.
pub fn a_repeated_commit_is_answered_as_done(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let (run, other) = (world.start("order-1"), world.start("order-2"));
    let mut turn = world.turn(run);
    let activity = turn.schedule(spec("work"));
    turn.start_now(Holder::Native(Fence { epoch: world.epoch, counter: 1 << 40 }));
    turn.send(Address::Run(other), signal("once", ""));
    let commit = turn.build();
    let send = |world: &World<'_>| {
        super::world::wait::block_on(world.store().commit(vec![commit.clone()])).remove(0)
    };
    let first = send(&world).expect("it is the first");
    assert_eq!(first.started, [(activity, 1)]);
    let again = send(&world).expect("it is done");
    assert_eq!((again.version, &again.started), (first.version, &first.started));
    assert_eq!(again.unread, first.unread);
    world.reopen();
    assert_eq!(send(&world).expect("it is still done").version, first.version);
    assert_eq!(world.events(run).len(), 4);
    assert_eq!(names(&world.inbox(other)), ["Wake", "once"]);
}

/// Closing is no exception: the repetition of the closing commit is not refused as too late.
pub fn a_repeated_closing_commit_is_answered_as_done(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let mut turn = world.turn(run);
    turn.close(Status::Completed);
    let commit = turn.build();
    for _ in 0..2 {
        let answer =
            super::world::wait::block_on(world.store().commit(vec![commit.clone()])).remove(0);
        assert_eq!(answer.expect("done").version, world.head(run).version);
    }
    assert_eq!(world.events(run).len(), 3);
}

/// There is nothing to commit to.
pub fn a_commit_to_no_run_is_refused(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let mut turn = world.turn(run);
    turn.commit.run = RunId { namespace: NAMESPACE, uuid: 404 };
    refused!(world.commit(turn), Error::Missing(_));
}

/// Nothing follows the closing event.
pub fn a_closed_run_takes_no_commit(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    world.close(run, Status::Failed);
    match world.commit(world.turn(run)) {
        Err(Error::Closed { run: closed, status, successor }) => {
            assert_eq!((closed, status, successor), (run, Status::Failed, None));
        }
        other => panic!("{other:?}"),
    }
    let head = world.head(run);
    assert_eq!((head.status, head.closed_at), (Status::Failed, Some(world.now())));
}

/// One member of a group loses its race: the others are written, and nothing of it is.
pub fn a_loser_leaves_the_rest_of_its_group_alone(harness: &dyn Harness) {
    let world = World::new(harness);
    let runs = ["a", "b", "c"].map(|id| world.start(id));
    let witness = world.start("witness");
    let mut turns: Vec<_> = runs.iter().map(|run| world.turn(*run)).collect();
    for turn in &mut turns {
        turn.schedule(spec("work"));
        turn.send(Address::Run(witness), signal("hello", ""));
        turn.timer(world.now());
    }
    world.run_turn(runs[1], |_| {});
    let before = world.head(runs[1]);
    let answers = world.commits(turns);
    assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
    refused!(&answers[1], Error::Conflict);
    assert_eq!(world.head(runs[1]), before);
    assert_eq!(world.inbox(runs[1]), [], "nothing was answered either");
    assert_eq!(names(&world.inbox(witness)), ["Wake", "hello", "hello"]);
    let claimed: Vec<RunId> = world.claim(9).into_iter().map(|claimed| claimed.run).collect();
    assert_eq!(claimed, [runs[0], runs[2]]);
    let mut rang = world.fire().runs;
    rang.sort_unstable();
    assert_eq!(rang, [runs[0], runs[2]]);
}

/// R49: a commit that loses its race cancels nobody, neither on a row nor by a mark: what ran goes
/// on, and what waited is handed out.
pub fn a_refused_commit_cancels_nothing(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let few = turn.schedule_many(2, &spec("work"));
    let many = turn.schedule_many(1_000, &spec("other"));
    world.commit(turn).expect("nobody else writes");
    let running = world.claim_one();
    for targets in [few.clone(), many] {
        let mut late = world.turn(run);
        late.cancel(targets, "code");
        world.run_turn(run, |_| {});
        refused!(world.commit(late), Error::Conflict);
    }
    assert_eq!(world.renew(world.renewal()).cancels.len(), 0, "nobody is told to stop");
    let left = world.leftovers(run);
    assert_eq!((left.never_started, left.attempts.len()), (0, 1));
    assert!(left.attempts[0].cause.is_none() && left.attempts[0].activity == running.activity);
    let next = world.claim_one();
    assert!(few.contains(next.activity), "the next in the queue is there");
}

/// Each commit of a group sees what those before it wrote.
pub fn members_of_a_group_see_those_before_them(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, target) = (world.start("a"), world.start("b"));
    let mut first = world.turn(run);
    first.send(Address::Run(target), signal("hello", ""));
    // What it was decided on is over with the first.
    let second = world.turn(run);
    let mut closing = world.turn(target);
    closing.close(Status::Completed);
    let answers = world.commits(vec![first, second, closing]);
    assert!(answers[0].is_ok(), "{answers:?}");
    refused!(&answers[1], Error::Conflict);
    refused!(&answers[2], Error::Conflict);
    assert_eq!(world.events(run).len(), 3);
    assert!(world.head(target).status.is_open());
}

/// A lease that somebody else has, or that is over, writes nothing.
pub fn a_wrong_fence_writes_nothing(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("order-1");
    let fence = world.hold(run);
    let with = |world: &World<'_>, fence: Fence| {
        let mut turn = world.turn(run);
        turn.commit.fence = Some(fence);
        world.commit(turn)
    };
    let wrong = Fence { counter: fence.counter + 1, ..fence };
    refused!(with(&world, wrong), Error::Fenced);
    with(&world, fence).expect("the holder may write");
    world.reopen();
    refused!(with(&world, fence), Error::Fenced);
    world.sweep_all();
    refused!(with(&world, fence), Error::Fenced);
    world.post(run, Message::Wake).expect("delivered");
    let newer = world.hold(run);
    assert!(newer > fence, "no fence is used twice");
    refused!(with(&world, fence), Error::Fenced);
    with(&world, newer).expect("the new holder may write");
}

/// Whatever a decision says about the run stands on its row.
pub fn a_commit_writes_the_whole_head(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let search = SearchField { value: SearchValue::Keyword("berlin".into()), wire: None };
    let search = BTreeMap::from([("city".to_owned(), search)]);
    let memo = BTreeMap::from([("note".to_owned(), Payload::json("1"))]);
    let (requested_at, decided_at) = (world.now(), Some(world.now()));
    let asked = RunCancel { cause: cause("ops"), requested_at, decided_at, number: None };
    let committed = world.run_turn(run, |turn| {
        turn.commit.status = Status::Cancelling;
        turn.commit.history_bytes = 12_345;
        turn.commit.cancel = Some(asked.clone());
        turn.commit.search = Some(search.clone());
        turn.commit.memo = Some(memo.clone());
        turn.commit.record.turn = Some(turn_out(bowline_core::EventId(3), world.now()));
        turn.commit.record.close_refused = true;
    });
    let head = world.head(run);
    assert_eq!(head.version, committed.version);
    assert_eq!((head.status, head.history_bytes), (Status::Cancelling, 12_345));
    assert_eq!((head.next_event.0, head.consumed.0), (3, 1));
    assert_eq!((head.search.clone(), head.memo.clone()), (search, memo));
    assert_eq!(head.cancel, Some(asked));
    assert!(head.record.close_refused && head.record.turn.is_some());
    let silent = world.turn(run).silent();
    world.commit(silent).expect("a commit may have no events");
    let after = world.head(run);
    assert_eq!((after.search, after.memo, after.cancel), (head.search, head.memo, head.cancel));
    assert_eq!((after.next_event, after.last_commit != head.last_commit), (head.next_event, true));
}

/// Commits park a run, leave it parked, and lift that.
pub fn a_parked_run_stays_parked_until_a_commit_lifts_it(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let bad =
        Parked { since: world.now(), failures: 3, reason: "panicked".into(), ..Parked::default() };
    world.run_turn(run, |turn| turn.commit.parked = Some(Some(bad.clone())));
    world.run_turn(run, |_| {});
    assert_eq!(world.head(run).parked, Some(bad));
    world.post(run, signal("a", "")).expect("messages still come in");
    assert_eq!(world.take_runs(), [], "but nobody may work on it");
    assert_eq!(world.claim_runs(intake(&world)).len(), 0);
    world.post(run, terminate("alice")).expect("delivered");
    assert_eq!(world.claim_runs(intake(&world)).len(), 1, "what needs no code does not wait");
    assert_eq!(world.take_runs(), []);
    world.run_turn(run, |turn| {
        turn.commit.consumed = Number(1);
        turn.commit.parked = Some(None);
    });
    assert_eq!(world.head(run).parked, None);
    assert_eq!(world.take_runs(), [run]);
}

/// A message raced the closing commit: whoever is first in the store is first, and neither is lost.
pub fn a_close_and_a_message_never_miss_each_other(harness: &dyn Harness) {
    let world = World::new(harness);
    let (early, late) = (world.start("early"), world.start("late"));
    let mut closing = world.turn(early);
    closing.close(Status::Completed);
    world.post(early, signal("first", "")).expect("the run is open");
    refused!(world.commit(closing), Error::Conflict);
    assert!(world.head(early).status.is_open());
    assert_eq!(names(&world.inbox(early)), ["Wake", "first"]);

    world.close(late, Status::Completed);
    refused!(world.post(late, signal("second", "")), Error::Closed { .. });
    assert_eq!(world.inbox(late), []);
}

/// A message that the closing commit drops by number is no newcomer.
pub fn a_dropped_message_does_not_keep_a_run_open(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let mut turn = world.turn(run);
    world.post(run, signal("timer", "")).expect("delivered");
    turn.commit.forgotten = vec![Number(2)];
    turn.close(Status::Completed);
    world.commit(turn).expect("all that waits was dropped");
    assert_eq!(world.inbox(run), []);
}

/// A run whose only messages were dropped has nothing to do; being ready for that would never end.
pub fn dropped_messages_leave_nobody_ready(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    for name in ["a", "b", "c"] {
        world.post(run, signal(name, "")).expect("delivered");
    }
    world.run_turn(run, |turn| {
        turn.commit.consumed = Number(1);
        turn.commit.forgotten = vec![Number(3), Number(4)];
    });
    assert_eq!(names(&world.inbox(run)), ["a"]);
    assert_eq!(world.take_runs(), [run], "one message is left");
    world.run_turn(run, |turn| {
        turn.commit.consumed = Number(2);
        turn.release();
    });
    assert_eq!(world.take_runs(), []);
    let posted = world.post(run, signal("d", "")).expect("delivered");
    assert_eq!(posted, Posted::Delivered(run, Number(5)), "no number is used twice");
    assert_eq!(world.take_runs(), [run]);
}

/// Every way into an inbox counts with the same counter, and consuming skips nothing.
pub fn inbox_numbers_have_no_gaps(harness: &dyn Harness) {
    let world = World::new(harness);
    let (run, other) = (world.start("a"), world.start("b"));
    let timer = world.run_turn(run, |turn| {
        turn.schedule(spec("work"));
        turn.timer(world.now());
    });
    assert_eq!(timer.unread, []);
    world.post(run, signal("posted", "")).expect("delivered");
    world.run_turn(other, |turn| turn.send(Address::Run(run), signal("sent", "")));
    let claimed = world.claim_one();
    let settled = world.settle(&claimed, bowline_core::Ending::Completed(None));
    assert_eq!(settled.message, Some(Number(4)));
    world.fire();
    let read = world.read(crate::Read::inbox(run));
    let numbers: Vec<u64> = read.inbox.iter().map(|received| received.number.0).collect();
    assert_eq!(numbers, [2, 3, 4, 5]);
    assert_eq!(names(&world.inbox(run)), ["posted", "sent", "EndActivity", "FireTimer"]);
    let committed = world.run_turn(run, |turn| turn.commit.consumed = Number(3));
    let unread: Vec<u64> = committed.unread.iter().map(|received| received.number.0).collect();
    assert_eq!((unread, world.head(run).inbox), (vec![4, 5], Number(5)));
}

/// A busy run learns with every commit what waits, its own answers included, up to a bound.
pub fn a_commit_answers_with_what_waits(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let turn = world.turn(run);
    world.post(run, cancel("ops", "")).expect("delivered");
    let committed = world.commit(turn).expect("nobody else writes");
    assert!(matches!(&committed.unread[..], [one] if matches!(one.message, Message::Cancel(_))));
    let wake = Posting::Message {
        to: Address::Run(run),
        message: Message::Wake,
        now: world.now(),
        receipt: None,
    };
    let answers = super::world::wait::block_on(world.store().post(vec![wake; 1_100]));
    assert!(answers.iter().all(Result::is_ok));
    let committed = world.run_turn(run, |turn| turn.commit.consumed = Number(2));
    assert_eq!(committed.unread.len(), 1_000);
    assert_eq!(committed.unread[0].number, Number(3), "the oldest come first");
}
