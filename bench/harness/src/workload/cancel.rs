//! `cancel-running`, `cancel-timer`, `select-loser`: how soon is it told?

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::anyhow;

use super::{Found, fresh};
use crate::{Metrics, Spread, System, Work, probe};

/// How long the code may be ignorant before that is a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Slow systems are asked less often: after this long, a handful is enough.
const ENOUGH: Duration = Duration::from_secs(60);

fn is_enough(begun: Instant, taken: usize) -> bool {
    taken >= 5 && begun.elapsed() > ENOUGH
}

/// From the request, and from its return, until the token fires in the running activity.
pub(super) async fn running<S: System>(system: &Arc<S>, times: u32) -> Found {
    let (mut asked, mut returned) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    for _ in 0..times {
        if is_enough(begun, asked.len()) {
            break;
        }
        probe::reset();
        let run = system.start(fresh("hold"), Work::Hold).await?;
        probe::until_held(1).await;
        let before = Instant::now();
        system.cancel(&run).await?;
        let after = Instant::now();
        if !probe::until_told(1, PATIENCE).await {
            return Err(anyhow!("the activity was not told within {PATIENCE:?}").into());
        }
        let told = probe::told_at()[0];
        asked.push(told.saturating_duration_since(before));
        returned.push(told.saturating_duration_since(after));
        system.ended(&run).await?;
    }
    let mut metrics = Metrics::new();
    Spread::new(asked).into_metrics("asked", &mut metrics);
    Spread::new(returned).into_metrics("returned", &mut metrics);
    Ok(metrics)
}

/// From the request until a run that waits for a timer has ended.
pub(super) async fn timer<S: System>(system: &Arc<S>, times: u32) -> Found {
    let mut spans = Vec::new();
    let begun = Instant::now();
    for _ in 0..times {
        if is_enough(begun, spans.len()) {
            break;
        }
        let run = system.start(fresh("sleep"), Work::Sleep).await?;
        let before = Instant::now();
        system.cancel(&run).await?;
        system.ended(&run).await?;
        spans.push(before.elapsed());
    }
    let mut metrics = Metrics::new();
    Spread::new(spans).into_metrics("", &mut metrics);
    Ok(metrics)
}

/// From the end of the winner until the token fires in the loser.
pub(super) async fn loser<S: System>(system: &Arc<S>, times: u32) -> Found {
    let mut spans = Vec::new();
    let begun = Instant::now();
    for _ in 0..times {
        if is_enough(begun, spans.len()) {
            break;
        }
        probe::reset();
        let run = system.start(fresh("race"), Work::Race).await?;
        if !probe::until_told(1, PATIENCE).await {
            return Err(anyhow!("the loser was not told within {PATIENCE:?}").into());
        }
        let won = *probe::won_at().first().ok_or_else(|| anyhow!("nobody won the race"))?;
        spans.push(probe::told_at()[0].saturating_duration_since(won));
        system.ended(&run).await?;
    }
    let mut metrics = Metrics::new();
    Spread::new(spans).into_metrics("", &mut metrics);
    Ok(metrics)
}
