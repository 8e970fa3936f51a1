//! Long runs: the work for a step does not grow with the steps before it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bowline_replay::Replay;

use crate::support::*;

const STEPS: usize = 10_000;

/// Counts the polls of the body, which is the number of polls of everything in it.
fn counted(
    polls: Arc<AtomicUsize>,
) -> impl Fn(bowline_replay::Context) -> bowline_replay::LocalFuture<'static, Body> {
    move |ctx| {
        let polls = polls.clone();
        Box::pin(async move {
            let mut steps = Box::pin(async move {
                for _ in 0..STEPS {
                    ctx.activity(activity("step")).await;
                }
                Ok(None)
            });
            std::future::poll_fn(move |cx| {
                polls.fetch_add(1, Ordering::Relaxed);
                steps.as_mut().poll(cx)
            })
            .await
        })
    }
}

#[test]
fn ten_thousand_steps_cost_one_poll_each_live_and_replayed() {
    let polls = Arc::<AtomicUsize>::default();
    let mut world = World::new(counted(polls.clone()));
    world.turn();
    while !world.closed() {
        world.send(completes(world.newest(), ""));
    }
    // One for the start, one for each outcome.
    assert_eq!(polls.swap(0, Ordering::Relaxed), STEPS + 1);
    let again = counted(polls.clone());
    let workflow = move |ctx, _| again(ctx);
    let mut replay = Replay::new(Arc::new(workflow), bowline_core::RunId::default());
    world.history.iter().for_each(|event| replay.feed(event).unwrap());
    assert!(replay.is_closed());
    assert_eq!(polls.load(Ordering::Relaxed), STEPS + 1);
}
