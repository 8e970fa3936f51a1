//! Attempts in workers' hands: by run, for cancels; by epoch, for renewals and dead members;
//! by control queue, for remote workers that come for their notices.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{Cause, ControlQueue, Epoch, EventId, Holder, RunId, Time};

use super::run_bounds;

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
    controls: BTreeMap<ControlQueue, BTreeSet<(RunId, EventId)>>,
}

impl Attempts {
    pub(super) fn start(&mut self, run: RunId, activity: EventId, attempt: Attempt) {
        self.end(run, activity);
        let own = match &attempt.holder {
            Holder::Native(fence) => self.epochs.entry(fence.epoch).or_default(),
            Holder::Remote { control, .. } => self.controls.entry(control.clone()).or_default(),
        };
        own.insert((run, activity));
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
        match &attempt.holder {
            Holder::Native(fence) => take(&mut self.epochs, &fence.epoch, (run, activity)),
            Holder::Remote { control, .. } => take(&mut self.controls, control, (run, activity)),
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

    pub(super) fn at(&self, control: &ControlQueue) -> impl Iterator<Item = (RunId, EventId)> {
        self.controls.get(control).into_iter().flatten().copied()
    }

    pub(super) fn of_members(
        &self,
        which: impl Fn(Epoch) -> bool,
    ) -> impl Iterator<Item = (RunId, EventId)> {
        self.epochs.iter().filter(move |(own, _)| which(**own)).flat_map(|(_, own)| own).copied()
    }
}

/// Takes an attempt from the list of whoever had it, and the list away with the last one.
fn take<K: Ord>(
    lists: &mut BTreeMap<K, BTreeSet<(RunId, EventId)>>,
    whose: &K,
    attempt: (RunId, EventId),
) {
    let Some(own) = lists.get_mut(whose) else { return };
    own.remove(&attempt);
    if own.is_empty() {
        lists.remove(whose);
    }
}
