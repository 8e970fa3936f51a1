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
    // Long enough for the worker to be killed first, on a machine that is busy with other things.
    latency(6_500).await;
    Ok(format!("{supplier} asks 420"))
}
