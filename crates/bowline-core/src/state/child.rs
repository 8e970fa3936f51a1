//! Events of children.

use super::{OpenChild, State};
use crate::{ChildInitiated, ChildStarted, EventId};

pub(super) fn initiated(state: &mut State, id: EventId, event: &ChildInitiated) {
    let open = OpenChild {
        run: event.run,
        workflow_id: event.spec.workflow_id.clone(),
        name: event.spec.name.clone(),
        started: None,
        close: event.spec.close,
        cancel: None,
        turn: event.turn,
        detached: state.detached.contains(id),
    };
    state.children.insert(id, open);
}

pub(super) fn started(state: &mut State, id: EventId, event: &ChildStarted) {
    if let Some(open) = state.children.get_mut(&event.child) {
        open.started = Some(id);
    }
}

pub(super) fn over(state: &mut State, child: EventId) {
    state.children.remove(&child);
}
