//! Joins: all values in order, errors early, and only woken members polled.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bowline_replay::{join, join_all, try_join_all};
use expect_test::expect;

use crate::support::*;

/// Counts how often it is polled.
struct Counted<F> {
    inner: F,
    polls: Arc<AtomicUsize>,
}

impl<F: Future + Unpin> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.inner).poll(cx)
    }
}

#[test]
fn values_come_in_the_order_of_asking() {
    let (mut world, _) = World::start(async |ctx| {
        let calls = ["a", "b", "c"].map(|name| ctx.activity(activity(name)));
        let (all, more) = join(join_all(calls), ctx.activity(activity("d"))).await;
        let all: Vec<_> = all.iter().map(told).collect();
        Ok(json(format!("{} {}", all.join(" "), told(&more))))
    });
    let ends = [(8, "4"), (6, "2"), (7, "3"), (5, "1")];
    let shown = world.send_all(ends.map(|(number, result)| completes(number, result)));
    expect![[r#"
        20: complete 1 2 3 4
    "#]]
    .assert_eq(&shown);
    world.check_prefixes();
}

#[test]
fn the_first_error_drops_the_others() {
    let (mut world, _) = World::start(async |ctx| {
        let calls = (0..3).map(|_| async { ok(ctx.activity(activity("part")).await) });
        let result = try_join_all(calls).await;
        ctx.activity(activity("report")).await;
        Ok(json(format!("{:?}", result.err())))
    });
    expect![[r#"
        13: activity report
        drop Activities 5,7 in 0: future_dropped
    "#]]
    .assert_eq(&world.send(fails(6, "broken")));
    world.check_prefixes();
}

#[test]
fn an_empty_join_is_done_at_once() {
    let (_, first) = World::start(async |_| {
        let none = join_all(Vec::<std::future::Ready<()>>::new()).await.len();
        let also: Result<Vec<()>, ()> = try_join_all(Vec::<std::future::Ready<_>>::new()).await;
        Ok(json(format!("{none} {}", also.unwrap().len())))
    });
    expect![[r#"
        5: complete 0 0
    "#]]
    .assert_eq(&first);
}

/// Ten thousand outcomes: every member is polled once when it is made and once when its outcome
/// comes, however many others there are.
#[test]
fn a_fan_out_polls_only_who_was_woken() {
    const WIDE: usize = 10_000;
    let polls = Arc::<AtomicUsize>::default();
    let counter = polls.clone();
    let mut world = World::new(move |ctx| {
        let counter = counter.clone();
        async move {
            let calls = (0..WIDE).map(|_| {
                let inner = ctx.activity(activity("part"));
                Counted { inner, polls: counter.clone() }
            });
            let all = join_all(calls).await;
            Ok(json(all.len().to_string()))
        }
    });
    world.turn();
    assert_eq!(polls.load(Ordering::Relaxed), WIDE);
    for round in 0..100 {
        let from = 5 + round * 100;
        world.send_all((from..from + 100).rev().map(|number| completes(number, "1")));
    }
    assert!(world.closed());
    assert_eq!(polls.load(Ordering::Relaxed), 2 * WIDE);
}
