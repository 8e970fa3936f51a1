//! The one workflow, and its activities.

use std::{io, time::Duration};

use bowline::{prelude::*, try_join_all};
use harness::{Work, probe};

/// What a run waits for.
pub(crate) const POKE: Signal<()> = Signal::new("poke");

/// Where activities run until they are told.
pub(crate) const HOLD: &str = "hold";
/// The same, where only one at a time may.
pub(crate) const CROWD: &str = "crowd";

/// Ends by itself, at once.
pub(crate) async fn touch(number: u32) -> bowline::Result<u32> {
    probe::step();
    Ok(number)
}

/// Runs until it is told.
pub(crate) async fn hold(ctx: ActivityCtx, _number: u32) -> bowline::Result<u32> {
    probe::held();
    let why = ctx.cancelled().await;
    probe::told();
    Err(io::Error::other(why.to_string()).into())
}

/// Wins against `hold`.
pub(crate) async fn win() -> bowline::Result<u32> {
    probe::win().await;
    Ok(0)
}

/// Does what it is told.
pub(crate) async fn perform(ctx: Ctx, work: Work) -> bowline::Result<u32> {
    match work {
        Work::Hello => Ok(ctx.activity(touch, 1).await?),
        Work::Nothing => Ok(0),
        Work::Chain { steps } => chain(&ctx, steps).await,
        Work::Fanout { width } => {
            let all = (0..width).map(|number| ctx.activity(touch, number));
            Ok(try_join_all(all).await?.len() as u32)
        }
        Work::Children { width } => {
            let all = (0..width).map(|_| ctx.child(perform, Work::Nothing));
            Ok(try_join_all(all).await?.len() as u32)
        }
        Work::Signals { count } => signals(&ctx, count).await,
        Work::Hold => Ok(ctx.activity(hold, 0).queue(HOLD).await?),
        Work::Sleep => {
            ctx.sleep(Duration::from_secs(3600)).await?;
            Ok(0)
        }
        Work::Race => Ok(bowline::select! {
            lost = ctx.activity(hold, 0).queue(HOLD) => lost?,
            won = ctx.activity(win, ()) => won?,
        }),
        Work::Crowd { width } => {
            let all = (0..width).map(|number| ctx.activity(hold, number).queue(CROWD));
            Ok(try_join_all(all).await?.len() as u32)
        }
        Work::Tree { children, activities } => {
            let all = (0..children).map(|_| ctx.child(perform, Work::Branch { activities }));
            Ok(try_join_all(all).await?.len() as u32)
        }
        Work::Branch { activities } => {
            let all = (0..activities).map(|number| ctx.activity(hold, number).queue(HOLD));
            Ok(try_join_all(all).await?.len() as u32)
        }
        Work::Long { steps } => {
            chain(&ctx, steps).await?;
            signals(&ctx, 1).await
        }
    }
}

async fn chain(ctx: &Ctx, steps: u32) -> bowline::Result<u32> {
    for number in 0..steps {
        ctx.activity(touch, number).await?;
    }
    Ok(steps)
}

async fn signals(ctx: &Ctx, count: u32) -> bowline::Result<u32> {
    let mut pokes = ctx.signal(POKE);
    for _ in 0..count {
        pokes.recv().await;
    }
    Ok(count)
}
