//! Marks: cancels that name ranges of activities, until a sweep has folded them into the rows.

use std::collections::BTreeMap;

use bowline_core::{Cause, EventId, Ranges, RunId, Time};
use minicbor::{Decode, Encode};

/// Activities of a run that were cancelled by ranges.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Mark {
    /// Its number among the marks of its run; rising. It is a column of its own where it is kept.
    #[cbor(skip)]
    pub number: u64,
    /// Which activities.
    #[n(0)]
    pub ranges: Ranges,
    /// Why.
    #[n(1)]
    pub cause: Cause,
    /// When that was decided.
    #[n(2)]
    pub at: Time,
}

#[derive(Debug, Default)]
pub(super) struct Marks(BTreeMap<RunId, Vec<Mark>>);

impl Marks {
    pub(super) fn add(&mut self, run: RunId, mark: Mark) {
        let marks = self.0.entry(run).or_default();
        if marks.iter().all(|known| known.number != mark.number) {
            marks.push(mark);
            marks.sort_by_key(|mark| mark.number);
        }
    }

    pub(super) fn fold(&mut self, run: RunId, number: u64) {
        if let Some(marks) = self.0.get_mut(&run) {
            marks.retain(|mark| mark.number != number);
            if marks.is_empty() {
                self.0.remove(&run);
            }
        }
    }

    pub(super) fn forget(&mut self, run: RunId) {
        self.0.remove(&run);
    }

    pub(super) fn covers(&self, run: RunId, activity: EventId) -> Option<&Mark> {
        self.of_run(run).iter().find(|mark| mark.ranges.contains(activity))
    }

    pub(super) fn of_run(&self, run: RunId) -> &[Mark] {
        self.0.get(&run).map_or(&[], |marks| marks)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (RunId, &Mark)> {
        self.0.iter().flat_map(|(run, marks)| marks.iter().map(|mark| (*run, mark)))
    }
}
