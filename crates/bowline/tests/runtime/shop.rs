//! The program under test: a shop whose orders are charged, shipped, and undone if need be.

use std::time::Duration;

use bowline::{Builder, prelude::*};

pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);
pub(crate) const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

pub(crate) async fn charge(order: String) -> bowline::Result<String> {
    Ok(format!("payment for {order}"))
}

pub(crate) async fn refund(payment: String) -> bowline::Result<()> {
    drop(payment);
    Ok(())
}

/// A month on its way, unless it is called back.
pub(crate) async fn ship(ctx: ActivityCtx, order: String) -> bowline::Result<String> {
    tokio::select! {
        biased;
        cause = ctx.cancelled() => Err(std::io::Error::other(format!("recalled: {cause}")).into()),
        // tidy: allow(sleep) Its time is virtual.
        () = tokio::time::sleep(DAY * 30) => Ok(format!("{order} arrived")),
    }
}

pub(crate) async fn checkout(ctx: Ctx, order: String) -> bowline::Result<String> {
    let shipping = ctx.scope(async {
        ctx.activity(charge, &order).await?;
        Ok(ctx.activity(ship, &order).await?)
    });
    let undone = shipping.cleanup(async |ctx, stopped| {
        for payment in stopped.completed(charge) {
            ctx.activity(refund, payment).await?;
        }
        Ok(())
    });
    Ok(undone.await?)
}

/// Reminds somebody once a day, for a year.
pub(crate) async fn remind(ctx: Ctx, who: String) -> bowline::Result<u32> {
    for _ in 0..365 {
        ctx.sleep(DAY).await?;
        ctx.activity(charge, &who).await?;
    }
    Ok(365)
}

pub(crate) fn app() -> Builder {
    let app = Bowline::open("never-opened.db").workflow(checkout).workflow(remind);
    app.activity(charge).activity(refund).activity(ship)
}
