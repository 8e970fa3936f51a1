//! Events of turns.

use super::State;
use crate::{EventId, Ranges, Time, TurnCompleted, TurnFailed};

pub(super) fn scheduled(state: &mut State, id: EventId) {
    state.turn_scheduled = Some(id);
    state.cancelled = Ranges::default();
    state.detached = Ranges::default();
    state.delayed = false;
}

pub(super) fn completed(state: &mut State, id: EventId, event: &TurnCompleted) {
    state.last_started = event.started;
    state.last_completed = id;
    over(state);
}

/// A fork fails the turn that it was cut in, and its run's time begins anew.
pub(super) fn failed(state: &mut State, time: Time, event: &TurnFailed) {
    if let Some((_, new)) = event.forked {
        state.fork = Some(new);
        state.since = time;
        state.cancel_at = state.cancel_at.map(|_| time);
    }
    over(state);
}

pub(super) fn over(state: &mut State) {
    state.turn_scheduled = None;
    state.turn_started = None;
}
