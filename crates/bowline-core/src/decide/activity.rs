//! Activities: scheduled, cancelled by their run's code, ended.

use std::sync::Arc;

use super::size;
use crate::{
    ActivityCancelRequested, ActivityCancelled, ActivityCompleted, ActivityFailed,
    ActivityScheduled, ActivitySpec, ActivityStarted, ActivityTimedOut, Blob, Cause, Code, Draft,
    Effect, EndActivity, EventId, EventKind, Failure, Note, Outcome, Payload, Ranges, Refusal,
    RequestId, RetryState, Time, TurnFault, limits,
};

pub(super) fn schedule(
    draft: &mut Draft,
    turn: EventId,
    mut spec: ActivitySpec,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    if spec.queue.is_empty() {
        spec.queue = draft.state.started.queue.clone();
    }
    if let Some((fault, why)) = fault(draft, &spec) {
        return Err(Refusal::Command(fault, why));
    }
    size::call(&spec.input, &spec.header)?;
    let event = ActivityScheduled { spec: spec.clone(), turn };
    let activity = draft.record_at(draft.now, event, Vec::new(), wire);
    draft.effect(Effect::QueueActivity(activity, Arc::new(spec)));
    Ok(())
}

/// What is wrong with a new activity, if anything.
fn fault(draft: &Draft, spec: &ActivitySpec) -> Option<(TurnFault, String)> {
    let bad = |why: &str| Some((TurnFault::BadActivity, why.to_owned()));
    let rules = draft.state.rules();
    if spec.name.is_empty() {
        return bad("the activity has no name");
    }
    if [spec.name.as_str(), spec.id.as_str(), spec.queue.as_str()]
        .iter()
        .any(|text| text.len() > limits::TEXT_MAX)
    {
        return bad("the activity's name, id or queue is too long");
    }
    let limits = &spec.timeouts;
    let spans = [
        limits.schedule_to_start,
        limits.start_to_close,
        limits.schedule_to_close,
        limits.heartbeat,
        Some(spec.ladder.grace),
        Some(spec.ladder.step),
    ];
    if spans.iter().flatten().any(|span| span.0 > limits::SPAN_MAX) {
        return bad("a limit of the activity is longer than a hundred years");
    }
    if let Some(fault) = spec.retry.as_ref().and_then(|policy| policy.fault()) {
        return bad(fault);
    }
    let is_limited = limits.start_to_close.is_some() || limits.schedule_to_close.is_some();
    if rules.code_gives_ids() && spec.id.is_empty() {
        return bad("the activity has no id");
    }
    if rules.activities_need_limits() && !is_limited {
        return bad("the activity needs start-to-close or schedule-to-close");
    }
    if rules.code_gives_ids() && draft.state.activities.values().any(|open| open.id == spec.id) {
        let why = format!("an activity of id {:?} is open", spec.id);
        return Some((TurnFault::ActivityIdTaken, why));
    }
    if draft.state.activities.len() >= rules.pending_max() {
        return Some((TurnFault::TooManyActivities, "too many activities are open".to_owned()));
    }
    None
}

/// Remote rules: the run's code cancels one activity. If it never started, the store answers so,
/// and that answer becomes its outcome.
pub(super) fn cancel(
    draft: &mut Draft,
    turn: EventId,
    activity: EventId,
    wire: Option<Blob>,
) -> Result<(), Refusal> {
    let refuse = |why: String| Err(Refusal::Command(TurnFault::BadActivityCancel, why));
    if !draft.state.rules().cancels_are_events() {
        return refuse("native runs drop what they cancel".to_owned());
    }
    match draft.state.activities.get(&activity) {
        None => return refuse(format!("no activity with number {activity} is open")),
        Some(open) if open.cancel.is_some() => {
            return refuse(format!("activity {activity} is cancelled already"));
        }
        Some(_) => {}
    }
    let event = ActivityCancelRequested { activity, turn };
    draft.record_at(draft.now, event, Vec::new(), wire);
    let cause = Draft::cause(Code::Requested, draft.state.cancel.as_ref().map(|(_, c)| c));
    draft.effect(Effect::CancelActivities(Ranges::from(activity), cause));
    Ok(())
}

