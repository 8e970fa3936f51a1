//! Activities that wait in their queues, in the order of their due times and then of arrival.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bowline_core::{EventId, Name, Namespace, Queue, RunId, Time};

use super::{Lane, Queued, Sought, WaitingWork, run_bounds};
use crate::{ClaimActivities, Hint};

/// How many activities that may not begin a claim takes out of its way: that takes about half a
/// microsecond for each, and nobody else writes meanwhile.
const COVERED_AT_ONCE: usize = 2_000;

/// Whether an activity that waits may be started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    Now,
    /// Its run withholds it.
    Later,
    /// It is cancelled.
    Never,
}

type Waiting = BTreeMap<(Time, u64), (RunId, EventId)>;

#[derive(Debug, Default)]
pub(super) struct Activities {
    lanes: BTreeMap<Lane<()>, Waiting>,
    places: BTreeMap<(RunId, EventId), Place>,
    /// What may be started only later: by the moment at which somebody must be told.
    later: BTreeMap<(Time, u64), (Namespace, Queue)>,
    /// What runs withhold, as far as a claim has come across it: it has its place, and no lane.
    damaged: BTreeSet<(RunId, EventId)>,
    arrivals: u64,
    pub(super) view: Arc<WaitingWork>,
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
        self.enter(lane, at, (run, activity));
        let place = Place { queue, name, due, arrival: self.arrivals };
        self.places.insert((run, activity), place);
    }

    pub(super) fn remove(&mut self, run: RunId, activity: EventId) {
        let Some(place) = self.places.remove(&(run, activity)) else { return };
        let at = (place.due, place.arrival);
        self.later.remove(&at);
        self.damaged.remove(&(run, activity));
        self.leave(((), run.namespace, place.queue, place.name), at);
    }

    fn enter(&mut self, lane: Lane<()>, at: (Time, u64), what: (RunId, EventId)) {
        self.view.enter(Sought::Activity, lane.1, &lane.2);
        self.lanes.entry(lane).or_default().insert(at, what);
    }

    fn leave(&mut self, lane: Lane<()>, at: (Time, u64)) {
        if let Some(waiting) = self.lanes.get_mut(&lane) {
            if waiting.remove(&at).is_some() {
                self.view.leave(Sought::Activity, lane.1, &lane.2);
            }
            if waiting.is_empty() {
                self.lanes.remove(&lane);
            }
        }
    }

    /// Takes what is withheld out of its lane. It keeps its place in the order.
    fn set_aside(&mut self, run: RunId, activity: EventId) {
        let Some(place) = self.places.get(&(run, activity)) else { return };
        let at = (place.due, place.arrival);
        let lane = ((), run.namespace, place.queue.clone(), place.name.clone());
        self.leave(lane, at);
        self.damaged.insert((run, activity));
    }

    /// A run withholds nothing any more: what was set aside waits again, unless it is cancelled.
    pub(super) fn bring_back(
        &mut self,
        run: RunId,
        marked: impl Fn(EventId) -> bool,
        hints: &mut BTreeSet<Hint>,
    ) {
        let own: Vec<EventId> = self.damaged.range(run_bounds(run)).map(|(_, id)| *id).collect();
        for activity in own {
            if marked(activity) {
                self.remove(run, activity);
                continue;
            }
            self.damaged.remove(&(run, activity));
            let Some(place) = self.places.get(&(run, activity)) else { continue };
            let lane = ((), run.namespace, place.queue.clone(), place.name.clone());
            hints.insert(Hint::Activity(run.namespace, place.queue.clone()));
            let at = (place.due, place.arrival);
            self.enter(lane, at, (run, activity));
        }
    }

    pub(super) fn forget(&mut self, run: RunId) {
        let own: Vec<EventId> =
            self.places.range(run_bounds(run)).map(|((_, id), _)| *id).collect();
        own.into_iter().for_each(|activity| self.remove(run, activity));
    }

    /// What a claim may start. Where much may not begin it goes as far as that takes no long time,
    /// and has the claim come again.
    pub(super) fn waiting(
        &mut self,
        claim: &ClaimActivities,
        may_begin: impl Fn(RunId, EventId) -> Begin,
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
                match may_begin(*run, *activity) {
                    Begin::Now => {
                        found.push((*at, (*run, *activity)));
                        free += 1;
                    }
                    other => covered.push((*run, *activity, other)),
                }
            }
        }
        if covered.len() == COVERED_AT_ONCE && found.len() < claim.count {
            hints.insert(Hint::Activity(claim.namespace, claim.queue.clone()));
        }
        for (run, activity, begin) in covered {
            match begin {
                Begin::Later => self.set_aside(run, activity),
                _ => self.remove(run, activity),
            }
        }
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
