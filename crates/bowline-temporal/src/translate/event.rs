//! Core's events as Temporal's history: the one match. Each family has a file of its own.
//!
//! In:    an event as it is stored, and what the door knows of its run.
//! Out:   the `HistoryEvent` that an SDK replays.
//! Never: another order, another number, an event more or less. History is translated event by
//!        event, so that any page of it reads the same.

mod activity;
mod child;
mod external;
mod record;
mod timer;
mod turn;
mod update;
mod workflow;

use bowline_core::{
    Blob, Event, EventId, EventKind, External, Name, Queue, RetryPolicy, RunId, Time, WorkflowId,
};
use temporalio_protos::temporal::api::{
    common::v1::{RetryPolicy as WireRetryPolicy, WorkflowExecution, WorkflowType},
    enums::v1::TaskQueueKind,
    history::v1::{History, HistoryEvent, history_event::Attributes},
    taskqueue::v1::TaskQueue,
};

use super::{Result, Run, Untranslatable, read, time};

/// Builds the attributes of an event over those that the door kept beside it.
macro_rules! attributes {
    ($kept:expr, $name:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        // Where core knows every field, there is nothing left to take from what was kept.
        #[allow(clippy::needless_update)]
        let attributes = $name {
            $($field: $value,)*
            ..match $kept {
                Some(Attributes::$name(kept)) => kept,
                _ => Default::default(),
            }
        };
        Attributes::$name(attributes)
    }};
}
use attributes;

/// What was kept of an event as its sender wrote it.
type Kept = Option<Attributes>;

/// A whole history, or any page of it.
///
/// # Errors
/// If one of the events cannot be translated.
pub fn history<'a>(events: impl IntoIterator<Item = &'a Event>, run: Run<'_>) -> Result<History> {
    let events = events.into_iter().map(|one| event(one, run)).collect::<Result<_>>()?;
    Ok(History { events })
}

/// One event.
///
/// # Errors
/// If a part that was kept in the sender's form does not read, or Temporal has no such event.
pub fn event(event: &Event, run: Run<'_>) -> Result<HistoryEvent> {
    let mut told: HistoryEvent = kept(event).map(read).transpose()?.unwrap_or_default();
    let attributes = attributes_of(&event.kind, told.attributes.take(), run)?;
    told.event_id = number(event.id);
    told.event_time = Some(time::moment(moment(event)));
    told.event_type = attributes.event_type().into();
    told.attributes = Some(attributes);
    Ok(told)
}

/// When it happened. That an activity began is written down with its end.
fn moment(event: &Event) -> Time {
    match &event.kind {
        EventKind::ActivityStarted(began) if began.at != Time::default() => began.at,
        _ => event.time,
    }
}

/// What was kept beside an event in the sender's form.
pub(crate) fn kept(event: &Event) -> Option<&Blob> {
    match &event.kind {
        // What holds for a whole chain is kept where its runs hand it on.
        EventKind::WorkflowStarted(started) => event.wire.as_ref().or(started.kept.as_ref()),
        _ => event.wire.as_ref(),
    }
}

