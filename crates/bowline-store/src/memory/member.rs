//! Members enter, report and leave.

use bowline_core::{Epoch, EventId, Holder, Place, RunId, Time, hold_back, limits, lose};

use super::{Data, settle::proves};
use crate::{
    AttemptRef, Error, Heartbeat, HeartbeatReply, Hint, Join, Joined, Renewal, Renewed, Result,
    Sighting,
};

impl Data {
    pub(super) fn join(&mut self, join: &Join, opening: u64) -> Result<Joined> {
        self.clock(join.now);
        // Whoever is out, and was not given up, was replaced.
        if !self.roll.may_enter(opening, join.again) {
            return Err(Error::Fenced);
        }
        self.rows.epoch.0 += 1;
        let epoch = self.rows.epoch;
        self.roll.enter(opening, epoch, join);
        if self.roll.is_shared() || self.is_something_left() {
            self.hints.insert(Hint::Sweep);
        }
        Ok(Joined { epoch })
    }

    /// Whether the dead have left something that somebody must take over.
    fn is_something_left(&self) -> bool {
        let dead = |epoch| !self.roll.is_alive(epoch);
        self.index.attempts_where(dead).next().is_some()
            || self.index.held_where(dead).next().is_some()
    }

    pub(super) fn renew(&mut self, renewal: Renewal) -> Result<Renewed> {
        let Renewal { epoch, now, .. } = renewal;
        self.clock(now);
        self.alive(epoch)?;
        self.roll.extend(epoch, renewal.lease);
        for (run, activity) in self.attempts_by(epoch) {
            self.fold(run, activity);
        }
        let heartbeats =
            renewal.heartbeats.into_iter().map(|beat| self.heartbeat(beat, now)).collect();
        renewal.sightings.iter().for_each(|sighting| self.sight(sighting));
        let own = self.attempts_by(epoch);
        let mut cancels: Vec<_> =
            own.into_iter().filter_map(|(run, activity)| self.hit(run, activity)).collect();
        for control in &renewal.controls {
            let remote: Vec<_> = self.index.attempts_at(control).collect();
            for (run, activity) in remote {
                self.fold(run, activity);
                cancels.extend(self.hit(run, activity).filter(|_| self.is_untold(run, activity)));
            }
        }
        let inventory = if renewal.inventory { self.attempts_by(epoch) } else { Vec::new() };
        if renewal.leave {
            self.leave(epoch, renewal.runs_on, now);
        }
        let others = renewal.inventory && self.roll.has_others(epoch);
        let (damaged, past) = (Vec::new(), self.past);
        Ok(Renewed { heartbeats, cancels, inventory, others, damaged, past })
    }

    /// Whether a cancel stands on an activity's row that no worker is known to have.
    fn is_untold(&self, run: RunId, activity: EventId) -> bool {
        let own = self.rows.runs.get(&run).and_then(|row| row.activities.get(&activity));
        let record = own.and_then(|own| own.live.cancel.as_ref());
        record.is_some_and(|record| record.delivered_at.is_none())
    }

    fn attempts_by(&self, epoch: Epoch) -> Vec<(RunId, EventId)> {
        self.index.attempts_by(epoch).map(|(run, activity, _)| (run, activity)).collect()
    }

    fn heartbeat(&mut self, beat: Heartbeat, now: Time) -> HeartbeatReply {
        let AttemptRef { run, activity, attempt } = beat.attempt;
        self.fold(run, activity);
        let roll = &self.roll;
        let own = self.rows.runs.get_mut(&run).and_then(|row| row.activities.get_mut(&activity));
        let Some(live) = own.map(|own| &mut own.live).filter(|live| live.attempt == attempt) else {
            return HeartbeatReply::Gone;
        };
        let Place::Started(start) = &mut live.place else { return HeartbeatReply::Gone };
        if !proves(&beat.proof, &start.holder, roll) {
            return HeartbeatReply::Gone;
        }
        start.heard_at = now;
        live.heartbeat = beat.details.or(live.heartbeat.take());
        match &live.cancel {
            Some(record) => HeartbeatReply::Cancelled(record.cause.clone()),
            None => HeartbeatReply::Alive,
        }
    }

    fn sight(&mut self, sighting: &Sighting) {
        let AttemptRef { run, activity, attempt } = sighting.attempt;
        let own = self.rows.runs.get_mut(&run).and_then(|row| row.activities.get_mut(&activity));
        let live = own.map(|own| &mut own.live).filter(|live| live.attempt == attempt);
        if let Some(record) = live.and_then(|live| live.cancel.as_mut()) {
            record.delivered_at = record.delivered_at.or(Some(sighting.delivered_at));
            record.observed_at = record.observed_at.or(sighting.observed_at);
        }
    }

    fn leave(&mut self, epoch: Epoch, runs_on: bool, now: Time) {
        self.roll.bury(epoch, runs_on);
        for (run, activity) in self.attempts_by(epoch) {
            self.lose(run, activity, now);
        }
        let held: Vec<RunId> = self.index.held_by(epoch).collect();
        held.into_iter().for_each(|run| self.release(run));
    }

    /// The member that had an attempt is dead, or was silent for too long.
    pub(super) fn lose(&mut self, run: RunId, activity: EventId, now: Time) {
        self.fold(run, activity);
        let Some(own) = self.rows.known(run).activities.get_mut(&activity) else { return };
        let start = own.live.started().cloned();
        let seen = start.as_ref().is_none_or(|start| match &start.holder {
            Holder::Native(fence) => self.roll.is_over(fence.epoch),
            Holder::Remote { .. } => true,
        });
        let mut step = lose(&own.spec, &mut own.live, seen, now);
        if self.is_cancelled_above(run)
            && let Some(own) = self.rows.known(run).activities.get_mut(&activity)
        {
            step = hold_back(&mut own.live, step, now);
        }
        self.stepped(run, activity, start.as_ref(), &step, now);
    }

    /// Whether a run above this one is open, and asked to cancel.
    fn is_cancelled_above(&self, run: RunId) -> bool {
        let up = |run: &RunId| Some(self.rows.runs.get(run)?.head.parent?.0);
        let above = std::iter::successors(up(&run), up).take(limits::ABOVE_MAX);
        let mut heads = above.filter_map(|run| Some(&self.rows.runs.get(&run)?.head));
        heads.any(|head| head.status.is_open() && head.cancel.is_some())
    }

    pub(super) fn release(&mut self, run: RunId) {
        let head = &mut self.rows.known(run).head;
        head.holder = None;
        if head.is_parked() {
            self.hints.insert(Hint::Parked(run));
        }
        self.stand(run);
    }
}
