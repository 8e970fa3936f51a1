//! A context leaves its thread.

use bowline::prelude::*;

async fn checkout(ctx: Ctx) -> bowline::Result<()> {
    tokio::spawn(async move {
        let _ = ctx.sleep(std::time::Duration::from_secs(1)).await;
    });
    Ok(())
}

fn main() {
    drop(Bowline::open("orders.db").workflow(checkout));
}
