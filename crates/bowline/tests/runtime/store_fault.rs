//! A store that fails once: before a step, so that nothing is done, or after it, so that nobody
//! knows.

use bowline::{
    Phase,
    prelude::*,
    test::{Fault, Point, Step},
};

use crate::shop::{DAY, app, charge, checkout, refund, ship};

#[test]
fn a_store_that_fails_once_anywhere_changes_nothing() {
    for step in [Step::Post, Step::Claim, Step::Commit, Step::Settle] {
        for point in [Point::before(step), Point::after(step)] {
            println!("{point}");
            bowline::test::run(app(), async |t| {
                t.once(point.clone(), Fault::StoreFails);
                let run = t.start(checkout, "order-1", "a rope").await.unwrap();
                assert_eq!(run.result().await.unwrap(), "a rope arrived");
                assert_eq!((t.attempts(charge), t.attempts(ship)), (1, 1));
                t.advance(DAY).await;
            });
        }
    }
}

#[test]
fn a_cancel_whose_way_is_hit_by_a_failing_store_still_arrives() {
    for step in [Step::Post, Step::Commit, Step::Settle, Step::Renew] {
        for point in [Point::before(step), Point::after(step)] {
            println!("{point}");
            bowline::test::run(app(), async |t| {
                let run = t.start(checkout, "order-1", "a rope").await.unwrap();
                t.advance(DAY).await;
                t.once(point.clone(), Fault::StoreFails);
                let receipt = run.cancel("enough").by("alice").await.unwrap();
                receipt.wait(Phase::Clean).await.unwrap();
                assert_eq!(t.attempts(refund), 1);
                assert!(matches!(run.outcome().await.unwrap(), Err(Ended::Cancelled(_))));
                t.advance(DAY).await;
            });
        }
    }
}

#[test]
fn timers_ring_although_the_store_failed() {
    async fn nap(ctx: Ctx) -> bowline::Result<()> {
        ctx.sleep(DAY).await?;
        Ok(())
    }
    for point in [Point::before(Step::Fire), Point::after(Step::Fire)] {
        bowline::test::run(app().workflow(nap), async |t| {
            let start = t.now();
            let run = t.start(nap, "n", ()).await.unwrap();
            t.advance(DAY / 2).await;
            t.once(point.clone(), Fault::StoreFails);
            run.result().await.unwrap();
            let late = t.now().duration_since(start).unwrap() - DAY;
            assert!(late < DAY / 1000, "{late:?}");
        });
    }
}

#[test]
#[should_panic(expected = "the store takes no part in Phase::Observed: it cannot fail there")]
fn where_the_store_takes_no_part_it_cannot_fail() {
    bowline::test::run(app(), async |t| {
        t.once(Point::before(Phase::Observed).of(ship), Fault::StoreFails);
    });
}
