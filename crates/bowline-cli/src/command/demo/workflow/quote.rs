//! A race of two suppliers: the first answer wins, the other is called off.

use bowline::prelude::*;

use super::{latency, until_told};

pub(super) async fn quote(ctx: Ctx, item: String) -> bowline::Result<String> {
    let price = select! {
        price = ctx.activity(ask_supplier, "near") => price?,
        price = ctx.activity(ask_supplier, "far") => price?,
    };
    Ok(format!("{item}: {price}"))
}

pub(super) async fn ask_supplier(ctx: ActivityCtx, supplier: String) -> bowline::Result<String> {
    if supplier == "far" {
        return Err(until_told(&ctx).await.into());
    }
    // Slow at first, so that the worker is killed before anybody has won, on any machine.
    latency(if ctx.info().attempt == 1 { 60_000 } else { 3_500 }).await;
    Ok(format!("{supplier} asks 420"))
}
