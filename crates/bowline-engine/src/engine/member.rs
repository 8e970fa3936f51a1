//! This process as a member of the store: it reports what its attempts do, and is told what is
//! cancelled. The reply is the certain way for a cancel; the push only makes it fast.

use std::sync::Arc;

use bowline_store::{Heartbeat, HeartbeatReply, Renewal, Renewed, Sighting};

use super::Core;
use crate::Result;

/// Renews while attempts are running, or when woken, until the engine stops.
pub(crate) async fn run(core: Arc<Core>) {
    loop {
        let running = core.local.get().is_some_and(|local| local.is_running());
        let next = core.now().after(core.settings.lease / 3);
        tokio::select! {
            () = core.bells.renew.notified() => {}
            // An idle process has nothing to report, and is woken for nothing.
            () = core.clock.sleep_until(next), if running => {}
        }
        if let Err(error) = core.renew(false).await {
            // A store that cannot be reached cancels nobody.
            tracing::warn!(%error, "the lease could not be renewed; trying again");
        }
    }
}

impl Core {
    /// Reports, and passes on what the store answers.
    pub(crate) async fn renew(self: &Arc<Self>, leave: bool) -> Result<()> {
        let reports = self.local.get().map(|local| local.take_reports()).unwrap_or_default();
        self.renew_with(reports.heartbeats, reports.sightings, leave).await?;
        Ok(())
    }

    /// Reports for remote attempts; the answer says, for each heartbeat, whether it goes on.
    pub(crate) async fn report(
        self: &Arc<Self>,
        heartbeats: Vec<Heartbeat>,
        sightings: Vec<Sighting>,
    ) -> Result<Vec<HeartbeatReply>> {
        Ok(self.renew_with(heartbeats, sightings, false).await?.heartbeats)
    }

    async fn renew_with(
        self: &Arc<Self>,
        heartbeats: Vec<Heartbeat>,
        sightings: Vec<Sighting>,
        leave: bool,
    ) -> Result<Renewed> {
        let runs: Vec<_> = sightings.iter().map(|seen| seen.attempt.run).collect();
        let (epoch, lease, now) = (self.epoch, self.settings.lease, self.now());
        let renewal = Renewal { epoch, lease, now, heartbeats, sightings, leave };
        let mut renewed = self.retrying(|| self.store.renew(renewal.clone())).await?;
        self.push(std::mem::take(&mut renewed.cancels));
        runs.into_iter().for_each(|run| self.followers.tell(run));
        Ok(renewed)
    }
}
