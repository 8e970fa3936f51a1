//! Turns that come to nothing: panics, and code that never waits.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bowline_replay::Fault;
use expect_test::expect;

use crate::support::*;

#[test]
fn a_panic_fails_the_turn_and_not_the_run() {
    let broken = Arc::new(AtomicBool::new(true));
    let switch = broken.clone();
    let (mut world, _) = World::start(move |ctx| {
        let broken = switch.clone();
        async move {
            let _beside = ctx.activity(activity("beside")).start();
            ctx.activity(activity("a")).await;
            assert!(!broken.load(Ordering::Relaxed), "the database of tests is {}", "down");
            Ok(json("fine"))
        }
    });
    let (history, state) = (world.history.clone(), world.state.clone());
    world.post(completes(6, ""));
    let Err(Fault::Panicked(failure)) = world.try_turn() else { panic!("it did not panic") };
    expect!["panic: the database of tests is down"].assert_eq(&failure.to_string());
    assert_eq!(world.history, history, "nothing was committed");
    // Once the code is mended, the run goes on from its untouched history.
    broken.store(false, Ordering::Relaxed);
    world.state = state;
    world.evict();
    expect![[r#"
        drop Activities 5 in 0: run_completed
        12: complete fine
    "#]]
    .assert_eq(&world.send(completes(6, "")));
}

#[test]
fn a_panic_in_a_clean_up_or_a_drop_is_caught_as_well() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("boom");
            }
        }
    }
    let (mut world, _) = World::start(async |ctx| {
        let scope = ctx.scope(async { Ok(ctx.signals("never").recv().await) });
        scope.cleanup(async |_, _| panic!("while cleaning")).await?;
        Ok(None)
    });
    world.post(cancels("alice"));
    let said = world.try_turn().unwrap_err().to_string();
    let place = format!(", at {}:", file!());
    assert!(said.starts_with("the workflow's code panicked: panic: while cleaning"), "{said}");
    assert!(said.contains(&place), "{said}");

    let (mut world, _) = World::start(async |ctx| {
        let _bomb = Bomb;
        ctx.signals("never").recv().await;
        Ok(None)
    });
    world.post(cancels("alice"));
    let said = world.try_turn().unwrap_err().to_string();
    assert!(said.starts_with("the workflow's code panicked: panic: boom"), "{said}");
    assert!(said.contains(&place), "{said}");
}

#[test]
fn what_needs_a_runtime_says_what_to_use_instead() {
    let mut world = World::new(async |_| panic!("there is no reactor running"));
    let fault = world.try_turn().unwrap_err().to_string();
    assert!(fault.contains("use `ctx.sleep`"), "{fault}");
}

#[test]
fn code_that_never_waits_is_told_so() {
    let mut world = World::new(async |_| {
        std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            std::task::Poll::<Body>::Pending
        })
        .await
    });
    let fault = world.try_turn().unwrap_err();
    assert_eq!(fault, Fault::Spinning);
    let text = fault.to_string();
    assert!(text.contains("polled 100000 times for one message"), "{text}");
}
