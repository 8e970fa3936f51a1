//! The work that decisions left for later, a bounded piece at a time.

use std::{sync::Arc, time::Duration};

use bowline_store::Sweep;

use super::Core;
use crate::limits;

/// How often closed runs are looked at, where they are not kept for ever.
const RETENTION_EVERY: Duration = Duration::from_secs(3600);

/// Sweeps whenever there is something to sweep, until the engine stops.
pub(crate) async fn run(core: Arc<Core>) {
    loop {
        while once(&core).await {}
        match core.settings.retention {
            // Nobody is woken for nothing: without retention only a hint can bring work.
            None => core.bells.sweep.notified().await,
            Some(kept) => {
                let next = core.now().after(RETENTION_EVERY.min(kept));
                tokio::select! {
                    () = core.bells.sweep.notified() => {}
                    () = core.clock.sleep_until(next) => {}
                }
            }
        }
    }
}

/// Sweeps once; true if there is more.
pub(crate) async fn once(core: &Arc<Core>) -> bool {
    let sweep = Sweep {
        epoch: core.epoch,
        now: core.now(),
        limit: limits::SWEEP,
        retention: core.settings.retention,
    };
    match core.heed(core.patiently(|| core.store.sweep(sweep.clone())).await) {
        Ok(swept) => {
            if swept.rows > 0 {
                // It may have told runs of whatever was lost.
                core.net.owe_any();
                core.followers.tell_all();
            }
            // Other work gets its turn between two pieces.
            tokio::task::yield_now().await;
            swept.more
        }
        Err(error) => {
            tracing::error!(%error, "sweeping failed; it goes on with the next hint");
            false
        }
    }
}
