//! This process as a member of the store: it reports what its attempts do, and is told what is
//! cancelled. The reply is the certain way for a cancel; the push only makes it fast.

use std::sync::{Arc, atomic::Ordering};

use bowline_core::{ControlQueue, Time};
use bowline_store::{AttemptHit, Heartbeat, HeartbeatReply, Renewal, Renewed, Sighting};

use super::{Core, desk::Reports};
use crate::{Error, Result};

/// Renews while attempts are running, or when woken, until the engine stops. With a renewal that
/// came by time, everything is looked at that a lost hint may have hidden.
pub(crate) async fn run(core: Arc<Core>) {
    let mut next: Option<Time> = None;
    loop {
        let running = core.local.get().is_some_and(|local| local.is_running());
        // An idle process has nothing to report, and is woken for nothing.
        let busy = running || core.net.is_dirty();
        let due = core.now().after(core.settings.lease / 3);
        next = busy.then(|| next.unwrap_or(due));
        let looks = tokio::select! {
            biased;
            // First, so that a bell that never rests cannot put the look off for ever.
            () = core.clock.sleep_until(next.unwrap_or(Time::MAX)), if next.is_some() => true,
            () = core.bells.renew.notified() => false,
            () = core.net.touched.notified() => continue,
        };
        if looks {
            next = None;
        }
        match core.renew(false).await {
            Ok(()) => {}
            Err(error) if error.is_lost() => return core.lost(),
            // A store that cannot be reached cancels nobody.
            Err(error) => tracing::warn!(%error, "the lease could not be renewed; trying again"),
        }
        if looks {
            core.look();
        }
    }
}

impl Core {
    /// Reports, and passes on what the store answers. What could not be reported is kept for the
    /// next time.
    pub(crate) async fn renew(self: &Arc<Self>, leave: bool) -> Result<()> {
        let Some(local) = self.local.get() else {
            self.renew_with(Reports::default(), leave).await?;
            return Ok(());
        };
        let Reports { heartbeats, sightings } = local.take_reports();
        let kept = Reports { heartbeats: heartbeats.clone(), sightings: sightings.clone() };
        let attempts: Vec<_> = heartbeats.iter().map(|beat| beat.attempt).collect();
        match self.renew_with(Reports { heartbeats, sightings }, leave).await {
            Ok(renewed) => {
                let replies = attempts.into_iter().zip(renewed.heartbeats);
                let gone = replies.filter(|(_, reply)| *reply == HeartbeatReply::Gone);
                gone.for_each(|(attempt, _)| local.lost(attempt));
                Ok(())
            }
            Err(error) => {
                local.give_back(kept);
                Err(error)
            }
        }
    }

    /// This opening of the store is over: somebody else has it. Whatever runs here is told to
    /// stop, and nothing is begun any more.
    pub(crate) fn lost(&self) {
        if self.stopping.is_cancelled() || self.is_lost.swap(true, Ordering::AcqRel) {
            return;
        }
        tracing::error!("the store belongs to somebody else now; this engine stops");
        match self.local.get() {
            Some(local) => local.all_lost(),
            None => self.stopping.cancel(),
        }
    }

    /// Passes an answer on. One that says that this opening of the store is over stops the engine.
    pub(crate) fn heed<T>(&self, answer: Result<T>) -> Result<T> {
        if answer.as_ref().is_err_and(Error::is_lost) {
            self.lost();
        }
        answer
    }

    /// Reports for remote attempts; the answer says, for each heartbeat, whether it goes on.
    pub(crate) async fn report(
        self: &Arc<Self>,
        heartbeats: Vec<Heartbeat>,
        sightings: Vec<Sighting>,
    ) -> Result<Vec<HeartbeatReply>> {
        Ok(self.renew_with(Reports { heartbeats, sightings }, false).await?.heartbeats)
    }

    /// Every cancel that a remote worker is not known to have, among others.
    pub(crate) async fn undelivered(&self, control: &ControlQueue) -> Result<Vec<AttemptHit>> {
        let renewal = Renewal {
            epoch: self.epoch,
            lease: self.settings.lease,
            now: self.now(),
            heartbeats: Vec::new(),
            sightings: Vec::new(),
            controls: vec![control.clone()],
            leave: false,
        };
        Ok(self.retrying(|| self.store.renew(renewal.clone())).await?.cancels)
    }

    async fn renew_with(self: &Arc<Self>, reports: Reports, leave: bool) -> Result<Renewed> {
        let Reports { heartbeats, sightings } = reports;
        let runs: Vec<_> = sightings.iter().map(|seen| seen.attempt.run).collect();
        let (epoch, lease, now) = (self.epoch, self.settings.lease, self.now());
        // A cancel may have been decided elsewhere, for a worker that listens here.
        let controls = self.control.polled();
        let renewal = Renewal { epoch, lease, now, heartbeats, sightings, controls, leave };
        let mut renewed = self.retrying(|| self.store.renew(renewal.clone())).await?;
        self.push(std::mem::take(&mut renewed.cancels));
        runs.into_iter().for_each(|run| self.followers.tell_end(run));
        Ok(renewed)
    }
}
