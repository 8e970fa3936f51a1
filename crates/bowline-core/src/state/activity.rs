//! Events and notes of activities.

use super::{OpenActivity, State};
use crate::{ActivityScheduled, Cancelled, Decision, EventId, Ranges};

pub(super) fn scheduled(state: &mut State, id: EventId, event: &ActivityScheduled) {
    let spec = &event.spec;
    let open = OpenActivity {
        id: spec.id.clone(),
        name: spec.name.clone(),
        cancel: state.cancelled.contains(id).then_some(state.last_completed),
        detached: state.detached.contains(id),
    };
    state.activities.insert(id, open);
}

pub(super) fn over(state: &mut State, activity: EventId) {
    state.activities.remove(&activity);
}

/// An operator's cancel names an activity or a child; which one, its number tells.
pub(super) fn cancel(state: &mut State, target: EventId, event: EventId) {
    if let Some(open) = state.activities.get_mut(&target) {
        open.cancel.get_or_insert(event);
    }
    if let Some(open) = state.children.get_mut(&target) {
        open.cancel.get_or_insert(event);
    }
}

/// A turn's cancels ride on its `TurnCompleted`, ahead of the activities that the same turn
/// schedules; those find themselves in `State::cancelled`.
pub(super) fn cancelled(state: &mut State, event: EventId, decisions: &[Decision]) {
    let hits = decisions.iter().filter(|d| d.what == Cancelled::Activities);
    let ahead = hits.clone().flat_map(|d| d.targets.ranges().iter()).any(|r| r.last > event);
    if ahead {
        let targets = hits.clone().flat_map(|decision| decision.targets.ids());
        state.cancelled = state.cancelled.ids().chain(targets).collect();
    }
    for decision in hits {
        for range in decision.targets.ranges() {
            for (_, open) in state.activities.range_mut(range.first..=range.last) {
                open.cancel.get_or_insert(event);
            }
        }
    }
}

pub(super) fn skipped(state: &mut State, ranges: &Ranges) {
    let over = ranges.take_from(&mut state.activities);
    state.skipped += over.len() as u64;
}

/// What the same turn starts comes behind the note, and finds itself in `State::detached`.
pub(super) fn detached(state: &mut State, event: EventId, ranges: &Ranges) {
    if ranges.ranges().last().is_some_and(|range| range.last > event) {
        state.detached = state.detached.ids().chain(ranges.ids()).collect();
    }
    for id in ranges.ids() {
        if let Some(open) = state.activities.get_mut(&id) {
            open.detached = true;
        }
        if let Some(open) = state.children.get_mut(&id) {
            open.detached = true;
        }
    }
}
