//! A call is given something else than its activity takes.

use bowline::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order;

async fn charge(_: Order) -> bowline::Result<u64> {
    Ok(7)
}

async fn checkout(ctx: Ctx) -> bowline::Result<u64> {
    Ok(ctx.activity(charge, 7_u8).await?)
}

fn main() {
    drop(Bowline::open("orders.db").workflow(checkout).activity(charge));
}
