//! Events of updates.

use super::{OpenUpdate, State};
use crate::{EventId, UpdateAccepted, UpdateAdmitted, UpdateCompleted, UpdateId};

pub(super) fn admitted(state: &mut State, event: &UpdateAdmitted) {
    let open = OpenUpdate { name: event.request.name.clone(), accepted: EventId(0), done: false };
    state.updates.insert(event.request.id.clone(), open);
}

/// A refused update is forgotten, as if it had never been asked.
pub(super) fn refused(state: &mut State, ids: &[UpdateId]) {
    for id in ids {
        if state.updates.get(id).is_some_and(|open| open.accepted == EventId(0)) {
            state.updates.remove(id);
        }
    }
}

pub(super) fn accepted(state: &mut State, id: EventId, event: &UpdateAccepted) {
    let open = OpenUpdate { name: event.request.name.clone(), accepted: id, done: false };
    state.updates.insert(event.request.id.clone(), open);
}

pub(super) fn completed(state: &mut State, event: &UpdateCompleted) {
    if let Some(open) = state.updates.get_mut(&event.id) {
        open.done = true;
    }
}
