//! Hello: a workflow, an activity, and a file that remembers.
//!
//! `greet` does the work; `welcome` says what is to be done. Whatever `welcome` has done stands in
//! the file before it counts, so a crash between any two steps costs nothing. Every run has an id
//! of your own choice, by which it is found again.
//!
//! ```text
//! hello, world; hello, world, once more
//! greeting-1 completed
//! ```

use bowline::prelude::*;
use std::time::Duration;

/// An activity is any `async fn`: it may do whatever it likes, and may be tried again.
async fn greet(name: String) -> bowline::Result<String> {
    Ok(format!("hello, {name}"))
}

/// A workflow is an `async fn` that does everything through its `Ctx`.
async fn welcome(ctx: Ctx, name: String) -> bowline::Result<String> {
    let first = ctx.activity(greet, &name).await?;
    // A timer in the file. It might as well be a year, with ten restarts in between.
    ctx.sleep(Duration::from_millis(10)).await?;
    let second = ctx.activity(greet, format!("{name}, once more")).await?;
    Ok(format!("{first}; {second}"))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Yours will be a file that stays: `Bowline::open("hello.db")`.
    let folder = tempfile::tempdir()?;
    let app = Bowline::open(folder.path().join("hello.db")).workflow(welcome).activity(greet);
    let bowline = app.start().await?;

    let run = bowline.start(welcome, "greeting-1", "world").await?;
    println!("{}", run.result().await?);

    for run in bowline.list().all().await? {
        println!("{} {}", run.id, run.status);
    }
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}
