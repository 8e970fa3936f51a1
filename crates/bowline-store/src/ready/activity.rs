//! Activities that wait in their queues, in the order of their due times and then of arrival.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::{EventId, Name, Namespace, Queue, RunId, Time};

use super::{Lane, Queued, run_bounds};
use crate::{ClaimActivities, Hint};

/// How many activities that are covered by marks a claim drops on its way: to drop one takes about
/// half a microsecond, and nobody else writes meanwhile.
const COVERED_AT_ONCE: usize = 2_000;

type Waiting = BTreeMap<(Time, u64), (RunId, EventId)>;

#[derive(Debug, Default)]
pub(super) struct Activities {
    lanes: BTreeMap<Lane<()>, Waiting>,
    places: BTreeMap<(RunId, EventId), Place>,
    /// What may be started only later: by the moment at which somebody must be told.
    later: BTreeMap<(Time, u64), (Namespace, Queue)>,
    arrivals: u64,
}

#[derive(Debug)]
struct Place {
    queue: Queue,
    name: Name,
    due: Time,
    arrival: u64,
}

impl Activities {
    pub(super) fn queue(&mut self, queued: Queued, hints: &mut BTreeSet<Hint>) {
        let Queued { run, activity, queue, name, due, now } = queued;
        if self.places.get(&(run, activity)).is_some_and(|place| place.due == due) {
            return;
        }
        self.remove(run, activity);
        self.arrivals += 1;
        let at = (due, self.arrivals);
        match due > now {
            true => drop(self.later.insert(at, (run.namespace, queue.clone()))),
            false => drop(hints.insert(Hint::Activity(run.namespace, queue.clone()))),
        }
        let lane = ((), run.namespace, queue.clone(), name.clone());
        self.lanes.entry(lane).or_default().insert(at, (run, activity));
        let place = Place { queue, name, due, arrival: self.arrivals };
        self.places.insert((run, activity), place);
    }

    pub(super) fn remove(&mut self, run: RunId, activity: EventId) {
        let Some(place) = self.places.remove(&(run, activity)) else { return };
        let at = (place.due, place.arrival);
        self.later.remove(&at);
        let lane = ((), run.namespace, place.queue, place.name);
        if let Some(waiting) = self.lanes.get_mut(&lane) {
            waiting.remove(&at);
            if waiting.is_empty() {
                self.lanes.remove(&lane);
            }
        }
    }

    pub(super) fn forget(&mut self, run: RunId) {
        let own: Vec<EventId> =
            self.places.range(run_bounds(run)).map(|((_, id), _)| *id).collect();
        own.into_iter().for_each(|activity| self.remove(run, activity));
    }

    /// What a claim may start. Where much is covered by marks it goes as far as that takes no long
    /// time, and has the claim come again.
    pub(super) fn waiting(
        &mut self,
        claim: &ClaimActivities,
        marked: impl Fn(RunId, EventId) -> bool,
        hints: &mut BTreeSet<Hint>,
    ) -> Vec<(RunId, EventId)> {
        let (mut found, mut covered) = (Vec::new(), Vec::new());
        for waiting in self.lanes_of(claim) {
            let due = waiting.iter().take_while(|((due, _), _)| *due <= claim.now);
            let mut free = 0;
            for (at, (run, activity)) in due {
                if free == claim.count || covered.len() == COVERED_AT_ONCE {
                    break;
                }
                match marked(*run, *activity) {
                    true => covered.push((*run, *activity)),
                    false => {
                        found.push((*at, (*run, *activity)));
                        free += 1;
                    }
                }
            }
        }
        if covered.len() == COVERED_AT_ONCE && found.len() < claim.count {
            hints.insert(Hint::Activity(claim.namespace, claim.queue.clone()));
        }
        covered.into_iter().for_each(|(run, activity)| self.remove(run, activity));
        found.sort_unstable();
        found.truncate(claim.count);
        found.into_iter().map(|(_, named)| named).collect()
    }

    fn lanes_of(&self, claim: &ClaimActivities) -> impl Iterator<Item = &Waiting> {
        let from = ((), claim.namespace, claim.queue.clone(), Name::default());
        self.lanes
            .range(from..)
            .take_while(|((_, namespace, queue, _), _)| {
                (*namespace, queue) == (claim.namespace, &claim.queue)
            })
            .filter(|((.., name), _)| claim.names.is_empty() || claim.names.contains(name))
            .map(|(_, waiting)| waiting)
    }

    pub(super) fn wake(&mut self, now: Time, hints: &mut BTreeSet<Hint>) {
        while let Some(first) = self.later.first_entry().filter(|first| first.key().0 <= now) {
            let (namespace, queue) = first.remove();
            hints.insert(Hint::Activity(namespace, queue));
        }
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.later.keys().next().map(|(due, _)| *due)
    }
}
