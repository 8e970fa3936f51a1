//! The one workflow, and its activities.

use std::time::Duration;

use duroxide::{ActivityContext, Either2, OrchestrationContext};
use harness::{Work, probe};

/// What a run waits for: a queue of events, so that none is lost.
pub(crate) const POKE: &str = "poke";

const HOUR: Duration = Duration::from_secs(3600);

/// Ends by itself, at once.
pub(crate) async fn touch(_ctx: ActivityContext, number: String) -> Result<String, String> {
    probe::step();
    Ok(number)
}

/// Runs until it is told.
pub(crate) async fn hold(ctx: ActivityContext, number: String) -> Result<String, String> {
    probe::held();
    ctx.cancelled().await;
    probe::told();
    Ok(number)
}

/// Wins against `hold`.
pub(crate) async fn win(_ctx: ActivityContext, number: String) -> Result<String, String> {
    probe::win().await;
    Ok(number)
}

/// Does what it is told.
pub(crate) async fn perform(ctx: OrchestrationContext, work: Work) -> Result<u32, String> {
    match work {
        Work::Hello => chain(&ctx, 1).await,
        Work::Nothing => Ok(0),
        Work::Chain { steps } => chain(&ctx, steps).await,
        Work::Fanout { width } => {
            let all = (0..width).map(|number| ctx.schedule_activity("touch", number.to_string()));
            let all = ctx.join(all.collect()).await;
            Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.len() as u32)
        }
        Work::Children { width } => {
            let child =
                || ctx.schedule_sub_orchestration_typed::<Work, u32>("perform", &Work::Nothing);
            let all = ctx.join((0..width).map(|_| child()).collect()).await;
            Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.len() as u32)
        }
        Work::Signals { count } => signals(&ctx, count).await,
        Work::Hold => {
            ctx.schedule_activity("hold", "0").await?;
            Ok(0)
        }
        Work::Sleep => {
            ctx.schedule_timer(HOUR).await;
            Ok(0)
        }
        Work::Race => {
            let (lost, won) =
                (ctx.schedule_activity("hold", "0"), ctx.schedule_activity("win", "0"));
            match ctx.select2(lost, won).await {
                Either2::First(end) | Either2::Second(end) => end.map(|_| 0),
            }
        }
        Work::Long { steps } => {
            chain(&ctx, steps).await?;
            signals(&ctx, 1).await
        }
        Work::Crowd { .. } | Work::Tree { .. } | Work::Branch { .. } => {
            Err("this is never started here".to_owned())
        }
    }
}

async fn chain(ctx: &OrchestrationContext, steps: u32) -> Result<u32, String> {
    for number in 0..steps {
        ctx.schedule_activity("touch", number.to_string()).await?;
    }
    Ok(steps)
}

async fn signals(ctx: &OrchestrationContext, count: u32) -> Result<u32, String> {
    for _ in 0..count {
        ctx.dequeue_event(POKE).await;
    }
    Ok(count)
}
