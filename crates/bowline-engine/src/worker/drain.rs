//! The end of work: take no more, finish or give back what there is, in bounded time.

use std::time::Duration;

use super::{Worker, activity};
use crate::{Result, limits};

impl Worker {
    /// Drains. What still runs after `within` is given up and reported.
    pub(crate) async fn drain(&self, within: Duration) -> Result<()> {
        self.dispatch.start_draining();
        let cause = activity::drain_cause("the worker is shutting down".to_owned());
        self.attempts.drain(within, cause);
        let last = self.inner.now().after(within).after(limits::DRAIN_LAST);
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
}
