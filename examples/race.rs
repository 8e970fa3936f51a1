//! Races and timeouts: the first answer counts, and whoever is too late is really stopped.
//!
//! `select!` takes the first of several futures, looking from top to bottom, so that a replay comes
//! to the same result. The others are dropped, and **to drop a call is to cancel it**: the mirror
//! that lost is told so while it runs, by push. The scope around the race is over when it has
//! stopped.
//!
//! ```text
//! the far mirror stops: select_lost
//! race: the file, from the near mirror
//! guarded: failed: nobody answered in time
//! limited: timed out: it ran for too long
//! ```

use bowline::prelude::*;
use bowline::{Failure, Outcome};
use std::time::Duration;
use tokio::sync::Notify;

static FAR_IS_BUSY: Notify = Notify::const_new();

/// Answers as soon as the far mirror is busy too, so that this program always prints the same.
async fn near() -> bowline::Result<String> {
    FAR_IS_BUSY.notified().await;
    Ok("the file, from the near mirror".to_owned())
}

async fn far(ctx: ActivityCtx) -> bowline::Result<String> {
    FAR_IS_BUSY.notify_one();
    let why = ctx.cancelled().await;
    println!("the far mirror stops: {}", why.code);
    Err(Failure::new("too slow").into())
}

async fn dead(ctx: ActivityCtx) -> bowline::Result<String> {
    let why = ctx.cancelled().await;
    Err(Failure::new(why.to_string()).into())
}

/// Two mirrors race.
async fn race(ctx: Ctx) -> bowline::Result<String> {
    let fastest = ctx.scope(async {
        bowline::Ok(select! {
            file = ctx.activity(near, ()) => file?,
            file = ctx.activity(far, ()) => file?,
        })
    });
    Ok(fastest.await?)
}

/// A mirror races a timer. The timer is as durable as everything else.
async fn guarded(ctx: Ctx) -> bowline::Result<String> {
    select! {
        file = ctx.activity(dead, ()) => Ok(file?),
        _ = ctx.sleep(Duration::from_millis(50)) => {
            Err(Failure::new("nobody answered in time").into())
        }
    }
}

/// The activity itself has a limit, for each of its attempts.
async fn limited(ctx: Ctx) -> bowline::Result<String> {
    Ok(ctx.activity(dead, ()).timeout(Duration::from_millis(50)).await?)
}

fn show(name: &str, outcome: Outcome<String>) {
    match outcome {
        Ok(file) => println!("{name}: {file}"),
        Err(ended) => println!("{name}: {ended}"),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let app = Bowline::open(folder.path().join("race.db"));
    let app = app.workflow(race).workflow(guarded).workflow(limited);
    let bowline = app.activity(near).activity(far).activity(dead).start().await?;

    show("race", bowline.start(race, "r-1", ()).await?.outcome().await?);
    show("guarded", bowline.start(guarded, "g-1", ()).await?.outcome().await?);
    show("limited", bowline.start(limited, "l-1", ()).await?.outcome().await?);
    bowline.close(Duration::from_secs(10)).await?;
    Ok(())
}
