//! `signal`: a storm of signals, on one run or on many.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use super::{Found, fresh};
use crate::{Metrics, System, Trouble, Work};

/// How many senders there are.
const SENDERS: u32 = 64;

/// Signals per second, from the first one sent until the last run has taken its last one.
pub(super) async fn run<S: System>(system: &Arc<S>, runs: u32, each: u32) -> Found {
    let mut targets = Vec::new();
    for _ in 0..runs {
        targets.push(system.start(fresh("signal"), Work::Signals { count: each }).await?);
    }
    let (targets, next, all) = (Arc::new(targets), Arc::new(AtomicU32::new(0)), runs * each);
    let started = Instant::now();
    let senders = (0..SENDERS.min(all)).map(|_| {
        let (system, targets, next) = (system.clone(), targets.clone(), next.clone());
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= all {
                    return Ok::<(), Trouble>(());
                }
                system.signal(&targets[(number % runs) as usize]).await?;
            }
        })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.await??;
    }
    let sent = started.elapsed();
    for run in targets.iter() {
        system.ended(run).await?;
    }
    let rate = |span: std::time::Duration| f64::from(all) / span.as_secs_f64();
    Ok(Metrics::from([
        ("sent_per_second".into(), rate(sent)),
        ("per_second".into(), rate(started.elapsed())),
    ]))
}
