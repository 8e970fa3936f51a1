//! Events of the run itself.

use super::State;
use crate::{
    Cause, Event, EventId, MemoModified, SearchUpserted, Status, Time, WorkflowCancelRequested,
    WorkflowSignalled, WorkflowStarted,
};

pub(super) fn started(state: &mut State, time: Time, event: &WorkflowStarted) {
    state.started_at = time;
    state.since = time.after(event.delay.unwrap_or_default().0);
    state.delayed = event.delay.is_some_and(|delay| !delay.0.is_zero());
    state.search = event.search.clone();
    state.memo = event.memo.clone();
    *state.started = event.clone();
}

pub(super) fn signalled(state: &mut State, at: EventId, event: &WorkflowSignalled) {
    state.signals += 1;
    state.requests.insert(&event.request_id);
    if state.rules().unread_go_on() {
        state.unread.add(at, event);
    }
}

pub(super) fn cancel_requested(state: &mut State, at: &Event, event: &WorkflowCancelRequested) {
    if state.cancel.is_none() {
        state.cancel = Some((at.id, event.cause.clone()));
        state.cancel_at = Some(at.time);
    }
    if state.status.is_open() {
        state.status = Status::Cancelling;
    }
}

/// Who asked first, and why, stays; how hard they push is what the later request says.
pub(super) fn hastened(state: &mut State, by: &Cause) {
    if let Some((_, cause)) = &mut state.cancel {
        cause.ladders = by.ladders.clone();
    }
}

pub(super) fn closed(state: &mut State, status: Status) {
    state.status = status;
    state.activities.clear();
    state.timers.clear();
    state.children.clear();
    state.externals.clear();
    state.unread = Default::default();
    state.turn_scheduled = None;
    state.turn_started = None;
}

pub(super) fn search(state: &mut State, event: &SearchUpserted) {
    for (key, value) in &event.changes {
        match value {
            Some(value) => state.search.insert(key.clone(), value.clone()),
            None => state.search.remove(key),
        };
    }
}

pub(super) fn memo(state: &mut State, event: &MemoModified) {
    for (key, value) in &event.changes {
        match value {
            Some(value) => state.memo.insert(key.clone(), value.clone()),
            None => state.memo.remove(key),
        };
    }
}
