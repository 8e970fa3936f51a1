//! `cancel-across`: one process asks, another one runs the code. Each of these is one process's
//! part; the harness puts them together by the clock of the machine that both are on.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::anyhow;

use super::Found;
use crate::{Metrics, System, Work, probe};

const PATIENCE: Duration = Duration::from_secs(60);

/// Starts an activity that runs until it is told, and returns when it runs.
pub(super) async fn hold<S: System>(system: &Arc<S>, id: String) -> Found {
    probe::reset();
    system.start(id, Work::Hold).await?;
    match tokio::time::timeout(PATIENCE, probe::until_held(1)).await {
        Ok(()) => Ok(Metrics::new()),
        Err(_) => Err(anyhow!("the activity did not begin here within {PATIENCE:?}").into()),
    }
}

/// Asks the run of another process to cancel.
pub(super) async fn cancel<S: System>(system: &Arc<S>, id: String) -> Found {
    let run = system.find(id).await?;
    let asked = clock();
    system.cancel(&run).await?;
    Ok(Metrics::from([("asked_us".into(), asked), ("returned_us".into(), clock())]))
}

/// When the activity that `hold` left was told.
pub(super) async fn told() -> Found {
    if !probe::until_told(1, PATIENCE).await {
        return Err(anyhow!("the activity was not told within {PATIENCE:?}").into());
    }
    let since = probe::told_at()[0].elapsed();
    Ok(Metrics::from([("told_us".into(), clock() - since.as_secs_f64() * 1e6)]))
}

/// Microseconds since 1970; a 64-bit float has room for them.
pub(super) fn clock() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e6
}
