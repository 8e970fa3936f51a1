//! Processes that die, at every point there is: what was decided stands, and clean-up runs once.

use std::{cell::RefCell, rc::Rc, time::Duration};

use bowline::{
    CancelTree, Phase, Rung,
    prelude::*,
    test::{Fault, Point, Step, Test},
};

use crate::shop::{DAY, app, charge, checkout, refund, ship};

/// An order that is shipped for a month and called back after a day, with whatever goes wrong on
/// the way. Whatever it is, the payment is given back exactly once, and nothing is left.
async fn called_back(t: &Test) -> CancelTree {
    let refunds = Rc::new(RefCell::new(Vec::new()));
    let given_back = refunds.clone();
    t.mock(refund, async move |payment: String| {
        given_back.borrow_mut().push(payment);
        Ok(())
    });
    let run = t.start(checkout, "order-1", "a rope").await.unwrap();
    t.advance(DAY).await;
    let receipt = run.cancel("enough").by("alice").await.unwrap();
    let tree = receipt.wait(Phase::Clean).await.unwrap();
    assert_eq!(*refunds.borrow(), ["payment for a rope"], "{tree}");
    assert_eq!(t.attempts(charge), 1, "{tree}");
    assert!(matches!(run.outcome().await.unwrap(), Err(Ended::Cancelled(_))), "{tree}");
    assert!(t.orphans().await.unwrap().is_clean());
    tree
}

/// How far the shipping of an order had to be pushed.
fn rung(tree: &CancelTree) -> Option<Rung> {
    tree.activities().iter().find(|line| line.name == "ship").and_then(|line| line.rung)
}

#[test]
fn without_a_fault_the_code_is_told_and_stops_by_itself() {
    let tree = bowline::test::run(app(), called_back);
    assert_eq!(rung(&tree), Some(Rung::Signal), "{tree}");
}

#[test]
fn a_crash_at_any_phase_of_a_cancel_leaves_it_to_the_next_life() {
    for point in [
        Point::after(Phase::Decided),
        Point::before(Phase::Delivered),
        Point::after(Phase::Delivered),
        Point::before(Phase::Observed),
        Point::after(Phase::Observed),
    ] {
        let point = point.of(ship);
        println!("{point}");
        bowline::test::run(app(), async |t| {
            t.once(point.clone(), Fault::Crash);
            let start = t.now();
            let tree = called_back(t).await;
            // The process that ran the code is dead, so the code is.
            assert_eq!(rung(&tree), Some(Rung::Died), "{tree}");
            assert_eq!(t.attempts(ship), 1);
            assert_eq!(t.now(), start + DAY);
        });
    }
}

#[test]
fn code_that_looks_without_an_await_is_not_told_by_a_dead_process() {
    for point in [Point::before(Phase::Observed), Point::after(Phase::Observed)] {
        bowline::test::run(app(), async |t| {
            let told = Rc::new(RefCell::new(0));
            let count = told.clone();
            t.mock_with(ship, async move |ctx: ActivityCtx, order| {
                while !ctx.is_cancelled() {
                    // tidy: allow(sleep) Its time is virtual.
                    tokio::time::sleep(Duration::from_secs(5)).await;
                }
                *count.borrow_mut() += 1;
                Ok(order)
            });
            t.once(point.clone().of(ship), Fault::Crash);
            let tree = called_back(t).await;
            assert_eq!((rung(&tree), *told.borrow()), (Some(Rung::Died), 0), "{tree}");
        });
    }
}

#[test]
fn lost_work_is_not_begun_again_while_a_cancel_waits_to_be_decided() {
    bowline::test::run(app(), async |t| {
        t.once(Point::before(Phase::Decided).of(ship), Fault::Crash);
        let tree = called_back(t).await;
        assert_eq!((rung(&tree), t.attempts(ship)), (Some(Rung::Waiting), 1), "{tree}");
    });
}

#[test]
fn a_lost_worker_is_replaced_when_its_lease_has_run_out() {
    bowline::test::run(app(), async |t| {
        t.once(Point::before(Phase::Observed).of(ship), Fault::LoseWorker);
        let start = t.now();
        let tree = called_back(t).await;
        assert_eq!(rung(&tree), Some(Rung::Died), "{tree}");
        assert_eq!(t.now(), start + DAY + Duration::from_secs(30));
    });
}

