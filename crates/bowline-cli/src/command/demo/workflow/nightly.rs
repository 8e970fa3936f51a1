//! A nightly refresh that can do without one of its steps, if somebody cancels just that one.

use bowline::prelude::*;

use super::{latency, until_told};

pub(super) async fn nightly(ctx: Ctx) -> bowline::Result<String> {
    let index = match ctx.activity(rebuild_index, ()).await {
        Ok(index) => index,
        Err(Ended::Cancelled(cause)) => format!("yesterday's index ({})", cause.root().detail),
        Err(other) => return Err(other.into()),
    };
    Ok(ctx.activity(publish, index).await?)
}

pub(super) async fn rebuild_index(ctx: ActivityCtx) -> bowline::Result<String> {
    Err(until_told(&ctx).await.into())
}

pub(super) async fn publish(index: String) -> bowline::Result<String> {
    latency(100).await;
    Ok(format!("published with {index}"))
}
