//! A tree of children: cancel the parent, and see when each part of the tree stopped.
//!
//! A run starts runs, those start more, and at the leaves activities work. One cancel at the top
//! reaches all of them, each with the chain of causes that leads up to whoever asked. The receipt
//! waits until nothing is left, and prints the tree with the time of every hop.
//!
//! ```text
//! firm.1.1 stops: run_cancelled, because … because requested by owner (closing down)
//! cancel requested by owner (closing down)
//! firm (firm) cancelled  decided …  closed …
//! ├─ firm.1 (firm) cancelled [parent_cancelled]  decided …  closed …
//! │  ├─ firm.1.1 (firm) cancelled [parent_cancelled]  decided …  closed …
//! │  │  └─ work #… was told, and stopped by itself [run_cancelled]  …  stopped …
//! │  └─ firm.1.2 (firm) cancelled [parent_cancelled]  decided …  closed …
//! │     └─ work #… was told, and stopped by itself [run_cancelled]  …  stopped …
//! └─ firm.2 (firm) cancelled [parent_cancelled]  decided …  closed …
//!    ├─ firm.2.1 (firm) cancelled [parent_cancelled]  decided …  closed …
//!    │  └─ work #… was told, and stopped by itself [run_cancelled]  …  stopped …
//!    └─ firm.2.2 (firm) cancelled [parent_cancelled]  decided …  closed …
//!       └─ work #… was told, and stopped by itself [run_cancelled]  …  stopped …
//! clean: nothing is left running
//! 7 runs, 0 of them open
//! orphans: none
//! ```

use bowline::prelude::*;
use bowline::{Failure, try_join_all};
use std::time::Duration;
use tokio::sync::Semaphore;

/// How many are at work, so that this program cancels at the right moment.
static AT_WORK: Semaphore = Semaphore::const_new(0);

async fn work(ctx: ActivityCtx) -> bowline::Result<()> {
    AT_WORK.add_permits(1);
    let why = ctx.cancelled().await;
    if ctx.info().workflow_id == "firm.1.1" {
        println!("firm.1.1 stops: {why}");
    }
    Err(Failure::new("home early").into())
}

/// A firm of this many levels: two branches each, and work on the lowest one.
async fn firm(ctx: Ctx, levels: u32) -> bowline::Result<()> {
    if levels == 0 {
        return Ok(ctx.activity(work, ()).await?);
    }
    let id = ctx.info().workflow_id;
    let branches = [1, 2].map(|n| ctx.child(firm, levels - 1).id(format!("{id}.{n}")));
    try_join_all(branches).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let app = Bowline::open(folder.path().join("child_tree.db")).workflow(firm).activity(work);
    let bowline = app.start().await?;

    let run = bowline.start(firm, "firm", 2).await?;
    let _all = AT_WORK.acquire_many(4).await?;

    let receipt = run.cancel("closing down").by("owner").await?;
    let tree = receipt.wait(Phase::Clean).await?;
    println!("{tree}");

    let open = bowline.list().open().all().await?;
    println!("{} runs, {} of them open", tree.runs().len(), open.len());
    assert!(bowline.orphans().await?.is_empty());
    println!("orphans: none");
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}