#[test]
fn what_was_stopped_but_not_noted_is_found_to_be_dead() {
    for point in [Point::before(Phase::Stopped).of(ship), Point::after(Phase::Stopped).of(ship)] {
        bowline::test::run(app(), async |t| {
            t.once(point.clone(), Fault::Crash);
            called_back(t).await;
        });
    }
}

#[test]
fn a_crash_after_any_commit_changes_nothing() {
    let mut commits = 0;
    for nth in 1..100 {
        let after = |t: &Test| t.once(Point::after(Step::Commit).nth(nth), Fault::Crash);
        let before = |t: &Test| t.once(Point::before(Step::Commit).nth(nth), Fault::Crash);
        let count = bowline::test::run(app(), async |t| {
            let run = t.start(checkout, "order-0", "a knot").await.unwrap();
            assert_eq!(run.result().await.unwrap(), "a knot arrived");
            run.history().await.unwrap().iter().filter(|e| e.kind == "TurnCompleted").count()
        });
        if usize::try_from(nth).unwrap() > count {
            break;
        }
        for plan in [&after as &dyn Fn(&Test), &before] {
            bowline::test::run(app(), async |t| {
                plan(t);
                let run = t.start(checkout, "order-1", "a rope").await.unwrap();
                assert_eq!(run.result().await.unwrap(), "a rope arrived");
            });
        }
        commits += 1;
    }
    assert_eq!(commits, 3, "a turn for each step of the order");
}

#[test]
fn work_that_was_done_and_not_noted_is_done_again() {
    bowline::test::run(app(), async |t| {
        t.once(Point::before(Step::Settle).of(charge), Fault::Crash);
        let run = t.start(checkout, "order-1", "a rope").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "a rope arrived");
        assert_eq!(t.attempts(charge), 2);
    });
}

#[test]
fn code_whose_process_dies_as_it_begins_is_begun_again() {
    for (point, attempts) in [(Point::before(Step::Begin), 1), (Point::after(Step::Begin), 2)] {
        bowline::test::run(app(), async |t| {
            t.once(point.clone().of(charge), Fault::Crash);
            let run = t.start(checkout, "order-1", "a rope").await.unwrap();
            assert_eq!(run.result().await.unwrap(), "a rope arrived");
            // A process that died before the first poll has not begun anything.
            assert_eq!(t.attempts(charge), attempts);
        });
    }
}

#[test]
fn a_mocked_attempt_dies_at_the_same_points() {
    bowline::test::run(app(), async |t| {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let attempts = seen.clone();
        t.mock_with(charge, async move |ctx: ActivityCtx, order| {
            attempts.borrow_mut().push(ctx.info().attempt);
            Ok(order)
        });
        t.once(Point::after(Step::Begin).of(charge), Fault::Crash);
        let run = t.start(checkout, "order-1", "a rope").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "a rope arrived");
        assert_eq!(*seen.borrow(), [1, 2]);
    });
}

#[test]
fn the_process_can_be_killed_at_any_moment() {
    bowline::test::run(app(), async |t| {
        let run = t.start(checkout, "order-1", "a rope").await.unwrap();
        t.advance(DAY).await;
        t.crash().await;
        t.advance(DAY).await;
        t.crash().await;
        assert_eq!(run.result().await.unwrap(), "a rope arrived");
        assert_eq!((t.attempts(charge), t.attempts(ship)), (1, 3));
    });
}

#[test]
#[should_panic(expected = "never happened: Crash the third time after Step::Commit")]
fn a_fault_that_never_happens_fails_the_test() {
    bowline::test::run(app(), async |t| {
        t.once(Point::after(Step::Commit).nth(3), Fault::Crash);
    });
}

#[test]
#[should_panic(expected = "nothing passes Phase::Clean at one moment")]
fn a_phase_that_nobody_passes_is_no_point() {
    let _ = Point::before(Phase::Clean);
}
