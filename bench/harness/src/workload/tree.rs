//! `cancel-tree`: a parent with many children, each with running activities, is cancelled.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::anyhow;

use super::{Found, fresh};
use crate::{Metrics, System, Trouble, Work, probe, spread::millis};

const PATIENCE: Duration = Duration::from_secs(300);

/// From the request until the first was told, the last was told, and nothing was left.
pub(super) async fn run<S: System>(system: &Arc<S>, children: u32, activities: u32) -> Found {
    probe::reset();
    let all = (children * activities) as usize;
    let run = system.start(fresh("tree"), Work::Tree { children, activities }).await?;
    if tokio::time::timeout(PATIENCE, probe::until_held(all)).await.is_err() {
        return Err(anyhow!("only {} of {all} activities began", probe::held_count()).into());
    }
    let before = Instant::now();
    let ticket = system.cancel(&run).await?;
    let mut metrics = Metrics::from([("returned_ms".into(), millis(before.elapsed()))]);
    let clean = system.clean(&ticket).await;
    let cleaned = before.elapsed();
    if !probe::until_told(all, PATIENCE).await {
        let told = probe::told_at().len();
        return Err(anyhow!("only {told} of {all} activities were told").into());
    }
    match clean {
        Ok(()) => drop(metrics.insert("clean_ms".into(), millis(cleaned))),
        Err(Trouble::Cannot(_)) => {}
        Err(failed) => return Err(failed),
    }
    let told = probe::told_at();
    let since =
        |at: Option<&Instant>| at.map_or(0.0, |at| millis(at.saturating_duration_since(before)));
    metrics.insert("first_told_ms".into(), since(told.iter().min()));
    metrics.insert("last_told_ms".into(), since(told.iter().max()));
    Ok(metrics)
}
