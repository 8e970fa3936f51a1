//! Alarms ring: timers, limits of runs, limits of activities; and the ladder of a run, which is
//! armed by the request that stands in its inbox, and needs no code.

use std::time::Duration;

use bowline_core::{
    ActivitySpec, Address, Alarm, AlarmKind, Cancel, Cause, Code, EventId, Holder, Ladders,
    Message, Outcome, Parked, RequestId, RetryPolicy, RunAlarm, RunId, RunLadder, Span, Status,
    Timeout, Timeouts,
};

use super::{
    Harness,
    world::{
        World, heartbeat,
        turn::{birth, cancel, cause, names, signal, spec, started},
        wait::block_on,
    },
};
use crate::{Renewal, Want};

fn seconds(seconds: u64) -> Option<Span> {
    Some(Span(Duration::from_secs(seconds)))
}

/// Timers ring in the order of their times, not before, and each of them once.
pub fn timers_ring_in_order(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let now = world.now();
    let mut turn = world.turn(run);
    let ids: Vec<EventId> = [30, 10, 20]
        .into_iter()
        .map(|after| {
            let due = now.after(Duration::from_secs(after));
            match turn.timer(due).what {
                AlarmKind::Timer(timer) => timer,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    world.commit(turn).expect("nobody else writes");
    let early = world.fire();
    assert_eq!((early.rang, early.next), (0, Some(now.after(Duration::from_secs(10)))));
    world.tick(20);
    let fired = world.fire();
    assert_eq!((fired.rang, &fired.runs[..]), (2, &[run][..]));
    assert_eq!(fired.next, Some(now.after(Duration::from_secs(30))));
    assert_eq!(world.inbox(run), [Message::FireTimer(ids[1]), Message::FireTimer(ids[2])]);
    world.tick(20);
    assert_eq!(world.fire().rang, 1);
    assert_eq!(world.fire().rang, 0);
    assert_eq!(world.inbox(run).len(), 3);
}

/// No more rings at once than were asked for; the rest rings next. Timers of one moment ring in the
/// order in which they were set.
pub fn rings_are_bounded(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let set: Vec<_> = (0..40).filter_map(|_| turn.timer(world.now()).what.message()).collect();
    world.commit(turn).expect("nobody else writes");
    let fired = block_on(world.store().fire(world.now(), 30)).expect("alarms ring");
    assert_eq!((fired.rang, fired.next), (30, Some(world.now())));
    assert_eq!(world.inbox(run), set[..30]);
    let fired = block_on(world.store().fire(world.now(), 30)).expect("alarms ring");
    assert_eq!((fired.rang, fired.next), (10, None));
    assert_eq!(world.inbox(run), set);
}

/// A timer is unset by the very value that set it; another of the same time still rings.
pub fn an_unset_timer_does_not_ring(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let due = world.now().after(Duration::from_secs(5));
    let (first, second) = (turn.timer(due), turn.timer(due));
    world.commit(turn).expect("nobody else writes");
    world.run_turn(run, |turn| turn.commit.disarm.push(first));
    world.tick(9);
    assert_eq!(world.fire().rang, 1);
    let AlarmKind::Timer(timer) = second.what else { panic!() };
    assert_eq!(world.inbox(run), [Message::FireTimer(timer)]);
}

/// Nothing of a closed run rings.
pub fn a_closed_run_has_no_alarms(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let limit = Alarm { due: world.now(), what: AlarmKind::Run(RunAlarm::Run) };
    world.run_turn(run, |turn| {
        turn.timer(world.now());
        turn.commit.arm.push(limit);
    });
    world.close(run, Status::Completed);
    world.tick(9);
    let fired = world.fire();
    assert_eq!((fired.rang, fired.runs.len(), fired.next), (0, 0, None));
    assert_eq!(world.inbox(run), []);
}

/// A run's own limits come as messages, those that it was born with too.
pub fn limits_of_a_run_ring(harness: &dyn Harness) {
    let world = World::new(harness);
    let mut birth = birth(world.run_id(), "a", world.now());
    let due = world.now().after(Duration::from_secs(60));
    birth.alarms = vec![Alarm { due, what: AlarmKind::Run(RunAlarm::Run) }];
    let run = world.begin_run(birth);
    world.run_turn(run, |_| {});
    world.tick(60);
    assert_eq!(world.fire().runs, [run]);
    assert_eq!(world.inbox(run), [Message::TimeOut(RunAlarm::Run)]);
    assert_eq!(world.take_runs(), [run]);
}

/// An activity waited too long for a worker: it is over, and no worker gets it.
pub fn an_activity_waits_too_long(harness: &dyn Harness) {
    let world = World::new(harness);
    let timeouts = Timeouts { schedule_to_start: seconds(5), ..Timeouts::default() };
    let run = scheduled(&world, timeouts);
    assert_eq!(world.fire().next, Some(world.now().after(Duration::from_secs(5))));
    world.tick(5);
    let fired = world.fire();
    assert_eq!((fired.runs.len(), fired.hits.len()), (1, 0));
    let [Message::EndActivity(end)] = &world.inbox(run)[..] else { panic!() };
    assert_eq!(end.outcome, Outcome::TimedOut(Timeout::ScheduleToStart));
    assert_eq!((end.attempt, end.started_at), (0, None));
    assert_eq!(world.claim(9).len(), 0);
}

/// The limit on waiting is no limit once a worker has it.
pub fn a_started_activity_waits_no_longer(harness: &dyn Harness) {
    let world = World::new(harness);
    let timeouts = Timeouts { schedule_to_start: seconds(5), ..Timeouts::default() };
    let run = scheduled(&world, timeouts);
    world.claim_remote();
    world.tick(60);
    assert_eq!(world.fire().runs, []);
    assert_eq!(world.inbox(run), []);
}

/// A silent remote attempt is stopped and tried again; one that is heard of goes on.
pub fn a_silent_remote_attempt_is_stopped(harness: &dyn Harness) {
    let world = World::new(harness);
    let timeouts = Timeouts { heartbeat: seconds(10), ..Timeouts::default() };
    let run = scheduled(&world, timeouts);
    let claimed = world.claim_remote();
    for _ in 0..3 {
        world.tick(8);
        let heartbeats = vec![heartbeat(&claimed)];
        world.renew(Renewal { heartbeats, ..world.renewal() });
        assert_eq!(world.fire().hits, []);
    }
    world.tick(10);
    let fired = world.fire();
    let [hit] = &fired.hits[..] else { panic!("{fired:?}") };
    assert_eq!((hit.run, hit.activity, hit.attempt), (run, claimed.activity, 1));
    assert_eq!((&hit.cause, hit.cancel), (&Cause::new(Code::AttemptTimedOut), false));
    assert!(matches!(hit.holder, Holder::Remote { .. }));
    assert_eq!(world.inbox(run), [], "it is tried again");
    world.tick(5);
    assert_eq!(world.claim_one().live.attempt, 2);
}

/// Native code is watched by the process that runs it; the store leaves it alone.
pub fn a_native_attempt_is_not_timed_out_here(harness: &dyn Harness) {
    let world = World::new(harness);
    let timeouts = Timeouts {
        heartbeat: seconds(1),
        start_to_close: seconds(1),
        schedule_to_close: seconds(1),
        schedule_to_start: seconds(1),
    };
    scheduled(&world, timeouts);
    let claimed = world.claim_one();
    world.tick(60);
    assert_eq!(world.fire().runs, []);
    assert!(world.rows(claimed.run)[0].live.started().is_some());
}

/// All attempts together took too long: there is no other.
pub fn all_attempts_together_take_too_long(harness: &dyn Harness) {
    let world = World::new(harness);
    let timeouts = Timeouts { schedule_to_close: seconds(30), ..Timeouts::default() };
    let run = scheduled(&world, timeouts);
    world.claim_remote();
    world.tick(30);
    assert_eq!(world.fire().hits.len(), 1);
    let [Message::EndActivity(end)] = &world.inbox(run)[..] else { panic!() };
    assert_eq!(end.outcome, Outcome::TimedOut(Timeout::ScheduleToClose));
    assert_eq!(end.attempt, 1);
}

/// A run closed while a remote worker had its activity, and that worker never answers: the limit
/// of the activity is the end of it, or the receipt would wait for ever.
pub fn a_remote_attempt_of_a_closed_run_still_has_its_limit(harness: &dyn Harness) {
    let world = World::new(harness);
    let timeouts = Timeouts { start_to_close: seconds(30), ..Timeouts::default() };
    let run = scheduled(&world, timeouts);
    let claimed = world.claim_remote();
    world.run_turn(run, |turn| {
        turn.cancel(claimed.activity, "close");
        turn.close(Status::Terminated);
    });
    assert!(!world.leftovers(run).settled());
    world.tick(30);
    assert_eq!(world.fire().runs, [], "nobody is told");
    let left = world.leftovers(run);
    assert!(left.settled(), "{left:?}");
    assert_eq!(left.attempts[0].cause, Some(cause("close")));
}

/// A cancelled attempt that passes a limit is not tried again.
pub fn a_cancelled_attempt_times_out_for_good(harness: &dyn Harness) {
    let world = World::new(harness);
    let timeouts = Timeouts { start_to_close: seconds(30), ..Timeouts::default() };
    let run = scheduled(&world, timeouts);
    let claimed = world.claim_remote();
    world.run_turn(run, |turn| turn.cancel(claimed.activity, "code"));
    world.tick(30);
    assert_eq!(world.fire().runs, [run]);
    let [Message::EndActivity(end)] = &world.inbox(run)[..] else { panic!() };
    assert_eq!(end.outcome, Outcome::TimedOut(Timeout::StartToClose));
    world.tick(60);
    assert_eq!(world.claim(9).len(), 0);
}

/// A marked activity passes its limit in the queue: it was over before, and nobody is told again.
pub fn a_marked_activity_does_not_time_out(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let timeouts = Timeouts { schedule_to_start: seconds(5), ..Timeouts::default() };
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(100, &ActivitySpec { timeouts, ..spec("work") });
    world.commit(turn).expect("nobody else writes");
    world.run_turn(run, |turn| turn.cancel(ids.clone(), "code"));
    world.tick(5);
    assert_eq!(world.fire().runs, []);
    assert_eq!(world.inbox(run), [Message::SkipActivities(ids)]);
    world.sweep_all();
    assert_eq!(world.leftovers(run).never_started, 100);
}

/// A message and a ring arrive together: each has a number of its own.
pub fn rings_stand_in_line_with_messages(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.timer(world.now()));
    world.post(run, signal("a", "")).expect("delivered");
    world.fire();
    let read = world.read(crate::Read::inbox(run));
    let numbers: Vec<u64> = read.inbox.iter().map(|received| received.number.0).collect();
    assert_eq!(numbers, [2, 3]);
}

/// A run with one activity that retries.
fn scheduled(world: &World<'_>, timeouts: Timeouts) -> RunId {
    let run = world.start("a");
    let spec = ActivitySpec { timeouts, retry: Some(RetryPolicy::default()), ..spec("work") };
    world.run_turn(run, |turn| turn.schedule(spec));
    run
}

fn ladder(seconds: u64) -> RunLadder {
    RunLadder { terminate_after: Span(Duration::from_secs(seconds)) }
}

/// A cancel that says what becomes of a run which does not obey.
fn pushing(seconds: u64) -> Message {
    let own = Ladders { run: Some(ladder(seconds)), ..Ladders::default() };
    let cause = Cause { ladders: Some(Box::new(own)), ..cause("alice") };
    let request_id = RequestId::default();
    Message::Cancel(Box::new(Cancel { cause, request_id, external: None, wire: None }))
}

/// A run that was started with a ladder of its own.
fn with_ladder(world: &World<'_>, seconds: u64) -> RunId {
    let mut birth = birth(world.run_id(), "a", world.now());
    started(&mut birth).expect("it begins").ladder = Some(ladder(seconds));
    world.begin_run(birth)
}

fn rings(world: &World<'_>, run: RunId) {
    let fired = world.fire();
    assert_eq!((fired.rang, &fired.runs[..]), (1, &[run][..]));
    let last = world.inbox(run).pop();
    assert_eq!(last, Some(Message::TimeOut(RunAlarm::Ladder)));
    let taken = world.claim_runs(world.claiming(Want::Intake, "turns"));
    assert_eq!(taken.len(), 1, "it is taken in by whoever comes, held or parked or not");
}

/// The alarm stands with the message, without a turn: the request's own, or that of the run.
pub fn a_request_arms_the_ladder_of_its_run(harness: &dyn Harness) {
    let mut world = World::new(harness);
    let run = world.start("asked");
    world.post(run, pushing(30)).expect("taken");
    let own = with_ladder(&world, 60);
    world.hold(own);
    world.post(own, cancel("alice", "")).expect("taken");
    world.tick(29);
    assert_eq!(world.fire().rang, 0);
    world.tick(1);
    rings(&world, run);
    world.run_turn(run, |turn| turn.close(Status::Terminated));
    world.reopen();
    world.tick(29);
    assert_eq!(names(&world.inbox(own)), ["Wake", "Cancel"], "a crash forgets nothing");
    world.tick(1);
    rings(&world, own);
}

/// Nobody works on a parked run, and yet its time passes.
pub fn the_ladder_of_a_parked_run_rings(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let bad =
        Parked { since: world.now(), failures: 3, reason: "panicked".into(), ..Parked::default() };
    world.run_turn(run, |turn| turn.commit.parked = Some(Some(bad)));
    world.post(run, pushing(30)).expect("taken");
    world.tick(30);
    rings(&world, run);
    world.close(run, Status::Terminated);
    let head = world.head(run);
    assert_eq!((head.status, head.parked), (Status::Terminated, None));
}

/// A second request may hasten, and what the run was started with does not begin again.
pub fn a_later_request_hastens_the_ladder(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = with_ladder(&world, 10);
    world.post(run, pushing(60)).expect("taken");
    world.tick(1);
    world.post(run, cancel("bob", "")).expect("taken");
    world.tick(30);
    assert_eq!(world.fire().rang, 0, "the first request said sixty");
    world.post(run, pushing(5)).expect("taken");
    world.tick(5);
    rings(&world, run);
}

/// One that is repeated is one request, and arms nothing more.
pub fn a_repeated_request_arms_once(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = with_ladder(&world, 10);
    world.post(run, cancel("alice", "r-1")).expect("taken");
    world.tick(5);
    world.post(run, cancel("alice", "r-1")).expect("taken");
    world.tick(5);
    rings(&world, run);
    assert_eq!(world.fire().next, None);
}

/// A cancel that another run sends arms the ladder where it arrives.
pub fn a_cancel_from_another_run_arms_the_ladder(harness: &dyn Harness) {
    let world = World::new(harness);
    let (parent, child) = (world.start("parent"), world.start("child"));
    world.run_turn(parent, |turn| turn.send(Address::Run(child), pushing(30)));
    world.tick(30);
    rings(&world, child);
}

/// The alarm goes with its run.
pub fn a_run_that_closes_takes_its_ladder_along(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = with_ladder(&world, 10);
    world.post(run, cancel("alice", "")).expect("taken");
    world.post(run, pushing(5)).expect("taken");
    world.close(run, Status::Cancelled);
    world.tick(60);
    let fired = world.fire();
    assert_eq!((fired.rang, fired.next), (0, None));
}
