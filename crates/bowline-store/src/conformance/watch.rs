//! Hints: nobody has to poll. They may come doubled or too often; these must come at all.

use std::time::Duration;

use bowline_core::{Address, AskId, Ending, Failure, Fence, Queue, RetryPolicy};

use super::{
    Harness,
    world::{
        NAMESPACE, World,
        turn::{Turn, birth, remote, signal, spec},
        wait::block_on,
    },
};
use crate::{Ask, AskBody, AskTarget, Head, Hint, Posted, Posting, Reply, Want};

/// A run that nobody holds became ready.
pub fn a_ready_run_is_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    let mut hints = world.store().watch();
    let run = world.start("a");
    world.hinted(&mut hints, &Hint::Turn(NAMESPACE, Queue::from("turns")));
    let fence = world.hold(run);
    world.run_turn(run, |turn| {
        turn.commit.fence = Some(fence);
        turn.release();
    });
    world.hinted(&mut hints, &Hint::Changed(run));
    hints.take();
    world.post(run, signal("a", "")).expect("delivered");
    world.hinted(&mut hints, &Hint::Turn(NAMESPACE, Queue::from("turns")));
}

/// A run that was released with unread messages is ready at once.
pub fn a_released_run_with_messages_is_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.hold(run);
    let mut turn = world.turn(run);
    world.post(run, signal("a", "")).expect("delivered");
    let mut hints = world.store().watch();
    turn.release();
    world.commit(turn).expect("nobody else writes");
    world.hinted(&mut hints, &Hint::Turn(NAMESPACE, Queue::from("turns")));
}

/// A message that comes beside the start and the first turn of a run: the turn is answered with it,
/// or there is a hint.
pub fn a_message_beside_a_first_turn_is_told(harness: &dyn Harness) {
    let world = World::new(harness);
    for number in 0..10 {
        let id = format!("order-{number}");
        let birth = birth(world.run_id(), &id, world.now());
        let (run, (mut head, _)) = (birth.run, Head::born(&birth).expect("it begins"));
        let mut start = world.starting(birth);
        let counter = 1_000 + number;
        start.hold = Some(Fence { epoch: world.epoch, counter });
        head.holder = start.hold;
        let mut turn = Turn::new(&head, world.id(), world.now()).build();
        turn.fence = start.hold;
        let mut hints = world.store().watch();
        let Some(begun) = world.store().post_ahead(vec![Posting::Start(Box::new(start))]) else {
            return;
        };
        let turned = world.store().commit(vec![turn]);
        let to = Address::Current(NAMESPACE, id.into());
        let (message, now) = (signal("a", ""), world.now());
        let told = world.store().post(vec![Posting::Message { to, message, now, receipt: None }]);
        assert!(matches!(block_on(begun)[..], [Ok(Posted::Started(begun))] if begun == run));
        let turned = block_on(turned).remove(0).expect("nobody else writes");
        // Nobody has been told yet that the run is there: it may not be.
        let is_told = block_on(told).remove(0).is_ok();
        if is_told && turned.unread.is_empty() {
            world.hinted(&mut hints, &Hint::Inbox(run));
        }
    }
}

/// A message for a run that somebody holds.
pub fn a_message_for_a_held_run_is_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.hold(run);
    let mut hints = world.store().watch();
    world.post(run, signal("a", "")).expect("delivered");
    world.hinted(&mut hints, &Hint::Inbox(run));
}

/// A remote run's turn waits, and then a message for it.
pub fn remote_work_is_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    let mut hints = world.store().watch();
    let run = world.begin_run(remote(world.run_id(), "a", world.now()));
    world.hinted(&mut hints, &Hint::RemoteTurn(NAMESPACE, Queue::from("remote")));
    world.post(run, signal("a", "")).expect("delivered");
    world.hinted(&mut hints, &Hint::Intake(NAMESPACE));
    let claimed = world.claim_runs(world.claiming(Want::RemoteTurn, "remote"));
    assert_eq!(claimed.len(), 1);
}