/// An activity has its outcome. One that is over already changes nothing.
pub(super) fn end(draft: &mut Draft, at: Time, end: &EndActivity) {
    let Some(open) = draft.state.activities.get(&end.activity) else { return };
    if draft.skipped.contains(end.activity) {
        return;
    }
    let rules = draft.state.rules();
    let requested = open.cancel.filter(|_| rules.cancels_are_events());
    // A remote SDK only knows cancels that its own code asked for.
    let by_operator = requested.is_none() && !rules.operator_cancel_is_cancelled();
    let needs_start = match end.outcome {
        Outcome::Completed(_) | Outcome::Failed(_) => true,
        Outcome::TimedOut(_) => false,
        Outcome::Cancelled(..) => by_operator,
    };
    let started = match end.started_at {
        None if !needs_start => EventId(0),
        began => {
            let event = ActivityStarted {
                activity: end.activity,
                worker: end.worker.clone(),
                request_id: RequestId::default(),
                attempt: end.attempt.max(1),
                last_failure: end.last_failure.clone(),
                at: began.unwrap_or(at),
            };
            draft.record_at(at, event, Vec::new(), None)
        }
    };
    let (kind, notes) = match &end.outcome {
        Outcome::Cancelled(cause, rung, details) => {
            let notes = vec![Note::Cause(cause.clone()), Note::Rung(*rung)];
            let kind = match by_operator {
                true => refused_by_operator(end, started, cause),
                false => {
                    let requested = requested.unwrap_or_default();
                    let worker = end.worker.clone();
                    cancelled(end.activity, started, requested, details.clone(), worker)
                }
            };
            (kind, notes)
        }
        outcome => (by_itself(end, started, outcome), Vec::new()),
    };
    draft.record_at(at, kind, notes, None);
    draft.insists = true;
}

/// The event of an outcome that is no cancel.
fn by_itself(end: &EndActivity, started: EventId, outcome: &Outcome) -> EventKind {
    let (activity, worker, retry) = (end.activity, end.worker.clone(), end.retry);
    match outcome.clone() {
        Outcome::Completed(result) => {
            ActivityCompleted { activity, started, result, worker }.into()
        }
        Outcome::Failed(failure) => {
            ActivityFailed { activity, started, failure, retry, worker }.into()
        }
        Outcome::TimedOut(timeout) => {
            let (last_failure, heartbeat) = (end.last_failure.clone(), end.heartbeat.clone());
            ActivityTimedOut { activity, started, timeout, retry, last_failure, heartbeat }.into()
        }
        Outcome::Cancelled(..) => unreachable!("a cancelled end has notes of its own"),
    }
}

/// Cancelled activities that never started are over. Under native rules one note says so for all
/// of them; under remote rules each has its event.
pub(super) fn skip(draft: &mut Draft, at: Time, ranges: &Ranges) {
    let noted = draft.state.rules().decisions_are_noted();
    let mut open = Ranges::default();
    for range in ranges.ranges() {
        for (id, activity) in draft.state.activities.range(range.first..=range.last) {
            let over = !noted || activity.cancel.is_some();
            if over && !draft.unnoted.contains(*id) {
                open.push(*id);
            }
        }
    }
    if open.is_empty() {
        return;
    }
    draft.insists = true;
    if !draft.state.rules().skipped_get_events() {
        draft.skipped = draft.skipped.and(&open);
        return;
    }
    for activity in open.ids() {
        let Some(requested) = draft.state.activities[&activity].cancel else {
            // An operator's cancel: the SDK knows no such end of an activity that its own code
            // did not cancel, but it knows failures, and those need a start.
            let event = ActivityStarted { activity, attempt: 1, at, ..ActivityStarted::default() };
            let started = draft.record_at(at, event, Vec::new(), None);
            let failure = Failure::new("cancelled by an operator").kind("Cancelled").final_();
            let retry = RetryState::NonRetryable;
            let worker = Default::default();
            let event = ActivityFailed { activity, started, failure, retry, worker };
            draft.record_at(at, event, Vec::new(), None);
            continue;
        };
        let event = cancelled(activity, EventId(0), requested, None, Default::default());
        draft.record_at(at, event, Vec::new(), None);
    }
}

fn cancelled(
    activity: EventId,
    started: EventId,
    requested: EventId,
    details: Option<Payload>,
    worker: crate::Identity,
) -> EventKind {
    ActivityCancelled { activity, started, requested, details, worker }.into()
}

fn refused_by_operator(end: &EndActivity, started: EventId, cause: &Cause) -> EventKind {
    let failure = Failure::new(format!("cancelled: {cause}")).kind("Cancelled").final_();
    let (retry, worker) = (RetryState::NonRetryable, end.worker.clone());
    ActivityFailed { activity: end.activity, started, failure, retry, worker }.into()
}

#[cfg(test)]
mod tests;
