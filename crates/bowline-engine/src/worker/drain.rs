//! The end of work: take no more, finish or give back what there is, in bounded time.

use std::time::Duration;

use super::{Worker, activity};
use crate::{Result, limits};

impl Worker {
    /// Drains. What still runs after `within` is given up and reported.
    pub(crate) async fn drain(&self, within: Duration) -> Result<()> {
        let last = self.inner.now().after(within).after(limits::DRAIN_LAST);
        self.stop_claiming().await;
        let cause = activity::drain_cause("the worker is shutting down".to_owned());
        self.attempts.drain(within, cause);
        let settled = async {
            for lane in self.queues.values() {
                lane.slots.idle().await;
            }
            self.attempts.all_settled().await;
        };
        tokio::select! {
            biased;
            () = settled => {}
            () = self.inner.clock.sleep_until(last) => {
                tracing::error!("not everything that ran here could be settled in time");
            }
        }
        self.threads.stop().await;
        let leaked = self.leaks.leaked();
        if leaked > 0 {
            tracing::warn!(leaked, "code was given up and still runs");
        }
        Ok(())
    }

    /// Claims nothing more, and waits for claims that are under way: one of them could take up
    /// again what is given back from now on. A store that does not answer is not waited for long.
    async fn stop_claiming(&self) {
        self.dispatch.start_draining();
        let claimed = async {
            for lane in self.queues.values() {
                drop(lane.claims.lock().await);
            }
        };
        let last = self.inner.now().after(limits::DRAIN_CLAIMS);
        tokio::select! {
            biased;
            () = claimed => {}
            () = self.inner.clock.sleep_until(last) => {
                tracing::warn!("a claim is still under way: what it takes is given back, too");
            }
        }
    }
}
