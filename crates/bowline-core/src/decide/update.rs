//! Updates: admitted, accepted, rejected, answered.

use crate::{
    AcceptUpdate, Blob, CompleteUpdate, Draft, Effect, EventId, Failure, Refusal, RejectUpdate,
    Time, TurnFault, UpdateAccepted, UpdateAdmitted, UpdateCompleted, UpdateRequest, UpdateStage,
    limits,
};

/// An update arrives. Under native rules it is an event, so that replay delivers it in its place;
/// under remote rules it waits beside history until a worker's turn takes it.
pub(super) fn admit(draft: &mut Draft, at: Time, request: &UpdateRequest) {
    let known = draft.state.updates.contains_key(&request.id)
        || draft.record.admitted.iter().any(|admitted| admitted.id == request.id);
    if known {
        return;
    }
    let open = draft.state.updates.values().filter(|open| !open.done).count();
    let full = open + draft.record.admitted.len() >= limits::UPDATES_OPEN_MAX
        || draft.state.updates.len() >= limits::UPDATES_MAX;
    if full {
        let failure = Failure::new("too many updates").kind("TooManyUpdates");
        let stage = UpdateStage::Rejected(failure);
        return draft.effect(Effect::AnswerUpdate(request.id.clone(), stage));
    }
    match draft.state.rules().is_native() {
        true => {
            let event = UpdateAdmitted { request: request.clone() };
            draft.record_at(at, event, Vec::new(), None);
            draft.wants_turn |= !draft.state.delayed;
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
    let taken = draft.state.updates.get(&id).is_some_and(|open| open.accepted.0 > 0);
    if id.is_empty() || taken {
        let why = format!("update {id:?} is not waiting to be accepted");
        return Err(Refusal::Command(TurnFault::BadUpdate, why));
    }
    draft.record.admitted.retain(|admitted| admitted.id != id);
    let AcceptUpdate { request, message_id, sequencing } = accept;
    let event = UpdateAccepted { request, message_id, sequencing, turn };
    draft.record_at(draft.now, event, Vec::new(), wire);
    draft.effect(Effect::AnswerUpdate(id, UpdateStage::Accepted));
    Ok(())
}

/// A refused update leaves no event.
pub(super) fn reject(draft: &mut Draft, reject: RejectUpdate) -> Result<(), Refusal> {
    let id = reject.request.id;
    draft.record.admitted.retain(|admitted| admitted.id != id);
    draft.effect(Effect::AnswerUpdate(id, UpdateStage::Rejected(reject.failure)));
    Ok(())
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
    let (name, accepted, answer) = (open.name.clone(), open.accepted, done.answer);
    let event = UpdateCompleted { id: id.clone(), name, accepted, answer: answer.clone(), turn };
    draft.record_at(draft.now, event, Vec::new(), wire);
    draft.effect(Effect::AnswerUpdate(id, UpdateStage::Completed(answer)));
    Ok(())
}
