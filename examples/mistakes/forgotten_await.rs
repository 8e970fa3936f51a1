//! A call is made and never awaited.

#![deny(unused_must_use)]

use bowline::prelude::*;

async fn charge(_: u64) -> bowline::Result<u64> {
    Ok(7)
}

async fn checkout(ctx: Ctx) -> bowline::Result<()> {
    ctx.activity(charge, 7);
    ctx.sleep(std::time::Duration::from_secs(1));
    Ok(())
}

fn main() {
    drop(Bowline::open("orders.db").workflow(checkout).activity(charge));
}
