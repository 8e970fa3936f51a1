//! The program of the README: start, cancel, and know that it stopped.
//!
//! ```text
//! refunded: payment for a rope
//! cancel requested by customer (changed my mind)
//! order-42 (checkout) cancelled  decided …  closed …
//! └─ ship #… was told, and stopped by itself [scope_exit]  decided …  stopped …
//! clean: nothing is left running
//! Err(Cancelled(Cause[requested by customer (changed my mind)]))
//! ```

use bowline::prelude::*;
use std::{io, time::Duration};

async fn charge(order: String) -> bowline::Result<String> {
    Ok(format!("payment for {order}"))
}

async fn refund(payment: String) -> bowline::Result<()> {
    println!("refunded: {payment}");
    Ok(())
}

async fn ship(ctx: ActivityCtx, order: String) -> bowline::Result<String> {
    tokio::select! {
        _ = tokio::time::sleep(Duration::from_secs(3600)) => Ok(format!("{order} is on its way")),
        why = ctx.cancelled() => Err(io::Error::other(format!("parcel recalled: {why}")).into()),
    }
}

async fn checkout(ctx: Ctx, order: String) -> bowline::Result<String> {
    let shipping = ctx.scope(async {
        ctx.activity(charge, &order).timeout(Duration::from_secs(30)).await?;
        Ok(ctx.activity(ship, &order).await?)
    });
    // Runs after everything in the scope has really stopped, whether it failed or was cancelled.
    let undone = shipping.cleanup(async |ctx, stopped| {
        for payment in stopped.completed(charge) {
            ctx.activity(refund, payment).await?;
        }
        Ok(())
    });
    Ok(undone.await?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let app = Bowline::open("orders.db").workflow(checkout);
    let bowline = app.activity(charge).activity(refund).activity(ship).start().await?;
    let run = bowline.start(checkout, "order-42", "a rope").await?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let receipt = run.cancel("changed my mind").by("customer").await?;
    println!("{}", receipt.wait(Phase::Clean).await?); // the cancel tree: nothing is left running
    println!("{:?}", run.outcome().await?);
    Ok(())
}
