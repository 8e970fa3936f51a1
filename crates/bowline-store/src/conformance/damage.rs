//! Rows whose bytes do not read hold up nobody else: not the alarms, not the takeover of what dead
//! members had, not the reports of living ones, not what is made or deleted later. People see which
//! run it is, if that run's own row reads.

use std::time::Duration;

use bowline_core::{ActivitySpec, EventId, RunId, Span, Status, Time, Timeouts};

use super::{
    Damage, Harness,
    world::{
        World, attempt, heartbeat,
        turn::{cause, signal, spec},
        wait::block_on,
    },
};
use crate::{ClaimedActivity, HeartbeatReply, Renewal, Sighting};

/// Three runs, of which something of the second one will be damaged.
fn three(world: &World<'_>) -> [RunId; 3] {
    ["a", "b", "c"].map(|id| world.start(id))
}

/// The same, with an attempt of this member in each.
fn three_attempts(world: &World<'_>) -> [ClaimedActivity; 3] {
    three(world).map(|run| {
        world.run_turn(run, |turn| turn.schedule(spec("work")));
        world.claim_one()
    })
}

/// Nothing is left to ring that would have everybody look again at once.
fn is_later(world: &World<'_>, next: Option<Time>) -> bool {
    next.is_none_or(|next| next > world.now())
}

/// Timers ring beside those of a run that does not read, also where only one may ring at a time.
pub fn a_damaged_run_holds_up_no_timer(harness: &dyn Harness) {
    let world = World::new(harness);
    let [first, damaged, third] = three(&world);
    let due = world.now().after(Duration::from_secs(5));
    for run in [first, damaged, third] {
        world.run_turn(run, |turn| turn.timer(due));
    }
    if !harness.damage(Damage::Run(damaged)) {
        return;
    }
    world.tick(5);
    let mut rang = Vec::new();
    for _ in 0..4 {
        let fired = block_on(world.store().fire(world.now(), 1)).expect("alarms ring");
        rang.extend(fired.runs);
    }
    assert_eq!(rang, [first, third]);
    let fired = world.fire();
    assert!(fired.rang == 0 && is_later(&world, fired.next), "{fired:?}");
}

/// So they do beside an alarm that does not read itself.
pub fn a_damaged_alarm_holds_up_no_timer(harness: &dyn Harness) {
    let world = World::new(harness);
    let [first, damaged, third] = three(&world);
    let due = world.now().after(Duration::from_secs(5));
    for run in [first, damaged, third] {
        world.run_turn(run, |turn| turn.timer(due));
    }
    if !harness.damage(Damage::Alarm(damaged)) {
        return;
    }
    world.tick(5);
    let mut rang = Vec::new();
    for _ in 0..4 {
        let fired = block_on(world.store().fire(world.now(), 1)).expect("alarms ring");
        rang.extend(fired.runs);
    }
    assert_eq!(rang, [first, third]);
    let fired = world.fire();
    assert!(fired.rang == 0 && is_later(&world, fired.next), "{fired:?}");
}

/// Limits of activities are looked at beside one whose row does not read, and its run is shown.
pub fn a_damaged_activity_holds_up_no_limit(harness: &dyn Harness) {
    let world = World::new(harness);
    let [first, damaged, third] = three(&world);
    let wait = Some(Span(Duration::from_secs(5)));
    let timeouts = Timeouts { schedule_to_start: wait, ..Timeouts::default() };
    for run in [first, damaged, third] {
        let spec = ActivitySpec { timeouts, ..spec("work") };
        world.run_turn(run, |turn| turn.schedule(spec));
    }
    if !harness.damage(Damage::Activities(damaged)) {
        return;
    }
    world.tick(5);
    let fired = world.fire();
    assert_eq!(fired.runs, [first, third]);
    assert!(is_later(&world, fired.next), "{fired:?}");
    assert_eq!(fired.damaged.iter().map(|one| one.run).collect::<Vec<_>>(), [damaged]);
    assert!(world.head(damaged).parked.is_some(), "people see it");
    let fired = world.fire();
    assert!(fired.rang == 0 && is_later(&world, fired.next), "{fired:?}");
    assert!(fired.damaged.is_empty(), "it is told once: {fired:?}");
}

/// What a dead member had is taken over beside a run of it that does not read.
pub fn a_damaged_run_holds_up_no_takeover(harness: &dyn Harness) {
    taken_over(harness, Damage::Run);
}

/// The same beside an attempt that does not read; its run is shown.
pub fn a_damaged_activity_holds_up_no_takeover(harness: &dyn Harness) {
    taken_over(harness, Damage::Activities);
}

