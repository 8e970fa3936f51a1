//! Messages come in from outside.

use bowline_core::{Address, Message, Payload, Refusal, RunId, Signal, Status, UnreadSize, limits};

use super::{
    Harness,
    world::{
        NAMESPACE, World, refused,
        turn::{birth, cancel, cause, names, signal, terminate},
        wait::block_on,
    },
};
use crate::{Error, Posted, Posting, Subtree};

/// Messages take their numbers in the order in which they were written.
pub fn messages_stand_in_the_order_of_their_numbers(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let post = |name: &str| Posting::Message {
        to: Address::Run(run),
        message: signal(name, ""),
        now: world.now(),
        receipt: None,
    };
    let answers = block_on(world.store().post(vec![post("a"), post("b"), post("c")]));
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.expect("delivered")).collect();
    let expected = [2, 3, 4].map(|n| Posted::Delivered(run, bowline_core::Number(n)));
    assert_eq!(answers, expected);
    assert_eq!(names(&world.inbox(run)), ["Wake", "a", "b", "c"]);
    assert_eq!(world.head(run).inbox.0, 4);
}

/// A signal to nobody is an error at once; it must never sit in a queue and block it.
pub fn a_message_to_no_run_is_refused(harness: &dyn Harness) {
    let world = World::new(harness);
    let nobody = RunId { namespace: NAMESPACE, uuid: 404 };
    refused!(world.post(nobody, signal("a", "")), Error::Missing(_));
    refused!(world.post_to(Address::Chain(nobody), signal("a", "")), Error::Missing(_));
    let unknown = Address::Current(NAMESPACE, "unknown".into());
    refused!(world.post_to(unknown, cancel("ops", "")), Error::Missing(_));
    let healthy = world.start("order-1");
    assert_eq!(world.take_runs(), [healthy], "everybody else goes on");
}

/// The same request, sent twice while the first waits, counts once.
pub fn a_repeated_request_counts_once(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    world.post(run, signal("a", "request-1")).expect("delivered");
    let again = world.post(run, signal("a", "request-1")).expect("answered");
    assert_eq!(again, Posted::Repeated(run));
    world.post(run, signal("a", "request-2")).expect("another request");
    world.post(run, signal("a", "")).expect("a request without a name");
    world.post(run, signal("a", "")).expect("and another");
    assert_eq!(world.inbox(run).len(), 5);
}

/// A signal and a cancel are two requests, even under one id: neither is taken for the other.
pub fn requests_of_two_kinds_are_two(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    world.post(run, signal("a", "request-1")).expect("delivered");
    let posted = world.post(run, cancel("alice", "request-1")).expect("answered");
    assert!(matches!(posted, Posted::Delivered(..)), "{posted:?}");
    for again in [signal("a", "request-1"), cancel("alice", "request-1")] {
        assert_eq!(world.post(run, again).expect("answered"), Posted::Repeated(run));
    }
    assert_eq!(world.inbox(run).len(), 3);
}

/// A closed run takes no message; the answer names the run that goes on.
pub fn a_closed_run_names_its_successor(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let next = birth(world.run_id(), "order-1", world.now());
    let successor = next.run;
    world.run_turn(run, |turn| turn.continue_as(next));
    match world.post(run, signal("a", "")) {
        Err(Error::Closed { run: closed, status, successor: next }) => {
            assert_eq!((closed, status), (run, Status::ContinuedAsNew));
            assert_eq!(next, Some(successor));
        }
        other => panic!("{other:?}"),
    }
    for to in [Address::Chain(run), Address::Current(NAMESPACE, "order-1".into())] {
        let posted = world.post_to(to, signal("a", "")).expect("the chain goes on");
        assert!(matches!(posted, Posted::Delivered(run, _) if run == successor), "{posted:?}");
    }
}

/// The first cancel that arrives is the run's; a second one never takes its place.
pub fn a_cancel_is_noted_on_the_run_when_it_arrives(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let at = world.tick(5);
    world.post(run, cancel("first", "r1")).expect("delivered");
    world.tick(5);
    world.post(run, cancel("second", "r2")).expect("delivered");
    let stands = world.head(run).cancel.expect("it was requested");
    assert_eq!((stands.cause, stands.requested_at), (cause("first"), at));
    assert_eq!(stands.decided_at, None, "nobody has read it");
    assert_eq!(names(&world.inbox(run)), ["Wake", "Cancel", "Cancel"]);
}

