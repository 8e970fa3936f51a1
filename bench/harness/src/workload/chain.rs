//! `chain`: activities one after the other; what a step costs, at the beginning and at the end.

use std::{sync::Arc, time::Instant};

use super::{Found, fresh};
use crate::{Metrics, System, Trouble, Work, probe, spread::millis};

/// Short chains are repeated until about this many steps were taken.
const STEPS_ALL: u32 = 200;

/// Milliseconds from one step to the next: of all, of the first tenth, of the last tenth.
pub(super) async fn run<S: System>(system: &Arc<S>, steps: u32) -> Found {
    let times = (STEPS_ALL / steps.max(1)).max(1);
    let mut sums = [0.0; 3];
    for _ in 0..times {
        for (sum, value) in sums.iter_mut().zip(once(system, steps).await?) {
            *sum += value / f64::from(times);
        }
    }
    let names = ["step_ms", "step_first_tenth_ms", "step_last_tenth_ms"];
    Ok(names.into_iter().map(str::to_owned).zip(sums).collect::<Metrics>())
}

async fn once<S: System>(system: &Arc<S>, steps: u32) -> Result<[f64; 3], Trouble> {
    probe::reset();
    let run = system.start(fresh("chain"), Work::Chain { steps }).await?;
    system.ended(&run).await?;
    let times = probe::steps();
    if times.len() != steps as usize {
        return Err(anyhow::anyhow!("{} of {steps} steps were taken", times.len()).into());
    }
    let tenth = (times.len() / 10).max(1).min(times.len() - 1);
    Ok([mean(&times), mean(&times[..=tenth]), mean(&times[times.len() - 1 - tenth..])])
}

/// The mean distance of neighbours.
fn mean(times: &[Instant]) -> f64 {
    match (times.first(), times.last()) {
        (Some(first), Some(last)) if times.len() > 1 => {
            millis(*last - *first) / (times.len() - 1) as f64
        }
        _ => 0.0,
    }
}
