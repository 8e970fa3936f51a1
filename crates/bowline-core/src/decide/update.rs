//! Updates: admitted, accepted, rejected, answered.

use super::size;
use crate::{
    AcceptUpdate, Blob, CompleteUpdate, Draft, Effect, EventId, Failure, OpenUpdate, Refusal,
    RejectUpdate, Time, TurnFault, UpdateAccepted, UpdateAdmitted, UpdateAnswer, UpdateCompleted,
    UpdateId, UpdateRequest, UpdateStage, limits,
};

/// An update arrives. Under native rules it is an event, so that replay delivers it in its place;
/// under remote rules it waits beside history until a worker's turn takes it.
pub(super) fn admit(draft: &mut Draft, at: Time, request: &UpdateRequest) {
    let known = draft.state.updates.contains_key(&request.id)
        || draft.record.admitted.iter().any(|admitted| admitted.id == request.id);
    if known {
        return;
    }
    let are_events = draft.state.rules().updates_are_events();
    let is_open = |open: &&OpenUpdate| !open.done && (are_events || open.accepted.0 > 0);
    let open = draft.state.updates.values().filter(is_open).count();
    let full = open + draft.record.admitted.len() >= limits::UPDATES_OPEN_MAX
        || draft.state.updates.len() >= limits::UPDATES_MAX;
    if full {
        return too_many(draft, request.id.clone());
    }
    match are_events {
        true => {
            let event = UpdateAdmitted { request: request.clone() };
            draft.record_at(at, event, Vec::new(), None);
            draft.insists |= !draft.state.delayed;
        }
        false => draft.record.admitted.push(request.clone()),
    }
}

pub(super) fn accept(
    draft: &mut Draft,
    turn: EventId,
    accept: AcceptUpdate,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    let id = accept.request.id.clone();
    if !waits(draft, &id) {
        let why = format!("update {id:?} is not waiting to be accepted");
        return Err(Refusal::Command(TurnFault::BadUpdate, why));
    }
    let AcceptUpdate { mut request, message_id, sequencing } = accept;
    // A worker need not repeat what it was asked.
    if let Some(at) = draft.record.admitted.iter().position(|admitted| admitted.id == id) {
        request = draft.record.admitted.remove(at);
    }
    request.only = None;
    let event = UpdateAccepted { request, message_id, sequencing, turn };
    draft.record_at(draft.now, event, Vec::new(), wire);
    draft.effect(Effect::AnswerUpdate(id, UpdateStage::Accepted));
    Ok(())
}

/// A refused update leaves no event; under native rules a note on the turn tells of it.
pub(super) fn reject(draft: &mut Draft, reject: RejectUpdate) -> Result<(), Refusal> {
    let id = reject.request.id;
    if draft.state.rules().updates_are_events() || waits(draft, &id) {
        draft.record.admitted.retain(|admitted| admitted.id != id);
        draft.effect(Effect::AnswerUpdate(id, UpdateStage::Rejected(reject.failure)));
    }
    Ok(())
}

fn too_many(draft: &mut Draft, id: UpdateId) {
    let failure = Failure::new("too many updates").kind("TooManyUpdates");
    draft.effect(Effect::AnswerUpdate(id, UpdateStage::Rejected(failure)));
}

/// An update that the code has not looked at, though the run has closed or closes now. The run that
/// goes on takes it from its beginning.
pub(crate) fn leave(draft: &mut Draft, request: &UpdateRequest) {
    let id = request.id.clone();
    if draft.state.updates.get(&id).is_some_and(|open| open.accepted.0 > 0) {
        // It was looked at before, and asked for again.
        return;
    }
    let (run, next) = (draft.state.run, draft.successor);
    let stays = !draft.state.rules().updates_go_on() || request.only == Some(run);
    let Some(next) = next.filter(|_| !stays) else { return too_late(draft, id) };
    let begins = draft.effects.iter_mut().find_map(|effect| match effect {
        Effect::Begin(birth) if birth.run == next => Some(birth),
        _ => None,
    });
    let Some(birth) = begins else { return too_late(draft, id) };
    let admitted = &mut birth.record.admitted;
    if admitted.iter().any(|admitted| admitted.id == id) {
        return;
    }
    if admitted.len() >= limits::UPDATES_OPEN_MAX {
        return too_many(draft, id);
    }
    admitted.push(request.clone());
    draft.effect(Effect::AnswerUpdate(id, UpdateStage::Moved(next)));
}

/// An update that will not be answered any more: the run has closed, or closes now.
fn too_late(draft: &mut Draft, id: UpdateId) {
    let failure = Failure::new("the run closed first").kind("RunClosed");
    draft.effect(Effect::AnswerUpdate(id, UpdateStage::Rejected(failure)));
}

/// Whoever waits for an update when the run closes hears what becomes of it.
pub(super) fn close(draft: &mut Draft) {
    let admitted = std::mem::take(&mut draft.record.admitted);
    let open: Vec<_> =
        draft.state.updates.iter().filter(|(_, open)| !open.done).map(open_update).collect();
    for (id, taken) in open {
        match taken {
            true => draft.effect(Effect::AnswerUpdate(id, UpdateStage::Unanswered)),
            false if admitted.iter().any(|request| request.id == id) => {}
            false => too_late(draft, id),
        }
    }
    admitted.iter().for_each(|request| leave(draft, request));
}

fn open_update((id, open): (&UpdateId, &OpenUpdate)) -> (UpdateId, bool) {
    (id.clone(), open.accepted.0 > 0)
}

/// Updates that a worker was shown and did not look at will not be looked at by asking again.
pub(crate) fn ignored(draft: &mut Draft) {
    for request in std::mem::take(&mut draft.record.admitted) {
        let failure = Failure::new("the worker did not look at it").kind("Ignored");
        draft.effect(Effect::AnswerUpdate(request.id, UpdateStage::Rejected(failure)));
    }
}

/// Whether an update waits for the code to look at it.
pub(super) fn waits(draft: &Draft, id: &UpdateId) -> bool {
    let in_history = draft.state.updates.get(id);
    draft.record.admitted.iter().any(|admitted| admitted.id == *id)
        || in_history.is_some_and(|open| open.accepted == EventId(0))
}

pub(super) fn complete(
    draft: &mut Draft,
    turn: EventId,
    done: CompleteUpdate,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    let id = done.request.id.clone();
    let open = draft.state.updates.get(&id).filter(|open| open.accepted.0 > 0 && !open.done);
    let Some(open) = open else {
        let why = format!("update {id:?} is not waiting for an answer");
        return Err(Refusal::Command(TurnFault::BadUpdate, why));
    };
    match &done.answer {
        UpdateAnswer::Done(result) => size::check(result)?,
        UpdateAnswer::Failed(failure) => size::bytes(failure.len())?,
    }
    let (name, accepted, answer) = (open.name.clone(), open.accepted, done.answer);
    let event = UpdateCompleted { id: id.clone(), name, accepted, answer: answer.clone(), turn };
    draft.record_at(draft.now, event, Vec::new(), wire);
    draft.effect(Effect::AnswerUpdate(id, UpdateStage::Completed(answer)));
    Ok(())
}

#[cfg(test)]
mod tests;