fn taken_over(harness: &dyn Harness, damage: fn(RunId) -> Damage) {
    let mut world = World::new(harness);
    let [first, damaged, third] = three_attempts(&world).map(|own| own.run);
    for run in [first, damaged, third] {
        world.post(run, signal("a", "")).expect("delivered");
    }
    assert_eq!(world.take_runs().len(), 3, "they are held");
    world.reopen();
    if !harness.damage(damage(damaged)) {
        return;
    }
    world.sweep_all();
    let next: Vec<_> = world.claim(9).into_iter().map(|own| own.run).collect();
    assert_eq!(next, [first, third], "attempts are tried again");
    let runs = world.take_runs();
    assert!(runs.contains(&first) && runs.contains(&third), "runs are free: {runs:?}");
    let again = world.sweep(9);
    assert_eq!((again.rows, again.more), (0, false), "it is not met again and again");
    if let Damage::Activities(run) = damage(damaged) {
        assert!(world.head(run).parked.is_some(), "people see it");
    }
    world.renew(Renewal { leave: true, ..world.renewal() });
}

/// A member reports, and is told what is cancelled, beside an attempt in a run that does not read:
/// that one is told that nobody knows of it.
pub fn a_damaged_run_holds_up_no_report(harness: &dyn Harness) {
    reported(harness, Damage::Run);
}

/// The same beside an attempt whose own row does not read.
pub fn a_damaged_activity_holds_up_no_report(harness: &dyn Harness) {
    reported(harness, Damage::Activities);
}

fn reported(harness: &dyn Harness, damage: fn(RunId) -> Damage) {
    let world = World::new(harness);
    let attempts = three_attempts(&world);
    let [first, damaged, third] = &attempts;
    for own in [damaged, third] {
        world.run_turn(own.run, |turn| turn.cancel(own.activity, "code"));
    }
    if !harness.damage(damage(damaged.run)) {
        return;
    }
    let heartbeats: Vec<_> = attempts.iter().map(heartbeat).collect();
    let seen = |own| Sighting {
        attempt: attempt(own),
        delivered_at: world.now(),
        observed_at: Some(world.now()),
    };
    let sightings = vec![seen(damaged), seen(third)];
    for _ in 0..2 {
        let controls = vec!["control".into()];
        let (heartbeats, sightings) = (heartbeats.clone(), sightings.clone());
        let renewal = Renewal { heartbeats, sightings, controls, ..world.renewal() };
        let renewed = world.renew(renewal);
        let cancelled = HeartbeatReply::Cancelled(cause("code"));
        let expected = [HeartbeatReply::Alive, HeartbeatReply::Gone, cancelled];
        assert_eq!(renewed.heartbeats, expected);
        let told: Vec<_> = renewed.cancels.iter().map(|hit| hit.run).collect();
        assert!(told.contains(&third.run), "{told:?}");
    }
    let line = world.leftovers(third.run).attempts.remove(0);
    assert_eq!(line.observed_at, Some(world.now()));
    let heard = world.rows(first.run).remove(0).live;
    assert_eq!(heard.started().map(|start| start.heard_at), Some(world.now()));
    world.renew(Renewal { leave: true, ..world.renewal() });
}

/// Rows that a wide commit owes are made beside those of a run whose history does not read.
pub fn a_damaged_history_holds_up_no_crowd(harness: &dyn Harness) {
    const CROWD: usize = 2_500;
    let mut world = World::new(harness);
    let [first, damaged, third] = three(&world);
    for run in [damaged, first, third] {
        world.run_turn(run, |turn| turn.schedule_many(CROWD, &spec("work")));
    }
    world.reopen();
    if !harness.damage(Damage::History(damaged)) {
        return;
    }
    world.sweep_all();
    assert_eq!(world.rows(first).len(), CROWD);
    assert_eq!(world.rows(third).len(), CROWD);
    let numbers = world.rows(third).into_iter().map(|row| row.activity);
    assert!(numbers.is_sorted_by(|a: &EventId, b| a < b));
}

/// What has expired goes, beside a run that does not read.
pub fn a_damaged_run_holds_up_no_forgetting(harness: &dyn Harness) {
    let world = World::new(harness);
    let [first, damaged, third] = three(&world);
    for run in [first, damaged, third] {
        world.close(run, Status::Completed);
    }
    if !harness.damage(Damage::Run(damaged)) {
        return;
    }
    world.tick(5);
    world.sweep_for(Duration::from_secs(1));
    assert!(!world.exists(first) && !world.exists(third));
}
