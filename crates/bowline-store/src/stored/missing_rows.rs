//! Rows that are missing: activities of a wide commit, whose events stand in history already.

use std::collections::{HashMap, VecDeque};

use bowline_core::{
    ActivityLive, ActivitySpec, Batch, EventId, EventKind, Ranges, RunId, Time, codec::Corrupt,
};

/// For how many runs it is remembered what is left of their events.
const PLANNED_MAX: usize = 4;

/// What one commit owes.
#[derive(Clone, Debug)]
pub struct MissingRows {
    /// Activities before this one have their rows.
    pub next: EventId,
    /// When they were committed.
    pub at: Time,
    /// All of them.
    pub ranges: Ranges,
}

impl MissingRows {
    /// Of activities of which these run already, and have their rows; none if all of them do.
    pub fn of(all: &Ranges, begun: &[EventId], at: Time) -> Option<Self> {
        let ranges = all.minus(begun);
        let next = ranges.ranges().first()?.first;
        Some(Self { next, at, ranges })
    }

    /// The first of them, which names the whole.
    pub fn first(&self) -> EventId {
        self.ranges.ranges().first().map_or(self.next, |range| range.first)
    }

    /// The last of them.
    pub fn last(&self) -> EventId {
        self.ranges.ranges().last().map_or(self.next, |range| range.last)
    }

    /// Whether the row of an activity is still missing.
    pub fn covers(&self, activity: EventId) -> bool {
        activity >= self.next && self.ranges.contains(activity)
    }

    /// Every activity whose row is still missing.
    pub fn ids(&self) -> impl Iterator<Item = EventId> {
        self.ranges.ids().skip_while(|id| *id < self.next)
    }

    /// The activities, the next one first, from the part of history that tells of them.
    ///
    /// # Errors
    /// If that does not read.
    pub fn plan(
        &self,
        history: impl IntoIterator<Item = Batch>,
    ) -> Result<VecDeque<Planned>, Corrupt> {
        let mut planned = VecDeque::new();
        for batch in history {
            for event in batch.events()?.into_iter().filter(|event| self.covers(event.id)) {
                let EventKind::ActivityScheduled(scheduled) = event.kind else { continue };
                let live = ActivityLive::queued(self.at, self.at);
                planned.push_back(Planned { number: event.id, spec: scheduled.spec, live });
            }
        }
        Ok(planned)
    }
}

/// An activity without a row.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its number.
    pub number: EventId,
    /// What it is.
    pub spec: ActivitySpec,
    /// Where it stands.
    pub live: ActivityLive,
}

/// What is left of the events of runs that owe: they are read and decoded once. A memory, never the
/// truth: what is taken from it is compared with what the row says is next.
#[derive(Debug, Default)]
pub struct PlannedRows(HashMap<RunId, VecDeque<Planned>>);

impl PlannedRows {
    /// The next activities that are missing, if they are remembered.
    pub fn recall(&mut self, run: RunId, next: EventId) -> Option<VecDeque<Planned>> {
        let planned = self.0.remove(&run)?;
        let fits = planned.front().is_some_and(|first| first.number == next);
        fits.then_some(planned)
    }

    /// Remembers what is left.
    pub fn keep(&mut self, run: RunId, planned: VecDeque<Planned>) {
        if self.0.len() < PLANNED_MAX && !planned.is_empty() {
            self.0.insert(run, planned);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
