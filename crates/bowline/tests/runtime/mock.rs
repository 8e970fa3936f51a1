//! Mocks: other code in place of an activity's own, by its path and with its types.

use std::{cell::Cell, cell::RefCell, rc::Rc};

use bowline::{Phase, Retry, prelude::*};

use crate::shop::{app, charge, checkout, refund, ship};

#[test]
fn a_mock_stands_in_for_an_activity_until_it_is_taken_away() {
    bowline::test::run(app(), async |t| {
        t.mock(ship, async |order| Ok(format!("{order} was never sent")));
        let run = t.start(checkout, "order-1", "a rope").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "a rope was never sent");
        t.unmock(ship);
        let run = t.start(checkout, "order-2", "a rope").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "a rope arrived");
    });
}

#[test]
fn a_mock_may_hold_what_the_test_holds() {
    bowline::test::run(app(), async |t| {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let orders = seen.clone();
        t.mock(charge, async move |order: String| {
            orders.borrow_mut().push(order);
            Ok("paid".to_owned())
        });
        for id in ["order-1", "order-2"] {
            t.start(checkout, id, id).await.unwrap().result().await.unwrap();
        }
        assert_eq!(*seen.borrow(), ["order-1", "order-2"]);
    });
}

#[test]
fn a_mock_that_fails_makes_the_clean_up_run() {
    bowline::test::run(app(), async |t| {
        let refunds = Rc::new(Cell::new(0));
        let count = refunds.clone();
        t.mock(ship, async |_| Err(std::io::Error::other("the ship sank").into()));
        t.mock(refund, async move |payment: String| {
            assert_eq!(payment, "payment for a rope");
            count.set(count.get() + 1);
            Ok(())
        });
        let run = t.start(checkout, "order-1", "a rope").await.unwrap();
        let error = run.result().await.unwrap_err().to_string();
        assert!(error.contains("the ship sank"), "{error}");
        assert_eq!(refunds.get(), 1);
    });
}

#[test]
fn a_mock_is_cancelled_like_any_activity() {
    bowline::test::run(app(), async |t| {
        t.mock_with(ship, async |ctx: ActivityCtx, order| {
            ctx.cancelled().await;
            Ok(format!("{order} was on the ship already"))
        });
        let run = t.start(checkout, "order-1", "a rope").await.unwrap();
        t.settle().await;
        let receipt = run.cancel("enough").by("alice").await.unwrap();
        let tree = receipt.wait(Phase::Clean).await.unwrap();
        assert!(tree.to_string().contains("ship"), "{tree}");
        assert_eq!(t.attempts(refund), 1);
        assert!(matches!(run.outcome().await.unwrap(), Err(Ended::Cancelled(_))));
    });
}

#[test]
fn a_panic_in_a_mock_is_the_attempts() {
    async fn patient(ctx: Ctx, order: String) -> bowline::Result<String> {
        Ok(ctx.activity(charge, order).retry(Retry::every(crate::shop::DAY)).await?)
    }
    bowline::test::run(app().workflow(patient), async |t| {
        t.mock_with(charge, async |ctx: ActivityCtx, order| {
            assert!(ctx.info().attempt > 2, "not yet");
            Ok(order)
        });
        let run = t.start(patient, "order-1", "a rope").await.unwrap();
        assert_eq!(run.result().await.unwrap(), "a rope");
        assert_eq!(t.attempts(charge), 3);
    });
}

#[test]
#[should_panic(expected = "is not registered: add `.activity(unknown)` to the builder")]
fn only_what_is_registered_can_be_mocked() {
    async fn unknown(order: String) -> bowline::Result<String> {
        Ok(order)
    }
    bowline::test::run(app(), async |t| t.mock(unknown, async |order| Ok(order)));
}
