//! Cancels: of the whole run, of one thing by an operator, of what workflow code dropped.

use super::{child, start, timer};
use crate::{
    Cancel, Cancelled, Cause, Code, Decision, Draft, Effect, EventId, Note, Ranges, Refusal,
    RequestId, RunAlarm, RunId, State, Time, TurnFault, WorkflowCancelRequested,
};

mod hasten;

/// Somebody asks the run to cancel. Only the first request is an event: a second one never
/// disturbs clean-up, it stands on its own receipt, and may only push harder.
pub(super) fn cancel(draft: &mut Draft, at: Time, cancel: &Cancel) {
    hasten::cancelled(draft, &cancel.cause);
    if draft.state.cancel.is_some() {
        return hasten::run(draft, at, &cancel.cause);
    }
    let event = WorkflowCancelRequested {
        cause: cancel.cause.clone(),
        request_id: cancel.request_id.clone(),
        external: cancel.external.clone(),
    };
    draft.record_at(at, event, Vec::new(), cancel.wire.clone());
    if let (Some(ladder), Some(at)) = (start::run_ladder(&draft.state), draft.state.cancel_at) {
        draft.arm_run(at.after(ladder.terminate_after.0), RunAlarm::Ladder);
    }
    // Even if its first turn is delayed: a cancel cuts that short.
    draft.insists = true;
}

/// The run's deadline has passed: a cancel like any other, with clean-up.
pub(super) fn deadline(draft: &mut Draft, at: Time) {
    let cause = Cause::new(Code::Deadline);
    let request = Cancel { cause, request_id: RequestId::default(), external: None, wire: None };
    cancel(draft, at, &request);
}

/// Something open of a run that an operator may cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelTarget {
    what: TargetKind,
    /// It is being cancelled already: the first cause stays, and it may only be pushed harder.
    pub again: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetKind {
    Activity,
    Timer,
    Child(RunId),
}

impl Draft {
    /// What a cancel of one activity, timer or child would meet; none if nothing of that number is
    /// open.
    ///
    /// # Errors
    /// If the run's rules do not let it be cancelled.
    pub fn cancel_target(&self, target: EventId) -> Result<Option<CancelTarget>, Refusal> {
        let state = &self.state;
        if self.is_skipped(target) {
            return Ok(None);
        }
        if state.timers.contains_key(&target) {
            return match state.rules().timer_can_be_cancelled() {
                true => Ok(Some(CancelTarget { what: TargetKind::Timer, again: false })),
                false => Err(Refusal::NotUnderTheseRules("the cancel of a timer")),
            };
        }
        let activity =
            state.activities.get(&target).map(|open| (TargetKind::Activity, open.cancel));
        let child = || state.children.get(&target).map(|o| (TargetKind::Child(o.run), o.cancel));
        let noted = |note: &Note| matches!(note, Note::CancelledOne(id, _) if *id == target);
        Ok(activity.or_else(child).map(|(what, cancel)| CancelTarget {
            what,
            again: cancel.is_some() || self.notes.iter().any(noted),
        }))
    }
}

/// An operator cancels one activity, timer or child. What is over or cancelled already is left
/// alone. Native history notes the decision; a remote one has no place for it, and tells the
/// outcome when there is one.
pub(super) fn one(draft: &mut Draft, at: Time, target: EventId, cause: &Cause) {
    let Ok(Some(CancelTarget { what, again })) = draft.cancel_target(target) else { return };
    match what {
        TargetKind::Timer => return timer::cancel_by_operator(draft, at, target, cause),
        TargetKind::Activity if again => return hasten::activities(draft, target.into(), cause),
        TargetKind::Child(run) if again => return hasten::child(draft, run, cause),
        TargetKind::Activity => {
            draft.effect(Effect::CancelActivities(target.into(), cause.clone()));
        }
        TargetKind::Child(run) => child::tell(draft, run, cause.clone(), None),
    }
    if draft.state.rules().decisions_are_noted() {
        draft.notes.push(Note::CancelledOne(target, cause.clone()));
        draft.insists = true;
    }
}

/// Workflow code dropped things. Activities are cancelled as ranges, whatever their number, and
/// stand as one note on the turn; timers and children have events of their own.
pub(super) fn dropped(
    draft: &mut Draft,
    turn: EventId,
    decisions: Vec<Decision>,
) -> Result<(), Refusal> {
    if !draft.state.rules().code_drops() {
        let why = "only native runs drop".to_owned();
        return Err(Refusal::Command(TurnFault::BadActivityCancel, why));
    }
    for decision in decisions {
        let cause = hasten::as_asked(draft, decision.cause);
        match decision.what {
            Cancelled::Activities => {
                if let Some(over) = not_open(&draft.state, &decision.targets) {
                    let why = format!("no activity with number {over} is open");
                    return Err(Refusal::Command(TurnFault::BadActivityCancel, why));
                }
                draft.effect(Effect::CancelActivities(decision.targets, cause));
            }
            Cancelled::Timers => {
                for target in decision.targets.ids() {
                    timer::cancel(draft, turn, target, Some(cause.clone()), None)?;
                }
            }
            Cancelled::Children => {
                for target in decision.targets.ids() {
                    child::cancel(draft, turn, target, &cause)?;
                }
            }
        }
    }
    Ok(())
}

/// The first activity of these that is not open. That all are is found without looking each up.
fn not_open(state: &State, targets: &Ranges) -> Option<EventId> {
    if targets.count_in(&state.activities) == targets.count() {
        return None;
    }
    targets.ids().find(|id| !state.activities.contains_key(id))
}

/// Native rules: the code lets go of activities and children, which then outlive the run. The
/// note that says so rides on the turn; here it is only checked.
pub(super) fn check_detach(draft: &Draft, targets: &Ranges) -> Result<(), Refusal> {
    if !draft.state.rules().code_drops() {
        return Err(Refusal::NotUnderTheseRules("letting go"));
    }
    let (activities, children) = (&draft.state.activities, &draft.state.children);
    let open = |id: &EventId| activities.contains_key(id) || children.contains_key(id);
    match targets.ids().find(|id| !open(id)) {
        Some(over) => Err(Refusal::NoSuchTarget(over)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
