//! Slots are counted, paced and never freed twice.

use std::time::Duration;

use super::*;
use crate::clock::ManualClock;

const NO_RATE: Option<Rate> = None;

fn slots(count: usize, rate: Option<Rate>) -> (ManualClock, Leaks, Slots) {
    let clock = ManualClock::new(Time(0));
    let leaks = Leaks::new(2);
    let slots = Slots::new(SlotLimits { count, rate }, leaks.clone(), Arc::new(clock.clone()));
    (clock, leaks, slots)
}

#[test]
fn no_more_is_handed_out_than_there_is() {
    let (_, _, slots) = slots(3, NO_RATE);
    let held = slots.take(2);
    assert_eq!((held.len(), slots.taken()), (2, 2));
    assert_eq!(slots.take(9).len(), 1);
    drop(held);
    assert_eq!((slots.taken(), slots.take(9).len()), (0, 3));
}

#[tokio::test]
async fn somebody_who_waits_gets_the_slot_that_is_freed() {
    let (_, _, slots) = slots(1, NO_RATE);
    let held = slots.take(1);
    let waits = tokio::spawn({
        let slots = slots.clone();
        async move { slots.reserve(5).await.len() }
    });
    tokio::task::yield_now().await;
    assert!(!waits.is_finished());
    drop(held);
    assert_eq!(waits.await.unwrap(), 1);
}

#[tokio::test]
async fn starts_are_paced_by_the_clock() {
    let (clock, _, slots) = slots(10, Some(Rate::per_second(2)));
    let mut first = slots.reserve(10).await;
    assert_eq!(first.len(), 2);
    first.iter_mut().for_each(Permit::mark_used);
    let waits = tokio::spawn({
        let slots = slots.clone();
        async move { slots.reserve(10).await }
    });
    clock.until_next_due(Time(500_000)).await;
    clock.advance(Duration::from_millis(500));
    assert_eq!(waits.await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_permit_that_was_not_used_costs_nothing_of_the_rate() {
    let (_, _, slots) = slots(10, Some(Rate::per_second(2)));
    drop(slots.take(2));
    let mut used = slots.take(2);
    assert_eq!(used.len(), 2);
    used.iter_mut().for_each(Permit::mark_used);
    drop(used);
    assert!(slots.take(2).is_empty());
}

#[tokio::test]
async fn a_worker_with_too_many_leaks_takes_nothing_until_one_ends() {
    let (_, leaks, slots) = slots(4, NO_RATE);
    let mut leaked: Vec<_> = slots.take(2).into_iter().map(Permit::leak).collect();
    assert_eq!((slots.taken(), leaks.leaked()), (0, 2), "the slots are free, the code is counted");
    assert!(slots.take(1).is_empty());
    let waits = tokio::spawn({
        let slots = slots.clone();
        async move { slots.reserve(1).await.len() }
    });
    tokio::task::yield_now().await;
    assert!(!waits.is_finished());
    leaked.pop();
    assert_eq!((waits.await.unwrap(), leaks.leaked()), (1, 1));
}

#[tokio::test]
async fn other_limits_count_at_once_and_disturb_nothing_that_runs() {
    let (_, _, slots) = slots(3, NO_RATE);
    let mut held = slots.take(3);
    slots.configure(SlotLimits { count: 1, rate: NO_RATE });
    assert_eq!((slots.taken(), slots.count()), (3, 1));
    held.pop();
    held.pop();
    assert!(slots.take(1).is_empty(), "one still runs, and one is all there may be");
    let waits = tokio::spawn({
        let slots = slots.clone();
        async move { slots.reserve(5).await.len() }
    });
    tokio::task::yield_now().await;
    slots.configure(SlotLimits { count: 2, rate: NO_RATE });
    assert_eq!(waits.await.unwrap(), 1);
}

#[tokio::test]
async fn idle_is_told_when_the_last_slot_is_free() {
    let (_, _, slots) = slots(2, NO_RATE);
    let mut held = slots.take(2);
    let idle = tokio::spawn({
        let slots = slots.clone();
        async move { slots.idle().await }
    });
    held.pop();
    tokio::task::yield_now().await;
    assert!(!idle.is_finished());
    held.pop();
    idle.await.unwrap();
}
