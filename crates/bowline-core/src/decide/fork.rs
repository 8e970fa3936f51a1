//! A new run from a prefix of another's events.
//!
//! The prefix is cut behind a `TurnStarted`, inside a batch if need be. The turn that was begun
//! there fails with fault `Forked`, signals that came later are brought along, and whatever was
//! open at that point is open again. A child is not started anew: the fork inherits it, and is
//! told its end, be it in the old run's history already or yet to come.

use std::sync::Arc;

use super::start::{self, birth};
use crate::{
    ActivityCancelled, Alarm, AlarmKind, Birth, Draft, Effect, EndChild, Event, EventId, EventKind,
    Link, Number, Refusal, Reuse, RunId, State, Time, TurnFailed, TurnFault, TurnRecord,
    UpdateAdmitted, decide,
};

/// Forks `history` behind event `at`, as run `new`. `ends` are ends of children that the old run
/// was not told any more.
///
/// # Errors
/// If there is no such event, or history cannot be cut there.
pub fn fork(
    history: &[Event],
    at: EventId,
    old: RunId,
    new: RunId,
    now: Time,
    ends: &[EndChild],
) -> Result<Birth, Refusal> {
    let cut = history
        .iter()
        .position(|event| event.id == at)
        .ok_or(Refusal::CannotFork(at, "there is no such event"))?;
    let EventKind::TurnStarted(turn) = &history[cut].kind else {
        return Err(Refusal::CannotFork(at, "it is not the start of a turn"));
    };
    let (prefix, rest) = history.split_at(cut + 1);
    let state = State::of(new, prefix);
    if state.children.values().any(|child| child.started.is_none()) {
        return Err(Refusal::CannotFork(at, "a child was about to start"));
    }
    if !state.externals.is_empty() {
        return Err(Refusal::CannotFork(at, "another run was about to be asked for something"));
    }
    let mut draft = Draft::new(state, TurnRecord::default(), Number(0), now, new);
    draft.event(TurnFailed {
        scheduled: turn.scheduled,
        started: at,
        fault: TurnFault::Forked,
        forked: Some((old, new)),
        ..TurnFailed::default()
    });
    bring_along(&mut draft, rest);
    ends.iter().for_each(|end| decide::child::end(&mut draft, now, end));
    admit(&mut draft, prefix);
    end_cancelled(&mut draft);
    reopen(&mut draft, prefix);
    let wake = !draft.state.rules().turns_wait();
    if !wake {
        draft.insists = true;
        decide::turn::schedule(&mut draft);
    }
    Ok(birth(draft, prefix.to_vec(), wake, Reuse::Allow, Link::None))
}

/// Signals and updates that came after the cut are not lost, and neither is the end of a child
/// that was open there. Whatever was answered there was answered by code that this run has not
/// run: it is asked again.
fn bring_along(draft: &mut Draft, rest: &[Event]) {
    for event in rest {
        if let Some(child) = ended(&event.kind) {
            if draft.state.children.contains_key(&child) {
                let (kind, notes) = (event.kind.clone(), event.notes.clone());
                draft.record_at(draft.now, kind, notes, event.wire.clone());
            }
            continue;
        }
        let request = match &event.kind {
            EventKind::WorkflowSignalled(_) => {
                draft.record_at(draft.now, event.kind.clone(), Vec::new(), event.wire.clone());
                continue;
            }
            EventKind::UpdateAdmitted(admitted) => &admitted.request,
            EventKind::UpdateAccepted(accepted) => &accepted.request,
            _ => continue,
        };
        if !draft.state.updates.contains_key(&request.id) {
            draft.event(UpdateAdmitted { request: request.clone() });
        }
    }
}

/// The child whose end an event tells.
fn ended(kind: &EventKind) -> Option<EventId> {
    match kind {
        EventKind::ChildCompleted(end) => Some(end.child),
        EventKind::ChildFailed(end) => Some(end.child),
        EventKind::ChildCancelled(end) => Some(end.child),
        EventKind::ChildTimedOut(end) => Some(end.child),
        EventKind::ChildTerminated(end) => Some(end.child),
        _ => None,
    }
}

/// Under remote rules updates wait beside history, until a worker is shown them.
fn admit(draft: &mut Draft, prefix: &[Event]) {
    if draft.state.rules().updates_are_events() {
        return;
    }
    for event in prefix.iter().chain(&draft.events) {
        let EventKind::UpdateAdmitted(admitted) = &event.kind else { continue };
        let open = draft.state.updates.get(&admitted.request.id);
        if open.is_some_and(|open| open.accepted == EventId(0)) {
            draft.record.admitted.push(admitted.request.clone());
        }
    }
}

/// What had been cancelled before the cut must not run again, so it ends here.
fn end_cancelled(draft: &mut Draft) {
    let open = draft.state.activities.iter();
    let cancelled: Vec<_> =
        open.filter_map(|(id, open)| open.cancel.map(|cancel| (*id, cancel))).collect();
    for (activity, cancel) in cancelled {
        let requested = match draft.state.rules().cancels_are_events() {
            true => cancel,
            false => EventId(0),
        };
        draft.event(ActivityCancelled { activity, requested, ..ActivityCancelled::default() });
    }
}

/// Activities wait in their queues again, as their first attempt; timers ring when they would
/// have, and so do the limits of the run, whose time begins anew.
fn reopen(draft: &mut Draft, prefix: &[Event]) {
    for event in prefix {
        if let EventKind::ActivityScheduled(scheduled) = &event.kind
            && draft.state.activities.contains_key(&event.id)
        {
            let spec = Arc::new(scheduled.spec.clone());
            draft.effect(Effect::QueueActivity(event.id, spec));
        }
    }
    let alarms: Vec<_> = draft
        .state
        .timers
        .iter()
        .map(|(timer, open)| Alarm { due: open.due, what: AlarmKind::Timer(*timer) })
        .collect();
    alarms.into_iter().for_each(|alarm| draft.effect(Effect::Arm(alarm)));
    start::arm(draft);
}

#[cfg(test)]
mod tests;
