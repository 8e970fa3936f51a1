//! A cancel would become somebody else's failure.

use bowline::prelude::*;

async fn charge(_: u64) -> bowline::Result<u64> {
    Ok(7)
}

async fn pay(ctx: &Ctx) -> anyhow::Result<u64> {
    Ok(ctx.activity(charge, 7).await?)
}

async fn checkout(ctx: Ctx) -> bowline::Result<u64> {
    Ok(pay(&ctx).await.unwrap_or(0))
}

fn main() {
    drop(Bowline::open("orders.db").workflow(checkout).activity(charge));
}
