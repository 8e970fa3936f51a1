//! A new run from a prefix of another's events.
//!
//! The prefix is cut behind a `TurnStarted`, inside a batch if need be. The turn that was begun
//! there fails with fault `Forked`, signals that came later are brought along, and whatever was
//! open at that point is open again.

use std::sync::Arc;

use super::start::birth;
use crate::{
    Alarm, AlarmKind, Birth, Draft, Effect, Event, EventId, EventKind, Link, Number, Refusal,
    Reuse, RunId, State, Time, TurnFailed, TurnFault, TurnRecord, UpdateAdmitted, decide,
};

/// Forks `history` behind event `at`, as run `new`.
///
/// # Errors
/// If there is no such event, or history cannot be cut there.
pub fn fork(
    history: &[Event],
    at: EventId,
    old: RunId,
    new: RunId,
    now: Time,
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
    let mut draft = Draft::new(state, TurnRecord::default(), Number(0), now, new);
    draft.event(TurnFailed {
        scheduled: turn.scheduled,
        started: at,
        fault: TurnFault::Forked,
        forked: Some((old, new)),
        ..TurnFailed::default()
    });
    bring_along(&mut draft, rest);
    reopen(&mut draft, prefix);
    if !draft.state.rules().is_native() {
        draft.wants_turn = true;
        decide::turn::schedule(&mut draft);
    }
    let wake = draft.state.rules().is_native();
    Ok(birth(draft, prefix.to_vec(), wake, Reuse::Allow, Link::None))
}

/// Signals and updates that came after the cut are not lost.
fn bring_along(draft: &mut Draft, rest: &[Event]) {
    for event in rest {
        let kind: EventKind = match &event.kind {
            EventKind::WorkflowSignalled(_) | EventKind::UpdateAdmitted(_) => event.kind.clone(),
            EventKind::UpdateAccepted(accepted) => {
                UpdateAdmitted { request: accepted.request.clone() }.into()
            }
            _ => continue,
        };
        draft.record_at(draft.now, kind, Vec::new(), event.wire.clone());
    }
}

/// Activities wait in their queues again, as their first attempt; timers ring when they would
/// have.
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
}
