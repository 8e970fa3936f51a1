//! Retries and heartbeats: an attempt goes on where the one before it stopped.
//!
//! An error is final unless the call says `.retry(…)`. A heartbeat tells how far the code has come,
//! and the next attempt reads it, in this process or in another one. The code may overrule the
//! policy where it knows better: `retry_after` for a busy server, `no_retry` for a wrong password.
//!
//! ```text
//! attempt 1 begins with row 1
//! attempt 1 fails: the connection broke at row 4
//! attempt 2 begins with row 4
//! attempt 2 fails: the server is busy at row 7
//! attempt 3 begins with row 7
//! import-1: 9 rows
//! attempt 1 fails: the password is wrong
//! import-2: failed: the password is wrong
//! ```

use bowline::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const ROWS: u32 = 9;

#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
enum ImportError {
    #[error("the connection broke at row {0}")]
    Broken(u32),
    #[error("the server is busy at row {0}")]
    Busy(u32),
    #[error("the password is wrong")]
    Password,
}

async fn import(ctx: ActivityCtx, password: String) -> Result<u32, ImportError> {
    let result = rows(&ctx, &password).await;
    if let Err(error) = &result {
        println!("attempt {} fails: {error}", ctx.info().attempt);
    }
    result
}

async fn rows(ctx: &ActivityCtx, password: &str) -> Result<u32, ImportError> {
    if password != "sesame" {
        return Err(ctx.no_retry(ImportError::Password));
    }
    let attempt = ctx.info().attempt;
    let done: u32 = ctx.last_heartbeat().unwrap_or(0);
    println!("attempt {attempt} begins with row {}", done + 1);
    for row in done + 1..=ROWS {
        match (attempt, row) {
            (1, 4) => return Err(ImportError::Broken(row)),
            (2, 7) => return Err(ctx.retry_after(Duration::from_millis(5), ImportError::Busy(row))),
            _ => ctx.heartbeat(&row), // Row by row is fine: a heartbeat costs next to nothing.
        }
    }
    Ok(ROWS)
}

async fn nightly(ctx: Ctx, password: String) -> bowline::Result<u32, ImportError> {
    let retry = Retry::exponential(Duration::from_millis(20)).attempts(5);
    let import = ctx.activity(import, password).retry(retry);
    // Without a heartbeat for this long, the attempt is told to stop and counts as failed. To
    // learn of a cancel it needs none.
    Ok(import.heartbeat_timeout(Duration::from_secs(30)).await?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let app = Bowline::open(folder.path().join("retries.db")).workflow(nightly).activity(import);
    let bowline = app.start().await?;

    for (id, password) in [("import-1", "sesame"), ("import-2", "open up")] {
        let run = bowline.start(nightly, id, password).await?;
        match run.outcome().await? {
            Ok(rows) => println!("{id}: {rows} rows"),
            Err(ended) => println!("{id}: {ended}"),
        }
    }
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}
