//! Attempts in workers' hands: by run, for cancels; by epoch, for renewals and dead members.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{Cause, Epoch, EventId, Holder, RunId, Time};

use super::{native_epoch, run_bounds};

/// One attempt in a worker's hands.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Its number.
    pub number: u32,
    /// Who has it.
    pub holder: Holder,
    /// The cancel that stands on its row: why, and since when.
    pub cancel: Option<(Cause, Time)>,
}

#[derive(Debug, Default)]
pub(super) struct Attempts {
    out: BTreeMap<(RunId, EventId), Attempt>,
    epochs: BTreeMap<Epoch, BTreeSet<(RunId, EventId)>>,
}

impl Attempts {
    pub(super) fn start(&mut self, run: RunId, activity: EventId, attempt: Attempt) {
        self.end(run, activity);
        if let Some(epoch) = native_epoch(&attempt.holder) {
            self.epochs.entry(epoch).or_default().insert((run, activity));
        }
        self.out.insert((run, activity), attempt);
    }

    /// True if an attempt was hit that was not cancelled before, or is pushed harder now: its
    /// worker must hear of it. Otherwise the first cause stays.
    pub(super) fn cancel(&mut self, run: RunId, activity: EventId, cause: Cause, at: Time) -> bool {
        let attempt = self.out.get_mut(&(run, activity));
        let Some(attempt) = attempt else { return false };
        let stands = attempt.cancel.as_ref().map(|(own, _)| own.activity_ladder());
        if stands.is_some_and(|ladder| ladder == cause.activity_ladder()) {
            return false;
        }
        attempt.cancel = Some((cause, at));
        true
    }

    pub(super) fn end(&mut self, run: RunId, activity: EventId) {
        let Some(attempt) = self.out.remove(&(run, activity)) else { return };
        let Some(epoch) = native_epoch(&attempt.holder) else { return };
        if let Some(own) = self.epochs.get_mut(&epoch) {
            own.remove(&(run, activity));
            if own.is_empty() {
                self.epochs.remove(&epoch);
            }
        }
    }

    pub(super) fn forget(&mut self, run: RunId) {
        let own: Vec<EventId> = self.of_run(run).map(|(activity, _)| activity).collect();
        own.into_iter().for_each(|activity| self.end(run, activity));
    }

    pub(super) fn find(&self, run: RunId, activity: EventId) -> Option<&Attempt> {
        self.out.get(&(run, activity))
    }

    pub(super) fn of_run(&self, run: RunId) -> impl Iterator<Item = (EventId, &Attempt)> {
        self.out.range(run_bounds(run)).map(|((_, activity), attempt)| (*activity, attempt))
    }

    pub(super) fn by(&self, epoch: Epoch) -> impl Iterator<Item = (RunId, EventId, &Attempt)> {
        let own = self.epochs.get(&epoch).into_iter().flatten();
        own.filter_map(|named| Some((named.0, named.1, self.out.get(named)?)))
    }

    pub(super) fn outside(&self, epoch: Epoch) -> impl Iterator<Item = (RunId, EventId)> {
        self.epochs.iter().filter(move |(own, _)| **own != epoch).flat_map(|(_, own)| own).copied()
    }
}
