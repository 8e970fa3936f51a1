//! The halves of `wait`, `recover` and `cold`: runs that are left, and runs that are found again.
//! Between the halves the harness looks at the process, or kills it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use super::Found;
use crate::{Metrics, System, Trouble, Work, spread::millis};

const LANES: u32 = 64;
const LONG: &str = "long";

fn id(number: u32) -> String {
    format!("open-{number}")
}

/// Starts runs that wait for one signal, and leaves them.
pub(super) async fn open<S: System>(system: &Arc<S>, from: u32, runs: u32) -> Found {
    let started = Instant::now();
    lanes(system, Act::Start, from..from + runs).await?;
    Ok(Metrics::from([("started_ms".into(), millis(started.elapsed()))]))
}

/// Wakes the first, then all; they were left by another process.
pub(super) async fn resume<S: System>(system: &Arc<S>, runs: u32) -> Found {
    let started = Instant::now();
    wake(&**system, 0).await?;
    let first = millis(started.elapsed());
    lanes(system, Act::Wake, 1..runs).await?;
    Ok(Metrics::from([("first_ms".into(), first), ("all_ms".into(), millis(started.elapsed()))]))
}

async fn wake<S: System>(system: &S, number: u32) -> Result<(), Trouble> {
    let run = system.find(id(number)).await?;
    system.signal(&run).await?;
    system.ended(&run).await
}

/// One run with a long history, left waiting for a signal.
pub(super) async fn build<S: System>(system: &Arc<S>, steps: u32) -> Found {
    crate::probe::reset();
    let run = system.start(LONG.to_owned(), Work::Long { steps }).await?;
    while crate::probe::steps().len() < steps as usize {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let mut metrics = Metrics::new();
    if let Some(events) = system.events(&run).await? {
        metrics.insert("events".into(), events as f64);
    }
    Ok(metrics)
}

/// From the signal until the end of a run whose whole history must be read and replayed first.
pub(super) async fn cold<S: System>(system: &Arc<S>) -> Found {
    let run = system.find(LONG.to_owned()).await?;
    let started = Instant::now();
    system.signal(&run).await?;
    system.ended(&run).await?;
    Ok(Metrics::from([("replay_ms".into(), millis(started.elapsed()))]))
}

/// What is done for every number.
#[derive(Clone, Copy)]
enum Act {
    Start,
    Wake,
}

/// Does something for every number, some at once.
async fn lanes<S: System>(
    system: &Arc<S>,
    act: Act,
    numbers: std::ops::Range<u32>,
) -> Result<(), Trouble> {
    let next = Arc::new(AtomicU32::new(numbers.start));
    let lanes = (0..LANES).map(|_| {
        let (system, next) = (system.clone(), next.clone());
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return Ok::<(), Trouble>(());
                }
                match act {
                    Act::Start => {
                        system.start(id(number), Work::Signals { count: 1 }).await?;
                    }
                    Act::Wake => wake(&*system, number).await?,
                }
            }
        })
    });
    for lane in lanes.collect::<Vec<_>>() {
        lane.await??;
    }
    Ok(())
}