fn attributes_of(kind: &EventKind, kept: Option<Attributes>, run: Run<'_>) -> Result<Attributes> {
    use EventKind as K;
    match kind {
        K::WorkflowStarted(e) => workflow::started(e, kept, run),
        K::WorkflowCompleted(e) => workflow::completed(e, kept),
        K::WorkflowFailed(e) => workflow::failed(e, kept),
        K::WorkflowTimedOut(e) => Ok(workflow::timed_out(e, kept)),
        K::WorkflowCancelled(e) => workflow::cancelled(e, kept),
        K::WorkflowTerminated(e) => workflow::terminated(e, kept),
        K::WorkflowContinuedAsNew(e) => workflow::continued(e, kept, run),
        K::WorkflowCancelRequested(e) => Ok(workflow::cancel_requested(e, kept)),
        K::WorkflowSignalled(e) => workflow::signalled(e, kept),
        K::TurnScheduled(e) => Ok(turn::scheduled(e, kept, run)),
        K::TurnStarted(e) => Ok(turn::started(e, kept)),
        K::TurnCompleted(e) => turn::completed(e, kept),
        K::TurnFailed(e) => turn::failed(e, kept),
        K::TurnTimedOut(e) => Ok(turn::timed_out(e, kept)),
        K::ActivityScheduled(e) => activity::scheduled(e, kept, run),
        K::ActivityStarted(e) => activity::started(e, kept),
        K::ActivityCompleted(e) => activity::completed(e, kept),
        K::ActivityFailed(e) => activity::failed(e, kept),
        K::ActivityTimedOut(e) => activity::timed_out(e, kept),
        K::ActivityCancelRequested(e) => Ok(activity::cancel_requested(e, kept)),
        K::ActivityCancelled(e) => activity::cancelled(e, kept),
        K::TimerStarted(e) => Ok(timer::started(e, kept)),
        K::TimerFired(e) => Ok(timer::fired(e, kept)),
        K::TimerCancelled(e) => Ok(timer::cancelled(e, kept)),
        K::MarkerRecorded(e) => record::marker(e, kept),
        K::SearchUpserted(e) => record::search(e, kept),
        K::MemoModified(e) => record::memo(e, kept),
        K::ChildInitiated(e) => child::initiated(e, kept, run),
        K::ChildStartFailed(e) => Ok(child::start_failed(e, kept, run)),
        K::ChildStarted(e) => Ok(child::started(e, kept, run)),
        K::ChildCompleted(e) => child::completed(e, kept, run),
        K::ChildFailed(e) => child::failed(e, kept, run),
        K::ChildCancelled(e) => child::cancelled(e, kept, run),
        K::ChildTimedOut(e) => Ok(child::timed_out(e, kept, run)),
        K::ChildTerminated(e) => Ok(child::terminated(e, kept, run)),
        K::ExternalCancelInitiated(e) => Ok(external::cancel_initiated(e, kept, run)),
        K::ExternalCancelRequested(e) => Ok(external::cancel_requested(e, kept, run)),
        K::ExternalCancelFailed(e) => Ok(external::cancel_failed(e, kept, run)),
        K::ExternalSignalInitiated(e) => external::signal_initiated(e, kept, run),
        K::ExternalSignalled(e) => Ok(external::signalled(e, kept, run)),
        K::ExternalSignalFailed(e) => Ok(external::signal_failed(e, kept, run)),
        K::UpdateAdmitted(e) => update::admitted(e, kept),
        K::UpdateAccepted(e) => update::accepted(e, kept),
        K::UpdateCompleted(e) => update::completed(e, kept),
        unknown => Err(Untranslatable::Unknown(unknown.name())),
    }
}

/// The number of an event; 0 says "none" on both sides.
fn number(id: EventId) -> i64 {
    i64::try_from(id.0).expect("a history is far shorter than 2^63 events")
}

/// The id of a run, or nothing.
fn run_id(run: &Option<RunId>) -> String {
    run.as_ref().map(RunId::to_string).unwrap_or_default()
}

fn execution(run: &RunId, workflow_id: &WorkflowId) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_string(), run_id: run.to_string() }
}

fn target(target: &External) -> WorkflowExecution {
    WorkflowExecution { workflow_id: target.workflow_id.to_string(), run_id: run_id(&target.run) }
}

fn workflow_type(name: &Name) -> WorkflowType {
    WorkflowType { name: name.to_string() }
}

/// The queue that was named, or the run's own.
fn queue(queue: &Queue, run: Run<'_>) -> TaskQueue {
    let name = if queue.is_empty() { run.queue.to_owned() } else { queue.to_string() };
    TaskQueue { name, kind: TaskQueueKind::Normal.into(), ..Default::default() }
}

pub(crate) fn retry_policy(policy: &RetryPolicy) -> WireRetryPolicy {
    WireRetryPolicy {
        initial_interval: Some(time::span(policy.initial.0)),
        backoff_coefficient: policy.coefficient,
        maximum_interval: policy.interval_max.map(|span| time::span(span.0)),
        maximum_attempts: i32::try_from(policy.attempts_max).unwrap_or(i32::MAX),
        non_retryable_error_types: policy.non_retryable.clone(),
    }
}

#[cfg(test)]
mod tests;
