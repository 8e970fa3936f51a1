//! A signal arrives.

use crate::{Draft, Signal, Time, WorkflowSignalled};

/// A repeated request vanishes here. A run whose first turn is delayed is not woken by a signal.
pub(super) fn signal(draft: &mut Draft, at: Time, signal: &Signal) {
    if !signal.request_id.is_empty() && draft.state.requests.contains(&signal.request_id) {
        return;
    }
    let event = WorkflowSignalled {
        name: signal.name.clone(),
        input: signal.input.clone(),
        header: signal.header.clone(),
        identity: signal.identity.clone(),
        request_id: signal.request_id.clone(),
        external: signal.external.clone(),
    };
    draft.record_at(at, event, Vec::new(), signal.wire.clone());
    draft.insists |= !draft.state.delayed;
}

#[cfg(test)]
mod tests;
