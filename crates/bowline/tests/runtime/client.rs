//! Everything that a client can ask for works beside a process that dies in between.

use std::time::Duration;

use bowline::{
    Phase, Status,
    prelude::*,
    test::{Fault, Point, Step},
};

use crate::shop::{DAY, app, charge, refund};

const ADD: Signal<u64> = Signal::new("add");
const DONE: Signal<()> = Signal::new("done");
const SUM: Query<u64> = Query::new("sum");
const RAISE: Update<u64, u64> = Update::new("raise");

/// Adds up what it is sent, until it is told that this is all.
async fn sum(ctx: Ctx) -> bowline::Result<u64> {
    let shown = ctx.expose(SUM, 0);
    let (mut more, mut done, mut raises) = (ctx.signal(ADD), ctx.signal(DONE), ctx.update(RAISE));
    let mut sum = 0;
    loop {
        select! {
            n = more.recv() => sum += n,
            raise = raises.recv() => {
                match raise.input {
                    0 => drop(raise),
                    by => { sum += by; raise.reply(Ok(sum)) }
                }
            },
            _ = done.recv() => return Ok(sum),
        }
        shown.set(sum);
    }
}

/// Starts a child and waits for it.
async fn parent(ctx: Ctx) -> bowline::Result<u64> {
    Ok(ctx.child(sum, ()).id("the-child").await?)
}

fn client_app() -> bowline::Builder {
    app().workflow(sum).workflow(parent)
}

#[test]
fn signals_and_queries_survive_a_crash_between_them() {
    bowline::test::run(client_app(), async |t| {
        let run = t.start(sum, "s", ()).await.unwrap();
        run.signal(ADD, 3).await.unwrap();
        t.settle().await;
        assert_eq!(run.query(SUM).await.unwrap(), 3);
        t.crash().await;
        assert_eq!(run.query(SUM).await.unwrap(), 3);
        t.once(Point::after(Step::Post), Fault::Crash);
        run.signal(ADD, 4).await.unwrap();
        t.settle().await;
        assert_eq!(run.query(SUM).await.unwrap(), 7);
        run.signal(DONE, ()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), 7);
        assert_eq!(run.query(SUM).await.unwrap(), 7);
    });
}

#[test]
fn updates_are_answered_and_refused() {
    bowline::test::run(client_app(), async |t| {
        let run = t.start(sum, "s", ()).await.unwrap();
        assert_eq!(run.update(RAISE, 5).await.unwrap(), 5);
        assert!(run.update(RAISE, 0).await.is_err());
        assert_eq!(run.update(RAISE, 2).await.unwrap(), 7);
    });
}

#[test]
fn an_update_whose_process_dies_is_still_answered() {
    for point in [Point::before(Step::Commit), Point::after(Step::Commit)] {
        bowline::test::run(client_app(), async |t| {
            let run = t.start(sum, "s", ()).await.unwrap();
            t.settle().await;
            t.once(point.clone(), Fault::Crash);
            assert_eq!(run.update(RAISE, 5).await.unwrap(), 5);
        });
    }
}

#[test]
fn a_child_is_cancelled_with_its_parent_across_a_crash() {
    bowline::test::run(client_app(), async |t| {
        let run = t.start(parent, "p", ()).await.unwrap();
        t.settle().await;
        t.run("the-child").signal(ADD, 1).await.unwrap();
        t.once(Point::after(Step::Commit), Fault::LoseWorker);
        let receipt = run.cancel("enough").by("alice").await.unwrap();
        let tree = receipt.wait(Phase::Clean).await.unwrap();
        assert_eq!(tree.runs().len(), 2, "{tree}");
        assert!(run.outcome().await.unwrap().unwrap_err().is_cancelled());
        let child = t.run("the-child").describe().await.unwrap();
        assert_eq!(child.summary.status, Status::Cancelled);
    });
}

#[test]
fn runs_are_terminated_deleted_and_listed() {
    bowline::test::run(client_app(), async |t| {
        let run = t.start(sum, "s", ()).await.unwrap();
        let other = t.start(sum, "o", ()).await.unwrap();
        t.settle().await;
        run.terminate("no more").await.unwrap().wait(Phase::Clean).await.unwrap();
        assert_eq!(run.describe().await.unwrap().summary.status, Status::Terminated);
        assert!(run.delete("gone").await.unwrap().is_none(), "it is closed");
        let receipt = other.delete("gone too").await.unwrap().expect("it was open");
        receipt.wait(Phase::Clean).await.unwrap();
        // A receipt keeps what it is about for a month.
        t.advance(DAY * 40).await;
        assert!(run.describe().await.is_err());
        assert!(other.describe().await.is_err());
    });
}

#[test]
fn a_workflow_that_never_returns_is_parked_as_it_would_be() {
    async fn stuck(_: Ctx) -> bowline::Result<()> {
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv_timeout(Duration::from_secs(20));
        Ok(())
    }
    // By the wall: long enough for a busy machine to let the thread begin.
    let app = app().workflow(stuck).stuck_after(Duration::from_secs(2));
    bowline::test::run(app, async |t| {
        let run = t.start(stuck, "s", ()).await.unwrap();
        let error = run.result().await.unwrap_err().to_string();
        assert!(error.contains("did not return within"), "{error}");
        assert_eq!((t.attempts(charge), t.attempts(refund)), (0, 0));
    });
}