/// An activity waits: newly scheduled, handed back, or due again.
pub fn a_waiting_activity_is_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    let waiting = Hint::Activity(NAMESPACE, Queue::from("work"));
    let run = world.start("a");
    let mut hints = world.store().watch();
    let retry = Some(RetryPolicy::default());
    let spec = bowline_core::ActivitySpec { retry, ..spec("work") };
    world.run_turn(run, |turn| turn.schedule(spec));
    world.hinted(&mut hints, &waiting);
    let claimed = world.claim_one();
    hints.take();
    world.settle(&claimed, Ending::Returned);
    world.hinted(&mut hints, &waiting);
    let claimed = world.claim_one();
    hints.take();
    let due = world.now().after(Duration::from_secs(1));
    world.settle(&claimed, Ending::Failed(Failure::new("boom")));
    world.hinted(&mut hints, &Hint::Alarm(due));
    world.tick(1);
    world.fire();
    world.hinted(&mut hints, &waiting);
}

/// An alarm that rings before all others moves everybody's next look forward.
pub fn an_earlier_alarm_is_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut hints = world.store().watch();
    let later = world.now().after(Duration::from_secs(60));
    world.run_turn(run, |turn| turn.timer(later));
    world.hinted(&mut hints, &Hint::Alarm(later));
    let sooner = world.now().after(Duration::from_secs(30));
    world.run_turn(run, |turn| turn.timer(sooner));
    world.hinted(&mut hints, &Hint::Alarm(sooner));
}

/// A cancel that hits a running attempt is told at once, as a row and as a mark.
pub fn a_cancelled_attempt_is_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    for count in [1, 200] {
        let run = world.start(&format!("run-{count}"));
        let mut turn = world.turn(run);
        let ids = turn.schedule_many(count, &spec("work"));
        world.commit(turn).expect("nobody else writes");
        world.claim_one();
        let mut hints = world.store().watch();
        world.run_turn(run, |turn| turn.cancel(ids, "code"));
        world.hinted(&mut hints, &Hint::Cancelled);
    }
}

/// Work for the sweeper is told of.
pub fn work_for_sweeping_is_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(200, &spec("work"));
    world.commit(turn).expect("nobody else writes");
    let mut hints = world.store().watch();
    world.run_turn(run, |turn| turn.cancel(ids, "code"));
    world.hinted(&mut hints, &Hint::Sweep);
}

/// Whoever follows a run is told of every commit, and of its end.
pub fn a_changed_run_is_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut hints = world.store().watch();
    let child = birth(world.run_id(), "b", world.now());
    let id = child.run;
    world.run_turn(run, |turn| turn.child(child, bowline_core::ParentClose::Cancel));
    world.hinted(&mut hints, &Hint::Changed(run));
    world.close(id, bowline_core::Status::Completed);
    world.hinted(&mut hints, &Hint::Closed(id));
}

/// A question, and its answer.
pub fn questions_are_hinted_at(harness: &dyn Harness) {
    let world = World::new(harness);
    let mut hints = world.store().watch();
    let (id, to) = (AskId(world.id()), AskTarget::Member(world.epoch));
    let body = AskBody::Query { name: "state".into(), input: None };
    let deadline = world.now().after(Duration::from_secs(9));
    let answer = world.store().ask(Ask { id, to, body, deadline });
    world.hinted(&mut hints, &Hint::Asked);
    let reply = Reply { id, answer: Ok(None) };
    block_on(world.store().answer(world.epoch, vec![reply])).expect("taken");
    world.hinted(&mut hints, &Hint::Answered(id));
    block_on(answer).expect("answered");
}

/// Every listener has a mailbox of its own.
pub fn every_listener_hears_everything(harness: &dyn Harness) {
    let world = World::new(harness);
    let (mut first, mut second) = (world.store().watch(), world.store().watch());
    let run = world.start("a");
    world.hinted(&mut first, &Hint::Turn(NAMESPACE, Queue::from("turns")));
    world.hinted(&mut second, &Hint::Turn(NAMESPACE, Queue::from("turns")));
    assert_eq!(world.take_runs(), [run]);
}
