//! Events of turns.

use super::State;
use crate::{EventId, Ranges, TurnCompleted};

pub(super) fn scheduled(state: &mut State, id: EventId) {
    state.turn_scheduled = Some(id);
    state.cancelled = Ranges::default();
    state.delayed = false;
}

pub(super) fn completed(state: &mut State, id: EventId, event: &TurnCompleted) {
    state.last_started = event.started;
    state.last_completed = id;
    over(state);
}

pub(super) fn over(state: &mut State) {
    state.turn_scheduled = None;
    state.turn_started = None;
}
