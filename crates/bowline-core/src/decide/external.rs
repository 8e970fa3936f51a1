//! What a run asks of runs that are not itself, and what they answer.

use super::size;
use crate::{
    Address, Blob, Cancel, CancelExternal, Cause, Code, Draft, Effect, EventId, EventKind,
    External, ExternalCancelFailed, ExternalCancelInitiated, ExternalCancelRequested,
    ExternalRefusal, ExternalSignalFailed, ExternalSignalInitiated, ExternalSignalled, Identity,
    Message, Post, Refusal, RequestId, Signal, SignalExternal, Time, TurnFault, limits,
};

pub(super) fn cancel(
    draft: &mut Draft,
    turn: EventId,
    asked: CancelExternal,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    let fault = TurnFault::BadExternalCancel;
    target_fault(draft, &asked.target, fault)?;
    too_many(draft, true, TurnFault::TooManyCancels)?;
    let mut child = asked.child;
    if asked.target.child_only {
        let id = &asked.target.workflow_id;
        let Some((found, open)) =
            draft.state.children.iter().find(|(_, open)| open.workflow_id == *id)
        else {
            return Err(Refusal::Command(fault, format!("no child {id:?} is open")));
        };
        if open.turn == turn && !draft.state.rules().new_children_can_be_cancelled() {
            let why = "a child cannot be cancelled by the turn that starts it".to_owned();
            return Err(Refusal::Command(fault, why));
        }
        child = *found;
    }
    let target = asked.target.clone();
    let event = ExternalCancelInitiated { target, reason: asked.reason.clone(), turn, child };
    let initiated = draft.record_at(draft.now, event, Vec::new(), wire);
    let cause = asked.cause.unwrap_or_else(|| requested(draft, asked.reason));
    let own = (draft.state.run, draft.state.started.workflow_id.clone(), initiated);
    let message = Message::Cancel(Box::new(Cancel {
        cause,
        request_id: request_id(draft, initiated),
        external: Some(own),
        wire: None,
    }));
    post(draft, &asked.target, child, initiated, message);
    Ok(())
}

pub(super) fn signal(
    draft: &mut Draft,
    turn: EventId,
    asked: SignalExternal,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    let fault = TurnFault::BadSignal;
    target_fault(draft, &asked.target, fault)?;
    too_many(draft, false, TurnFault::TooManySignals)?;
    size::call(&asked.input, &asked.header)?;
    if asked.name.is_empty() || asked.name.as_str().len() > limits::TEXT_MAX {
        let why = "the signal has no name, or one that is too long".to_owned();
        return Err(Refusal::Command(fault, why));
    }
    let event = ExternalSignalInitiated {
        target: asked.target.clone(),
        name: asked.name.clone(),
        input: asked.input.clone(),
        header: asked.header.clone(),
        turn,
    };
    let initiated = draft.record_at(draft.now, event, Vec::new(), wire);
    let own_id = draft.state.started.workflow_id.clone();
    let message = Message::Signal(Box::new(Signal {
        name: asked.name,
        input: asked.input,
        header: asked.header,
        identity: Identity::from(own_id.as_str()),
        request_id: request_id(draft, initiated),
        external: Some((draft.state.run, own_id, initiated)),
        wire: None,
    }));
    let children = &draft.state.children;
    let child = children
        .iter()
        .find(|(_, open)| open.workflow_id == asked.target.workflow_id)
        .map_or(EventId(0), |(id, _)| *id);
    post(draft, &asked.target, child, initiated, message);
    Ok(())
}

pub(super) fn done(draft: &mut Draft, at: Time, initiated: EventId) {
    let Some(open) = draft.state.externals.get(&initiated) else { return };
    let target = open.target.clone();
    let kind: EventKind = match open.cancel {
        true => ExternalCancelRequested { initiated, target }.into(),
        false => ExternalSignalled { initiated, target }.into(),
    };
    draft.record_at(at, kind, Vec::new(), None);
    draft.insists = true;
}

pub(super) fn refused(draft: &mut Draft, at: Time, initiated: EventId, refusal: ExternalRefusal) {
    let Some(open) = draft.state.externals.get(&initiated) else { return };
    let (target, turn) = (open.target.clone(), open.turn);
    let kind: EventKind = match open.cancel {
        true => ExternalCancelFailed { initiated, target, refusal, turn }.into(),
        false => ExternalSignalFailed { initiated, target, refusal, turn }.into(),
    };
    draft.record_at(at, kind, Vec::new(), None);
    draft.insists = true;
}

fn post(
    draft: &mut Draft,
    target: &External,
    child: EventId,
    initiated: EventId,
    message: Message,
) {
    let own = draft.state.run;
    let to = match (draft.state.children.get(&child), target.run) {
        (Some(open), _) if target.child_only => Address::Chain(open.run),
        (_, Some(run)) => Address::Run(run),
        (_, None) => Address::Current(own.namespace, target.workflow_id.clone()),
    };
    // A child that is open here is known by the run that it began with, inherited or not.
    let known = draft.state.children.contains_key(&child);
    let child_of = (target.child_only && !known).then_some(own);
    draft.effect(Effect::Post(Post { to, message, child_of, answer: Some(initiated) }));
}

fn requested(draft: &Draft, reason: String) -> Cause {
    let by = Identity::from(draft.state.started.workflow_id.as_str());
    let parent = draft.state.cancel.as_ref().map(|(_, cause)| cause);
    Cause { requested_by: by, detail: reason, ..Draft::cause(Code::Requested, parent) }
}

/// Made of stable parts, so that the same request sent twice counts once.
fn request_id(draft: &Draft, initiated: EventId) -> RequestId {
    RequestId::from(format!("{}/{initiated}", draft.state.run))
}

fn target_fault(draft: &Draft, target: &External, fault: TurnFault) -> Result<(), Refusal> {
    if target.workflow_id.is_empty() || target.workflow_id.as_str().len() > limits::TEXT_MAX {
        let why = "the other run has no workflow id, or one that is too long".to_owned();
        return Err(Refusal::Command(fault, why));
    }
    if target.run == Some(draft.state.run) && !draft.state.rules().may_ask_itself() {
        let why = "a run cannot ask this of itself".to_owned();
        return Err(Refusal::Command(fault, why));
    }
    Ok(())
}

fn too_many(draft: &Draft, cancels: bool, fault: TurnFault) -> Result<(), Refusal> {
    let open = draft.state.externals.values().filter(|open| open.cancel == cancels).count();
    match open >= draft.state.rules().pending_max() {
        true => Err(Refusal::Command(fault, "too many such requests are open".to_owned())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
