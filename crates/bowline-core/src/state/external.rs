//! Events of requests to other runs.

use super::{OpenExternal, State};
use crate::{EventId, ExternalCancelInitiated, ExternalSignalInitiated};

pub(super) fn cancel(state: &mut State, id: EventId, event: &ExternalCancelInitiated) {
    if let Some(open) = state.children.get_mut(&event.child) {
        open.cancel.get_or_insert(id);
    }
    let open = OpenExternal { target: event.target.clone(), cancel: true, turn: event.turn };
    state.externals.insert(id, open);
}

pub(super) fn signal(state: &mut State, id: EventId, event: &ExternalSignalInitiated) {
    let open = OpenExternal { target: event.target.clone(), cancel: false, turn: event.turn };
    state.externals.insert(id, open);
}

pub(super) fn over(state: &mut State, initiated: EventId) {
    state.externals.remove(&initiated);
}
