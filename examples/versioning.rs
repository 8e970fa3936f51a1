//! Versioning: new code meets runs that the old code began.
//!
//! A run is replayed when its process starts again, so its code must ask for the same things in
//! the same order as before. `ctx.patched("…")` tells new runs from old ones: a run that had come
//! past that line before the change takes the old way, for the rest of its life. Here spring's
//! program leaves a run behind, and summer's program, on the same file, ends it.
//!
//! ```text
//! order-1 (begun in spring): picked rope, shipped rope
//! order-2 (begun in summer): checked rope, picked rope, insured rope, shipped rope
//! ```

use bowline::prelude::*;
use std::{path::Path, time::Duration};

const PAID: Signal<()> = Signal::new("paid");

async fn act(what: String) -> bowline::Result<String> {
    Ok(what)
}

/// The workflow as it was deployed in spring.
mod spring {
    use super::*;

    pub async fn order(ctx: Ctx, item: String) -> bowline::Result<Vec<String>> {
        let mut done = vec![ctx.activity(act, format!("picked {item}")).await?];
        ctx.signal(PAID).recv().await;
        done.push(ctx.activity(act, format!("shipped {item}")).await?);
        Ok(done)
    }
}

/// The same workflow in summer. When the last run of spring has ended, the `if`s may go.
mod summer {
    use super::*;

    pub async fn order(ctx: Ctx, item: String) -> bowline::Result<Vec<String>> {
        let mut done = Vec::new();
        if ctx.patched("careful") {
            done.push(ctx.activity(act, format!("checked {item}")).await?);
        }
        done.push(ctx.activity(act, format!("picked {item}")).await?);
        ctx.signal(PAID).recv().await;
        // One name has one answer in a run: whoever was not checked is not insured either.
        if ctx.patched("careful") {
            done.push(ctx.activity(act, format!("insured {item}")).await?);
        }
        done.push(ctx.activity(act, format!("shipped {item}")).await?);
        Ok(done)
    }
}

/// Spring's program starts an order, and is shut down while it waits for the money.
async fn in_spring(file: &Path) -> anyhow::Result<()> {
    let app = Bowline::open(file).workflow(spring::order).activity(act);
    let bowline = app.start().await?;
    let run = bowline.start(spring::order, "order-1", "rope").await?;
    while !run.history().await?.iter().any(|event| event.kind == "ActivityCompleted") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}

/// Summer's program finds it. Both functions are called `order`, so it knows whose it is.
async fn in_summer(file: &Path) -> anyhow::Result<()> {
    let app = Bowline::open(file).workflow(summer::order).activity(act);
    let bowline = app.start().await?;
    let new = bowline.start(summer::order, "order-2", "rope").await?;
    let old = bowline.attach(summer::order, "order-1");
    for (run, begun) in [(old, "spring"), (new, "summer")] {
        run.signal(PAID, ()).await?;
        println!("{} (begun in {begun}): {}", run.id(), run.result().await?.join(", "));
    }
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("orders.db");
    in_spring(&file).await?;
    in_summer(&file).await
}
