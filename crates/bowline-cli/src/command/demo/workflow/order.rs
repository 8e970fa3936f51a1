//! An order: reserve, charge, ship. If it is stopped, what was done is undone.

use bowline::prelude::*;

use super::{latency, until_told};

pub(super) async fn checkout(ctx: Ctx, item: String) -> bowline::Result<String> {
    let shipping = ctx.scope(async {
        ctx.activity(reserve, &item).await?;
        ctx.activity(charge, &item).await?;
        Ok(ctx.activity(ship, &item).await?)
    });
    // Runs when everything in the scope has really stopped.
    let undone = shipping.cleanup(async |ctx, stopped| {
        for payment in stopped.completed(charge) {
            ctx.activity(refund, payment).await?;
        }
        for place in stopped.completed(reserve) {
            ctx.activity(release, place).await?;
        }
        Ok(())
    });
    Ok(undone.await?)
}

pub(super) async fn reserve(item: String) -> bowline::Result<String> {
    latency(50).await;
    Ok(format!("shelf 7: {item}"))
}

pub(super) async fn charge(item: String) -> bowline::Result<String> {
    latency(100).await;
    Ok(format!("payment for {item}"))
}

pub(super) async fn ship(ctx: ActivityCtx, _item: String) -> bowline::Result<String> {
    Err(until_told(&ctx).await.into())
}

/// Slow at first, so that the worker is killed in the middle of it on any machine.
pub(super) async fn refund(ctx: ActivityCtx, payment: String) -> bowline::Result<String> {
    latency(if ctx.info().attempt == 1 { 60_000 } else { 2_000 }).await;
    Ok(format!("refunded {payment}"))
}

pub(super) async fn release(place: String) -> bowline::Result<String> {
    latency(50).await;
    Ok(format!("released {place}"))
}
