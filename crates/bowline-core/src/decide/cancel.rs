//! Cancels: of the whole run, of one thing by an operator, of what workflow code dropped.

use super::{child, timer};
use crate::{
    Cancel, Cancelled, Cause, Code, Decision, Draft, Effect, EventId, Note, Ranges, Refusal,
    RequestId, RunAlarm, Time, TurnFault, WorkflowCancelRequested,
};

/// Somebody asks the run to cancel. Only the first request is an event: a second one never
/// disturbs clean-up, it stands on its own receipt.
pub(super) fn cancel(draft: &mut Draft, at: Time, cancel: &Cancel) {
    if draft.state.cancel.is_some() {
        return;
    }
    let event = WorkflowCancelRequested {
        cause: cancel.cause.clone(),
        request_id: cancel.request_id.clone(),
        external: cancel.external.clone(),
    };
    draft.record_at(at, event, Vec::new(), cancel.wire.clone());
    // A cancel cuts a delayed first turn short.
    if draft.state.delayed
        && let Some(delay) = draft.state.started.delay
    {
        let due = draft.state.started_at.after(delay.0);
        draft.disarm_run(due, RunAlarm::Delay);
    }
    if let Some(ladder) = draft.state.started.ladder {
        draft.arm_run(draft.now.after(ladder.terminate_after.0), RunAlarm::Ladder);
    }
    draft.wants_turn = true;
}

/// The run's deadline has passed: a cancel like any other, with clean-up.
pub(super) fn deadline(draft: &mut Draft, at: Time) {
    let cause = Cause::new(Code::Deadline);
    let request = Cancel { cause, request_id: RequestId::default(), external: None, wire: None };
    cancel(draft, at, &request);
}

/// An operator cancels one activity, timer or child. What is over already is left alone.
pub(super) fn one(draft: &mut Draft, at: Time, target: EventId, cause: &Cause) {
    if let Some(open) = draft.state.activities.get(&target) {
        if open.cancel.is_some() {
            return;
        }
        draft.effect(Effect::CancelActivities(Ranges::from(target), cause.clone()));
    } else if draft.state.timers.contains_key(&target) {
        if draft.state.rules().timer_can_be_cancelled() {
            timer::cancel_by_operator(draft, at, target, cause);
        }
        return;
    } else if let Some(open) = draft.state.children.get(&target) {
        if open.cancel.is_some() {
            return;
        }
        let run = open.run;
        child::tell(draft, run, cause.clone(), None);
    } else {
        return;
    }
    draft.notes.push(Note::CancelledOne(target, cause.clone()));
    draft.wants_turn = true;
}

/// Workflow code dropped things. Activities are cancelled as ranges, whatever their number, and
/// stand as one note on the turn; timers and children have events of their own.
pub(super) fn dropped(
    draft: &mut Draft,
    turn: EventId,
    decisions: Vec<Decision>,
) -> Result<(), Refusal> {
    if !draft.state.rules().is_native() {
        let why = "only native runs drop".to_owned();
        return Err(Refusal::Command(TurnFault::BadActivityCancel, why));
    }
    for decision in decisions {
        match decision.what {
            Cancelled::Activities => {
                draft.effect(Effect::CancelActivities(decision.targets, decision.cause));
            }
            Cancelled::Timers => {
                for target in decision.targets.ids() {
                    timer::cancel(draft, turn, target, Some(decision.cause.clone()), None)?;
                }
            }
            Cancelled::Children => {
                for target in decision.targets.ids() {
                    child::cancel(draft, turn, target, &decision.cause)?;
                }
            }
        }
    }
    Ok(())
}
