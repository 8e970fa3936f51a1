//! The same promises, from several threads at once.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use bowline_core::{Address, Ending, EventId, Number, Payload, Status, Step};

use super::{
    Harness,
    world::{
        World,
        turn::{signal, spec},
        wait::block_on,
    },
};
use crate::{Error, Posted, Posting};

const THREADS: usize = 4;

/// Whoever decided on the same version: one of them wins.
pub fn one_commit_of_many_wins(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let commits: Vec<_> = (0..THREADS).map(|_| world.turn(run).build()).collect();
    let store = world.store();
    let answers: Vec<_> = thread::scope(|scope| {
        let spawn = |commit| scope.spawn(move || block_on(store.commit(vec![commit])).remove(0));
        let threads: Vec<_> = commits.into_iter().map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    let lost = answers.iter().filter(|answer| matches!(answer, Err(Error::Conflict)));
    assert_eq!(lost.count(), THREADS - 1, "{answers:?}");
    assert_eq!(world.events(run).len(), 2);
}

/// Messages race a run that wants to close: each one that was acknowledged was consumed.
pub fn no_acknowledged_message_is_lost_beside_a_close(harness: &dyn Harness) {
    const EACH: usize = 100;
    let world = World::new(harness);
    let run = world.start("a");
    let (store, now) = (world.store(), world.now());
    let post = || {
        let mut numbers = Vec::new();
        for _ in 0..EACH {
            let (to, message) = (Address::Run(run), signal("s", ""));
            let posting = Posting::Message { to, message, now, receipt: None };
            match block_on(store.post(vec![posting])).remove(0) {
                Ok(Posted::Delivered(_, number)) => numbers.push(number),
                Err(Error::Closed { .. }) => break,
                other => panic!("{other:?}"),
            }
        }
        numbers
    };
    let (mut acknowledged, consumed) = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(post)).collect();
        let consumed = loop {
            let mut turn = world.turn(run);
            let consumed = turn.commit.consumed;
            if consumed.0 as usize > EACH {
                turn.close(Status::Completed);
            }
            match world.commit(turn) {
                Ok(_) if consumed.0 as usize > EACH => break consumed,
                Ok(_) | Err(Error::Conflict) => {}
                Err(other) => panic!("{other:?}"),
            }
        };
        let numbers = threads.into_iter().flat_map(|thread| thread.join().expect("no panic"));
        (numbers.collect::<Vec<Number>>(), consumed)
    });
    acknowledged.sort_unstable();
    let expected: Vec<Number> = (2..=consumed.0).map(Number).collect();
    assert_eq!(acknowledged, expected, "from the first to the last, without a gap");
    assert_eq!(world.inbox(run), []);
}

/// Many claim at once: each activity starts once, and all of them do.
pub fn each_activity_starts_once(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(200, &spec("work"));
    world.commit(turn).expect("nobody else writes");
    let (store, claim) = (world.store(), world.claiming_activities(3));
    let mut taken: Vec<EventId> = thread::scope(|scope| {
        let take = || {
            let mut taken = Vec::new();
            loop {
                let claimed = block_on(store.claim_activities(claim.clone())).expect("alive");
                match claimed.is_empty() {
                    true => return taken,
                    false => taken.extend(claimed.into_iter().map(|claimed| claimed.activity)),
                }
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(take)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    taken.sort_unstable();
    assert_eq!(taken, ids.ids().collect::<Vec<_>>());
}

/// Claims race a cancel of everything: whatever started before it is hit, and nothing starts once
/// it is acknowledged.
pub fn nothing_starts_after_an_acknowledged_cancel(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    let mut turn = world.turn(run);
    let ids = turn.schedule_many(300, &spec("work"));
    world.commit(turn).expect("nobody else writes");
    let (store, claim) = (world.store(), world.claiming_activities(2));
    let (acknowledged, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let (hits, started) = thread::scope(|scope| {
        let take = || {
            let mut taken = Vec::new();
            while !done.load(Ordering::SeqCst) {
                let late = acknowledged.load(Ordering::SeqCst);
                let claimed = block_on(store.claim_activities(claim.clone())).expect("alive");
                assert!(!late || claimed.is_empty(), "started after its cancel: {claimed:?}");
                taken.extend(claimed.into_iter().map(|claimed| claimed.activity));
            }
            taken
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(take)).collect();
        let hits = world.run_turn(run, |turn| turn.cancel(ids.clone(), "code")).hits;
        acknowledged.store(true, Ordering::SeqCst);
        world.sweep_all();
        done.store(true, Ordering::SeqCst);
        let started = threads.into_iter().flat_map(|thread| thread.join().expect("no panic"));
        (hits, started.collect::<BTreeSet<EventId>>())
    });
    let hit: BTreeSet<EventId> = hits.into_iter().map(|hit| hit.activity).collect();
    assert_eq!(hit, started);
    assert_eq!(world.leftovers(run).never_started, 300 - started.len() as u64);
}

/// Many report the end of the same attempt: one of them is heard.
pub fn an_attempt_has_one_outcome(harness: &dyn Harness) {
    let world = World::new(harness);
    let run = world.start("a");
    world.run_turn(run, |turn| turn.schedule(spec("work")));
    let claimed = world.claim_one();
    let report = |at: usize| {
        let result = Some(Payload::json(at.to_string()));
        world.settling(&claimed, Ending::Completed(result))
    };
    let reports: Vec<_> = (0..THREADS).map(report).collect();
    let store = world.store();
    let steps: Vec<Step> = thread::scope(|scope| {
        let tell = |report| scope.spawn(move || block_on(store.settle(vec![report])).remove(0));
        let threads: Vec<_> = reports.into_iter().map(tell).collect();
        let answers = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        answers.map(|answer| answer.expect("taken").step).collect()
    });
    assert_eq!(steps.iter().filter(|step| **step == Step::Ended).count(), 1, "{steps:?}");
    assert_eq!(world.inbox(run).len(), 1);
}
