//! `mass-cancel`: a run with very many queued activities is cancelled while other work goes on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{Found, fresh};
use crate::{Metrics, Spread, System, Trouble, Work, probe, process, spread::millis};

/// How long the other work is watched before the cancel, to know what is usual.
const USUAL: Duration = Duration::from_secs(1);

/// Time to decided, time to clean, and the longest stall of the other work meanwhile.
pub(super) async fn run<S: System>(system: &Arc<S>, queued: u32) -> Found {
    probe::reset();
    let begun = Instant::now();
    let run = system.start(fresh("crowd"), Work::Crowd { width: queued }).await?;
    // The first of them is the only one that may run: with it, all are scheduled.
    probe::until_held(1).await;
    let mut metrics = Metrics::from([("scheduled_ms".into(), millis(begun.elapsed()))]);
    let quiet = Arc::new(AtomicBool::new(false));
    let usual = tokio::spawn(other_work(system.clone(), quiet.clone()));
    tokio::time::sleep(USUAL).await;
    quiet.store(true, Ordering::Relaxed);
    metrics.insert("stall_before_ms".into(), millis(usual.await??.longest()));

    let done = Arc::new(AtomicBool::new(false));
    let other = tokio::spawn(other_work(system.clone(), done.clone()));
    let processes = process::tree(std::process::id());
    let cpu = process::busy(&processes);
    let before = Instant::now();
    let ticket = system.cancel(&run).await?;
    metrics.insert("returned_ms".into(), millis(before.elapsed()));
    system.decided(&ticket).await?;
    metrics.insert("decided_ms".into(), millis(before.elapsed()));
    match system.clean(&ticket).await {
        Ok(()) => drop(metrics.insert("clean_ms".into(), millis(before.elapsed()))),
        // It cannot say so: the end of the run is the last thing that can be waited for.
        Err(Trouble::Cannot(_)) => system.ended(&run).await?,
        Err(failed) => return Err(failed),
    }
    let cpu = process::busy(&processes).saturating_sub(cpu);
    metrics.insert("cancel_cpu_ms".into(), millis(cpu));
    done.store(true, Ordering::Relaxed);
    let other = other.await??;
    metrics.insert("stall_ms".into(), millis(other.longest()));
    metrics.insert("other_runs".into(), other.len() as f64);
    metrics.insert("started_anyway".into(), (probe::held_count() - 1) as f64);
    Ok(metrics)
}

/// Runs of one activity, one after the other; at least one.
async fn other_work<S: System>(system: Arc<S>, done: Arc<AtomicBool>) -> Result<Spread, Trouble> {
    let mut spans = Vec::new();
    loop {
        let started = Instant::now();
        system.whole(fresh("other"), Work::Hello).await?;
        spans.push(started.elapsed());
        if done.load(Ordering::Relaxed) {
            return Ok(Spread::new(spans));
        }
    }
}