/// Cancelling what is over is success: there is a receipt, and it is clean at once.
pub fn a_cancel_of_a_closed_run_is_done(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    world.close(run, Status::Completed);
    refused!(world.post(run, cancel("ops", "")), Error::Closed { .. });
    for message in [cancel("ops", "r1"), terminate("ops")] {
        let (receipt, posted) = world.post_receipt(run, message);
        assert_eq!(posted.expect("there is nothing to do"), Posted::Finished(run));
        let left = block_on(world.store().leftovers(Subtree::Receipt(receipt))).expect("kept");
        assert!(left.clean(), "{left:?}");
    }
    assert_eq!(world.inbox(run), [], "nothing follows the close");
}

/// A repeated cancel has a receipt of its own, about the same run.
pub fn a_repeated_cancel_still_has_a_receipt(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let (_, first) = world.post_receipt(run, cancel("ops", "r1"));
    assert!(matches!(first, Ok(Posted::Delivered(..))), "{first:?}");
    let (receipt, second) = world.post_receipt(run, cancel("ops", "r1"));
    assert_eq!(second.expect("answered"), Posted::Repeated(run));
    let left = block_on(world.store().leftovers(Subtree::Receipt(receipt))).expect("kept");
    let row = left.receipt.expect("asked for by its receipt");
    assert_eq!((row.id, row.run, row.requested_at), (receipt, run, world.now()));
}

/// An open run is not deleted: it must be terminated first.
pub fn only_a_closed_run_is_deleted(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    refused!(world.delete(run), Error::Invalid(_));
    assert!(!world.head(run).deleted);
    world.close(run, Status::Terminated);
    assert_eq!(world.delete(run).expect("it is closed"), Posted::Deleted);
    assert!(world.head(run).deleted);
    let nobody = RunId { namespace: NAMESPACE, uuid: 404 };
    refused!(world.delete(nobody), Error::Missing(_));
}

/// Arrival is when the message came, whatever the run does later.
pub fn a_message_keeps_the_moment_of_its_arrival(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let at = world.tick(3);
    world.post(run, Message::Wake).expect("delivered");
    world.tick(3);
    let read = world.read(crate::Read::inbox(run));
    assert_eq!(read.inbox.last().map(|received| received.at), Some(at));
}

/// What a run has not received goes on with its chain: there is a bound to it, whoever sends. What
/// waits already is not sent twice, and what is no signal still comes.
pub fn a_run_takes_so_many_unread_signals_and_no_more(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("order-1");
    let (count, bytes) = (limits::UNREAD_MAX - 2, 7);
    world.run_turn(run, |turn| turn.commit.record.unread = Some(UnreadSize { count, bytes }));
    world.post(run, signal("a", "1")).expect("there is room");
    world.post(run, signal("b", "2")).expect("there is room for one");
    let full = |posted| matches!(posted, Err(Error::Refused(Refusal::TooManyUnread(..))));
    assert!(full(world.post(run, signal("c", "3"))));
    let repeated = world.post(run, signal("b", "2")).expect("it waits already");
    assert_eq!(repeated, Posted::Repeated(run));
    world.post(run, cancel("ops", "")).expect("a cancel always comes");
    assert_eq!(names(&world.inbox(run)), ["a", "b", "Cancel"]);
    let received = UnreadSize { count: count - 5, bytes };
    world.run_turn(run, |turn| turn.commit.record.unread = Some(received));
    world.post(run, signal("c", "3")).expect("some were received");
    let heavy = UnreadSize { count: 1, bytes: limits::UNREAD_BYTES_MAX };
    world.run_turn(run, |turn| turn.commit.record.unread = Some(heavy));
    assert!(full(world.post(run, signal("d", "4"))), "a few large ones are too many");
}

/// Nobody has turns for a run, and large signals come. They are weighed as they come.
pub fn what_waits_has_a_bound_in_bytes(harness: &dyn Harness) {
    let world = World::new(harness);
    for (id, large, slips) in [("large", 300_000, 1), ("small", 60_000, limits::UNREAD_WEIGHED)] {
        let run = world.start(id);
        let fit = limits::UNREAD_BYTES_MAX / large;
        let letter = || {
            let input = Some(Payload::wire(vec![7; large as usize]));
            Message::Signal(Box::new(Signal { name: "s".into(), input, ..Signal::default() }))
        };
        let mut taken = 0;
        let refused = loop {
            match world.post(run, letter()) {
                Ok(_) => taken += 1,
                Err(error) => break error,
            }
            assert!(taken <= fit + slips, "{id}: {taken} of {large} bytes were taken");
        };
        assert!(matches!(refused, Error::Refused(Refusal::TooManyUnread(..))), "{refused:?}");
        assert!(taken + 1 >= fit, "{id}: only {taken} were taken");
    }
}
