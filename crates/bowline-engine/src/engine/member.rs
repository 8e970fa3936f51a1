//! This process as a member of the store: it reports what its attempts do, and is told what is
//! cancelled. The reply is the certain way for a cancel; the push only makes it fast.

mod standing;

use std::sync::Arc;

use bowline_core::{ControlQueue, EventId, RunId, Time};
use bowline_store::{
    AttemptHit, Attest, Attested, Heartbeat, HeartbeatReply, Renewal, Renewed, Sighting, Whom,
    Witness,
};

use super::{EngineInner, exchange::Reports};
use crate::{Result, limits};

pub(crate) use standing::Standing;

/// Renews while attempts are running, or when woken, until the engine stops. With a renewal that
/// came by time, everything is looked at that a lost hint may have hidden.
pub(crate) async fn run(inner: Arc<EngineInner>) {
    let mut next: Option<Time> = None;
    loop {
        if inner.standing.is_out() && !inner.enter_again().await {
            return inner.stopping.cancel();
        }
        let running = inner.local.get().is_some_and(|local| local.is_running());
        // An idle process has nothing to report, and is woken for nothing.
        let busy = running || inner.net.is_dirty();
        let due = inner.now().after(inner.settings.lease / 3);
        next = busy.then(|| next.unwrap_or(due));
        let looks = tokio::select! {
            biased;
            // First, so that a bell that never rests cannot put the look off for ever.
            () = inner.clock.sleep_until(next.unwrap_or(Time::MAX)), if next.is_some() => true,
            () = inner.bells.renew.notified() => false,
            () = inner.net.touched.notified() => continue,
        };
        if looks {
            next = None;
        }
        let epoch = inner.epoch();
        match inner.heed(epoch, inner.renew(false).await) {
            Ok(()) => {}
            Err(error) if error.is_lost() => continue,
            // A store that cannot be reached cancels nobody. What it has to say is asked for again
            // soon, not when the lease wants it.
            Err(error) => {
                tracing::warn!(%error, "the lease could not be renewed; trying again");
                next =
                    Some(inner.now().after(limits::STORE_PAUSE_MAX.min(inner.settings.lease / 3)));
            }
        }
        if looks {
            inner.look();
        }
    }
}

impl EngineInner {
    /// Reports, and passes on what the store answers. What could not be reported is kept for the
    /// next time.
    pub(crate) async fn renew(self: &Arc<Self>, leave: bool) -> Result<()> {
        let Some(local) = self.local.get() else {
            let renewal = Renewal { leave, ..self.renewal(Vec::new(), Vec::new()) };
            return self.renew_with(renewal).await.map(drop);
        };
        let Reports { heartbeats, sightings } = local.take_reports();
        let kept = Reports { heartbeats: heartbeats.clone(), sightings: sightings.clone() };
        let attempts: Vec<_> = heartbeats.iter().map(|beat| beat.attempt).collect();
        let runs_on = leave && local.leaks();
        let renewal = Renewal { leave, runs_on, ..self.renewal(heartbeats, sightings) };
        match self.renew_with(renewal).await {
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

    /// Reports for remote attempts; the answer says, for each heartbeat, whether it goes on.
    pub(crate) async fn report(
        self: &Arc<Self>,
        heartbeats: Vec<Heartbeat>,
        sightings: Vec<Sighting>,
    ) -> Result<Vec<HeartbeatReply>> {
        let renewal = self.renewal(heartbeats, sightings);
        let renew = |epoch| self.store.renew(Renewal { epoch, ..renewal.clone() });
        let renewed = self.as_member(renew).await?;
        Ok(self.renewed(&renewal, renewed).heartbeats)
    }

    /// The last word of an attempt that runs here. Nobody waits for a new epoch with it: the new
    /// epoch waits for the attempt.
    pub(crate) async fn last_word(self: &Arc<Self>, heartbeat: Heartbeat) -> Result<()> {
        self.renew_with(self.renewal(vec![heartbeat], Vec::new())).await.map(drop)
    }

    /// Every cancel that a remote worker is not known to have, among others.
    pub(crate) async fn undelivered(&self, control: &ControlQueue) -> Result<Vec<AttemptHit>> {
        let controls = vec![control.clone()];
        let renewal = Renewal { controls, ..self.renewal(Vec::new(), Vec::new()) };
        let renew = |epoch| self.store.renew(Renewal { epoch, ..renewal.clone() });
        Ok(self.as_member(renew).await?.cancels)
    }

    /// Every activity that has a started attempt of this member, whether anybody here knows of it
    /// or not.
    pub(crate) async fn inventory(&self) -> Result<Vec<(RunId, EventId)>> {
        let renewal = Renewal { inventory: true, ..self.renewal(Vec::new(), Vec::new()) };
        let renew = |epoch| self.store.renew(Renewal { epoch, ..renewal.clone() });
        Ok(self.as_member(renew).await?.inventory)
    }

    /// Takes somebody's word that members are gone.
    pub(crate) async fn attest(&self, whom: Whom, witness: Witness) -> Result<Attested> {
        let attest = Attest { whom, witness, now: self.now() };
        let attested = self.retrying(|| self.store.attest(attest.clone())).await?;
        self.followers.tell_all();
        self.bells.sweep.notify_one();
        Ok(attested)
    }

    /// Whether other members are alive, which may have other code. If nobody can say, there are
    /// none.
    pub(crate) async fn has_others(&self) -> bool {
        let renewal = Renewal { inventory: true, ..self.renewal(Vec::new(), Vec::new()) };
        let renewed = self.retrying(|| self.store.renew(renewal.clone())).await;
        renewed.is_ok_and(|renewed| renewed.others)
    }

    fn renewal(&self, heartbeats: Vec<Heartbeat>, sightings: Vec<Sighting>) -> Renewal {
        let (epoch, lease, now) = (self.epoch(), self.settings.lease, self.now());
        // A cancel may have been decided elsewhere, for a worker that listens here.
        let controls = self.control.polled();
        let (inventory, leave, runs_on) = (false, false, false);
        Renewal { epoch, lease, now, heartbeats, sightings, controls, inventory, leave, runs_on }
    }

    async fn renew_with(self: &Arc<Self>, renewal: Renewal) -> Result<Renewed> {
        let renewed = self.retrying(|| self.store.renew(renewal.clone())).await?;
        Ok(self.renewed(&renewal, renewed))
    }

    /// Passes on what the store has answered.
    fn renewed(self: &Arc<Self>, renewal: &Renewal, mut renewed: Renewed) -> Renewed {
        self.set_aside(&renewed.damaged);
        self.meets(renewed.past);
        self.push(std::mem::take(&mut renewed.cancels));
        renewal.sightings.iter().for_each(|seen| self.followers.tell_end(seen.attempt.run));
        renewed
    }
}
