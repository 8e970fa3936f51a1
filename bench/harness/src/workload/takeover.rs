//! `takeover`: several processes have runs with running activities, one of them is killed, and the
//! others begin its activities anew. The harness puts their parts together by the machine's clock.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::{Found, across::clock};
use crate::{Metrics, System, Trouble, Work, probe};

const LANES: u32 = 64;

/// Starts runs whose activities run until they are told, here or in another process.
pub(super) async fn hold<S: System>(system: &Arc<S>, name: String, runs: u32) -> Found {
    let next = Arc::new(AtomicU32::new(0));
    let lanes = (0..LANES).map(|_| {
        let (system, next, name) = (system.clone(), next.clone(), name.clone());
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= runs {
                    return Ok::<(), Trouble>(());
                }
                system.start(format!("{name}-{number}"), Work::Hold).await?;
            }
        })
    });
    for lane in lanes.collect::<Vec<_>>() {
        lane.await??;
    }
    Ok(Metrics::new())
}

/// How many activities have begun here since a moment: the first and the last of them.
pub(super) fn held(since_us: f64) -> Metrics {
    let now = clock();
    let begun = probe::held_at().into_iter().map(|at| now - at.elapsed().as_secs_f64() * 1e6);
    let mut metrics = Metrics::from([("held".into(), 0.0)]);
    for at in begun.filter(|at| *at > since_us) {
        *metrics.entry("held".into()).or_default() += 1.0;
        let first = metrics.entry("first_us".into()).or_insert(at);
        *first = first.min(at);
        let last = metrics.entry("last_us".into()).or_insert(at);
        *last = last.max(at);
    }
    metrics
}
