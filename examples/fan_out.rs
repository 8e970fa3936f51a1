//! Fan-out with a deadline: ask everybody at once, and go on in time with what there is.
//!
//! All pages are fetched in one scope that has a second and a half. When that is over, what still
//! runs is cancelled, with the code `deadline`, and the scope ends once all of it has stopped. It
//! tells what had been done by then, so nothing is fetched in vain.
//!
//! ```text
//! 2 of 2 pages: page 1, page 2
//! 8 of 12 pages: page 1, page 2, page 4, page 5, page 7, page 8, page 10, page 11
//! 4 were stopped by the deadline of the scope
//! ```

use bowline::prelude::*;
use bowline::{Code, Failure, try_join_all};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Serialize, Deserialize)]
struct Found {
    pages: Vec<String>,
    stopped: usize,
}

/// Every third page hangs. Its fetch knows of the deadline, as the time that it still has.
async fn fetch(ctx: ActivityCtx, page: u32) -> bowline::Result<String> {
    if page.is_multiple_of(3) {
        assert!(ctx.remaining().is_some(), "the deadline of the scope is known in here");
        let why = ctx.cancelled().await;
        return Err(Failure::new(format!("page {page} was given up: {why}")).into());
    }
    Ok(format!("page {page}"))
}

async fn crawl(ctx: Ctx, pages: u32) -> bowline::Result<Found> {
    let fetches = (1..=pages).map(|page| ctx.activity(fetch, page));
    let all = ctx.scope(async { bowline::Ok(try_join_all(fetches).await?) });
    match all.deadline(Duration::from_millis(1500)).await {
        Ok(pages) => Ok(Found { pages, stopped: 0 }),
        Err(stopped) if stopped.cause().is_some_and(|why| why.code == Code::Deadline) => {
            let pages = stopped.completed(fetch);
            Ok(Found { pages, stopped: stopped.cancelled.len() })
        }
        // A cancel from outside is not ours to swallow.
        Err(stopped) => Err(stopped.into()),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let app = Bowline::open(folder.path().join("fan_out.db")).workflow(crawl).activity(fetch);
    let bowline = app.start().await?;

    for pages in [2, 12] {
        let run = bowline.start(crawl, format!("crawl of {pages}"), pages).await?;
        let found = run.result().await?;
        println!("{} of {pages} pages: {}", found.pages.len(), found.pages.join(", "));
        if found.stopped > 0 {
            println!("{} were stopped by the deadline of the scope", found.stopped);
        }
    }
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}
