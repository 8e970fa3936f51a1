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
    let (mut spans, mut runs) = (Vec::new(), 0);
    for lane in lanes.collect::<Vec<_>>() {
        let (counted, all) = lane.await??;
        spans.extend(counted);
        runs += all;
    }
    let mut metrics = Metrics::from([("runs".into(), f64::from(runs))]);
    metrics.insert("per_second".into(), spans.len() as f64 / seconds);
    Spread::new(spans).into_metrics("", &mut metrics);
    Ok(metrics)
}

/// One after the other until the end; how long those took that ended in the time that counts, and
/// how many there were in all.
async fn lane<S: System>(
    system: Arc<S>,
    begun: Instant,
    end: Instant,
) -> Result<(Vec<Duration>, u32), Trouble> {
    let (mut spans, mut all) = (Vec::new(), 0);
    loop {
        let started = Instant::now();
        if started >= end {
            return Ok((spans, all));
        }
        system.whole(fresh("hello"), Work::Hello).await?;
        all += 1;
        let ended = Instant::now();
        if (begun..end).contains(&ended) {
            spans.push(ended - started);
        }
    }
}
