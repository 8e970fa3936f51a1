//! `hello`: runs with one activity each, a fixed number of them in flight.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Found, fresh};
use crate::{Metrics, Spread, System, Trouble, Work};

/// How long it runs before it counts, as a share of the time that counts.
const WARM_UP: f64 = 0.3;

/// Measures for this long, after a warm-up.
pub(super) async fn run<S: System>(system: &Arc<S>, in_flight: u32, seconds: f64) -> Found {
    let begun = Instant::now() + Duration::from_secs_f64(seconds * WARM_UP);
    let end = begun + Duration::from_secs_f64(seconds);
    let lanes = (0..in_flight).map(|_| tokio::spawn(lane(system.clone(), begun, end)));
    let mut spans = Vec::new();
    for lane in lanes.collect::<Vec<_>>() {
        spans.extend(lane.await??);
    }
    let mut metrics = Metrics::new();
    metrics.insert("per_second".into(), spans.len() as f64 / seconds);
    Spread::new(spans).into_metrics("", &mut metrics);
    Ok(metrics)
}

/// One after the other until the end; how long those took that ended in the time that counts.
async fn lane<S: System>(
    system: Arc<S>,
    begun: Instant,
    end: Instant,
) -> Result<Vec<Duration>, Trouble> {
    let mut spans = Vec::new();
    loop {
        let started = Instant::now();
        if started >= end {
            return Ok(spans);
        }
        system.whole(fresh("hello"), Work::Hello).await?;
        let ended = Instant::now();
        if (begun..end).contains(&ended) {
            spans.push(ended - started);
        }
    }
}
