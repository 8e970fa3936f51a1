//! Timers: set, rung, unset.

use crate::{
    Alarm, AlarmKind, Blob, Cause, Draft, Effect, EventId, Note, Refusal, Span, Time,
    TimerCancelled, TimerFired, TimerId, TimerStarted, TurnFault, limits,
};

pub(super) fn start(
    draft: &mut Draft,
    turn: EventId,
    id: TimerId,
    after: Span,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    let refuse = |fault, why: &str| Err(Refusal::Command(fault, why.to_owned()));
    if after.0 > limits::SPAN_MAX {
        return refuse(TurnFault::BadTimer, "the timer is longer than a hundred years");
    }
    if id.as_str().len() > limits::TEXT_MAX {
        return refuse(TurnFault::BadTimer, "the timer's id is too long");
    }
    if draft.state.rules().code_gives_ids() {
        if id.is_empty() {
            return refuse(TurnFault::BadTimer, "the timer has no id");
        }
        if draft.state.timers.values().any(|open| open.id == id) {
            return refuse(TurnFault::TimerIdTaken, "a timer of that id is open");
        }
    }
    if draft.state.timers.len() >= draft.state.rules().pending_max() {
        return refuse(TurnFault::BadTimer, "too many timers are open");
    }
    let event = TimerStarted { id, after, turn };
    let timer = draft.record_at(draft.now, event, Vec::new(), wire);
    let due = draft.state.timers[&timer].due;
    draft.effect(Effect::Arm(Alarm { due, what: AlarmKind::Timer(timer) }));
    Ok(())
}

pub(super) fn fire(draft: &mut Draft, at: Time, timer: EventId) {
    let Some(open) = draft.state.timers.get(&timer) else { return };
    let event = TimerFired { timer, id: open.id.clone() };
    draft.record_at(at, event, Vec::new(), None);
    draft.insists = true;
}

/// The run's own code unsets a timer.
pub(super) fn cancel(
    draft: &mut Draft,
    turn: EventId,
    timer: EventId,
    cause: Option<Cause>,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    let Some(open) = draft.state.timers.get(&timer) else {
        let why = format!("no timer with number {timer} is open");
        return Err(Refusal::Command(TurnFault::BadTimerCancel, why));
    };
    let alarm = Alarm { due: open.due, what: AlarmKind::Timer(timer) };
    let worker = Default::default();
    let event = TimerCancelled { timer, id: open.id.clone(), turn, worker };
    let notes = cause.map(Note::Cause).into_iter().collect();
    draft.record_at(draft.now, event, notes, wire);
    draft.effect(Effect::Disarm(alarm));
    Ok(())
}

/// The same, where the code knows the timer by the name that it gave it.
pub(super) fn cancel_named(
    draft: &mut Draft,
    turn: EventId,
    id: &TimerId,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    let found = draft.state.timers.iter().find(|(_, open)| open.id == *id).map(|(at, _)| *at);
    match found {
        Some(timer) => cancel(draft, turn, timer, None, wire),
        None => {
            let why = format!("no timer of id {id:?} is open");
            Err(Refusal::Command(TurnFault::BadTimerCancel, why))
        }
    }
}

/// An operator unsets a timer: a message like any other, seen by the code as an outcome.
pub(super) fn cancel_by_operator(draft: &mut Draft, at: Time, timer: EventId, cause: &Cause) {
    let open = &draft.state.timers[&timer];
    let alarm = Alarm { due: open.due, what: AlarmKind::Timer(timer) };
    let worker = cause.requested_by.clone();
    let event = TimerCancelled { timer, id: open.id.clone(), turn: EventId(0), worker };
    draft.record_at(at, event, vec![Note::Cause(cause.clone())], None);
    draft.effect(Effect::Disarm(alarm));
    draft.insists = true;
}

#[cfg(test)]
mod tests;
