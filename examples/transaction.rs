//! Cancel in your own transaction: the order is deleted and its workflow cancelled, or neither.
//!
//! The application's table is in the same SQLite file. What the closure writes there and what it
//! asks of runs is committed once, so nobody ever sees one without the other, and no crash leaves
//! an order without its workflow, or a workflow without its order.
//!
//! ```text
//! placed: 1 order, and its run is running
//! refused: the order was paid for already
//! kept: 1 order, and its run is running
//! deleted: 0 orders
//! clean: requested by alice (the order was deleted)
//! ```

use bowline::prelude::*;
use rusqlite::Connection;

async fn ship(ctx: ActivityCtx, order: String) -> bowline::Result<String> {
    // A parcel takes days, and can be called back at any time.
    ctx.cancelled().await;
    Err(bowline::Failure::new(format!("{order} was called back")).into())
}

async fn checkout(ctx: Ctx, order: String) -> bowline::Result<String> {
    Ok(ctx.activity(ship, &order).await?)
}

/// What anybody else sees, through a connection of their own.
async fn look(bowline: &Bowline) -> anyhow::Result<(u32, String)> {
    let other = Connection::open("shop.db")?;
    let orders = other.query_row("SELECT count(*) FROM orders", [], |row| row.get(0))?;
    Ok((orders, bowline.run("order-42").describe().await?.summary.status.to_string()))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let bowline = Bowline::open("shop.db").workflow(checkout).activity(ship).start().await?;

    // The order and its workflow begin together.
    let shop = bowline.clone();
    let placing = bowline.transaction(move |tx| {
        tx.connection().execute("CREATE TABLE orders (id TEXT PRIMARY KEY)", [])?;
        tx.connection().execute("INSERT INTO orders VALUES ('order-42')", [])?;
        shop.start_in(tx, checkout, "order-42", "a rope")
    });
    let run = placing.await?;
    let (orders, status) = look(&bowline).await?;
    println!("placed: {orders} order, and its run is {status}");

    // An error in the closure takes everything back, the cancel included.
    let shop = bowline.clone();
    let refused = bowline.transaction(move |tx| {
        tx.connection().execute("DELETE FROM orders WHERE id = 'order-42'", [])?;
        shop.cancel_in(tx, "order-42", "the order was deleted")?;
        anyhow::bail!("the order was paid for already")
    });
    let error = refused.await.map(|()| "kept").expect_err("the closure says so");
    println!("refused: {error}");
    let (orders, status) = look(&bowline).await?;
    println!("kept: {orders} order, and its run is {status}");

    // Both at once, and the receipt tells when nothing of it runs any more.
    let shop = bowline.clone();
    let deleting = bowline.transaction(move |tx| {
        tx.connection().execute("DELETE FROM orders WHERE id = 'order-42'", [])?;
        shop.run("order-42").cancel("the order was deleted").by("alice").send_in(tx)
    });
    let receipt = deleting.await?;
    println!("deleted: {} orders", look(&bowline).await?.0);
    receipt.wait(Phase::Clean).await?;
    if let Err(Ended::Cancelled(cause)) = run.outcome().await? {
        println!("clean: {}", cause.root());
    }
    Ok(())
}
