//! Testing with virtual time: a subscription lives for a year in a moment, its payment is
//! replaced by a mock, and the process dies where it hurts most.

use bowline::{
    Phase,
    prelude::*,
    test::{Fault, Point, Step, Test},
};
use std::time::Duration;

const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

async fn charge(_customer: String) -> bowline::Result<u64> {
    unreachable!("a test charges nobody")
}

async fn refund(_cents: u64) -> bowline::Result<()> {
    unreachable!("and gives nobody anything back")
}

async fn deliver(ctx: ActivityCtx, customer: String) -> bowline::Result<String> {
    tokio::select! {
        biased;
        why = ctx.cancelled() => Err(std::io::Error::other(format!("recalled: {why}")).into()),
        _ = tokio::time::sleep(Duration::from_secs(3 * 24 * 3600)) => Ok(customer),
    }
}

/// Twelve parcels, one a month. A parcel that does not arrive is paid back.
async fn subscription(ctx: Ctx, customer: String) -> bowline::Result<u32> {
    for _ in 0..12 {
        let month = ctx.scope(async {
            ctx.activity(charge, &customer).await?;
            Ok(ctx.activity(deliver, &customer).await?)
        });
        let undone = month.cleanup(async |ctx, stopped| {
            for cents in stopped.completed(charge) {
                ctx.activity(refund, cents).await?;
            }
            Ok(())
        });
        undone.await?;
        ctx.sleep(MONTH).await?;
    }
    Ok(12)
}

fn app() -> bowline::Builder {
    let app = Bowline::open("shop.db").workflow(subscription);
    app.activity(charge).activity(refund).activity(deliver)
}

fn mock(t: &Test) {
    t.mock(charge, async |customer| {
        println!("  {customer} pays 900");
        Ok(900)
    });
    t.mock(refund, async |cents| {
        println!("  {cents} are paid back");
        Ok(())
    });
}

fn main() {
    println!("a year:");
    bowline::test::run(app(), async |t| {
        mock(t);
        let (run, start) = (t.start(subscription, "s-1", "Ada").await.unwrap(), t.now());
        let parcels = run.result().await.unwrap();
        let days = t.now().duration_since(start).unwrap().as_secs() / 86_400;
        println!("  {parcels} parcels in {days} days");
    });

    println!("cancelled, and the worker is lost when its code was told and has not looked:");
    let recording = bowline::test::run(app(), async |t| {
        mock(t);
        t.once(Point::before(Phase::Observed).of(deliver), Fault::LoseWorker);
        let run = t.start(subscription, "s-2", "Bob").await.unwrap();
        t.advance(Duration::from_secs(3600)).await;
        let receipt = run.cancel("moved away").by("Bob").await.unwrap();
        let tree = receipt.wait(Phase::Clean).await.unwrap();
        tree.to_string().lines().for_each(|line| println!("  {line}"));
        run.record().await.unwrap()
    });

    println!("paid, and the process dies before that is noted:");
    bowline::test::run(app(), async |t| {
        mock(t);
        t.once(Point::before(Step::Settle).of(charge), Fault::Crash);
        t.start(subscription, "s-3", "Cid").await.unwrap();
        t.settle().await;
        println!("  charged {} times: it needs an idempotency key", t.attempts(charge));
    });

    let replayed = bowline::test::replay(app(), &recording);
    println!("recorded and replayed: {} events", replayed.expect("nothing has changed").events);
}
