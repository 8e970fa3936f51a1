//! The life of a run: begun, asked, closed.

use bowline_core::{
    Cause, Initiator, Parent, Span, WorkflowCancelRequested, WorkflowCancelled, WorkflowCompleted,
    WorkflowContinuedAsNew, WorkflowFailed, WorkflowSignalled, WorkflowStarted, WorkflowTerminated,
    WorkflowTimedOut, limits,
};
use prost_wkt_types::Duration as WireSpan;
use temporalio_protos::temporal::api::common::v1::Header;
use temporalio_protos::temporal::api::history::v1::{
    WorkflowExecutionCancelRequestedEventAttributes, WorkflowExecutionCanceledEventAttributes,
    WorkflowExecutionCompletedEventAttributes, WorkflowExecutionContinuedAsNewEventAttributes,
    WorkflowExecutionFailedEventAttributes, WorkflowExecutionSignaledEventAttributes,
    WorkflowExecutionStartedEventAttributes, WorkflowExecutionTerminatedEventAttributes,
    WorkflowExecutionTimedOutEventAttributes, history_event::Attributes,
};

use super::{Kept, attributes, execution, number, queue, run_id, workflow_type};
use crate::translate::{
    Result, Run, failure, payload,
    time::{self, limit, run_limit},
    word,
};

pub(super) fn started(e: &WorkflowStarted, kept: Kept, run: Run<'_>) -> Result<Attributes> {
    let of_parent = |text: &str| e.parent.as_ref().map(|_| text.to_owned()).unwrap_or_default();
    let parent = |p: &Parent| execution(&p.run, &p.workflow_id);
    let header = payload::header(&e.header)?.or_else(|| empty_header(e, &kept));
    Ok(attributes!(
        kept,
        WorkflowExecutionStartedEventAttributes {
            workflow_type: Some(workflow_type(&e.name)),
            workflow_id: e.workflow_id.to_string(),
            parent_workflow_namespace: of_parent(run.namespace),
            parent_workflow_namespace_id: of_parent(run.namespace_id),
            parent_workflow_execution: e.parent.as_ref().map(parent),
            parent_initiated_event_id: e.parent.as_ref().map_or(0, |p| number(p.initiated)),
            root_workflow_execution: e.root.as_ref().map(|(run, id)| execution(run, id)),
            task_queue: Some(queue(&e.queue, run)),
            input: payload::payloads(&e.input)?,
            header: header,
            workflow_execution_timeout: run_limit(e.chain_timeout),
            workflow_execution_expiration_time: e.chain_expires_at.map(time::moment),
            workflow_run_timeout: run_limit(e.run_timeout.or(e.chain_timeout)),
            workflow_task_timeout: Some(turn_timeout(e.turn_timeout)),
            first_execution_run_id: e.first_run.to_string(),
            original_execution_run_id: e.original_run.to_string(),
            continued_execution_run_id: run_id(&e.previous_run),
            initiator: e.initiator.map_or(0, word::initiator),
            continued_failure: failure::option(&e.last_failure)?,
            last_completion_result: payload::payloads(&e.last_result)?,
            identity: e.identity.to_string(),
            attempt: i32::try_from(e.attempt).unwrap_or(i32::MAX),
            retry_policy: e.retry.as_ref().map(super::retry_policy),
            cron_schedule: e.cron.clone(),
            first_workflow_task_backoff: backoff(e),
            memo: payload::memo(&e.memo)?,
            search_attributes: payload::search(&e.search)?,
        }
    ))
}

/// A header with nothing in it, if one was sent. What a run continued as new with is its own.
fn empty_header(e: &WorkflowStarted, kept: &Kept) -> Option<Header> {
    match kept {
        _ if e.initiator == Some(Initiator::Workflow) => None,
        Some(Attributes::WorkflowExecutionStartedEventAttributes(kept)) => kept.header.clone(),
        _ => None,
    }
}

/// How long the first turn waits. A run that continues another says so only if it does.
fn backoff(e: &WorkflowStarted) -> Option<WireSpan> {
    match e.initiator {
        Some(Initiator::Workflow) => run_limit(e.delay),
        _ => limit(e.delay),
    }
}

/// An SDK that has to keep a turn alive for a local activity refuses a run without this limit.
pub(super) fn turn_timeout(given: Option<Span>) -> WireSpan {
    time::span(given.map_or(limits::TURN_TIMEOUT, |given| given.0))
}

pub(super) fn completed(e: &WorkflowCompleted, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        WorkflowExecutionCompletedEventAttributes {
            result: payload::payloads(&e.result)?,
            workflow_task_completed_event_id: number(e.turn),
            new_execution_run_id: run_id(&e.next_run),
        }
    ))
}

pub(super) fn failed(e: &WorkflowFailed, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        WorkflowExecutionFailedEventAttributes {
            failure: Some(failure(&e.failure)?),
            retry_state: word::retry_state(e.retry),
            workflow_task_completed_event_id: number(e.turn),
            new_execution_run_id: run_id(&e.next_run),
        }
    ))
}

pub(super) fn timed_out(e: &WorkflowTimedOut, kept: Kept) -> Attributes {
    attributes!(
        kept,
        WorkflowExecutionTimedOutEventAttributes {
            retry_state: word::retry_state(e.retry),
            new_execution_run_id: run_id(&e.next_run),
        }
    )
}

pub(super) fn cancelled(e: &WorkflowCancelled, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        WorkflowExecutionCanceledEventAttributes {
            workflow_task_completed_event_id: number(e.turn),
            details: payload::payloads(&e.details)?,
        }
    ))
}

pub(super) fn terminated(e: &WorkflowTerminated, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        WorkflowExecutionTerminatedEventAttributes {
            reason: reason(&e.cause),
            details: payload::payloads(&e.details)?,
            identity: e.cause.requested_by.to_string(),
        }
    ))
}

pub(super) fn continued(
    e: &WorkflowContinuedAsNew,
    kept: Kept,
    run: Run<'_>,
) -> Result<Attributes> {
    // The failure is deprecated on the wire, and still what older SDKs read.
    #[allow(deprecated)]
    Ok(attributes!(
        kept,
        WorkflowExecutionContinuedAsNewEventAttributes {
            new_execution_run_id: e.next_run.to_string(),
            workflow_type: Some(workflow_type(&e.name)),
            task_queue: Some(queue(&e.queue, run)),
            input: payload::payloads(&e.input)?,
            header: payload::header(&e.header)?,
            workflow_run_timeout: run_limit(e.run_timeout),
            workflow_task_timeout: Some(turn_timeout(e.turn_timeout)),
            workflow_task_completed_event_id: number(e.turn),
            backoff_start_interval: limit(e.delay),
            initiator: word::initiator(e.initiator),
            failure: failure::option(&e.failure)?,
            last_completion_result: payload::payloads(&e.last_result)?,
            memo: payload::memo(&e.memo)?,
            search_attributes: payload::search(&e.search)?,
        }
    ))
}

pub(super) fn cancel_requested(e: &WorkflowCancelRequested, kept: Kept) -> Attributes {
    attributes!(
        kept,
        WorkflowExecutionCancelRequestedEventAttributes {
            cause: reason(&e.cause),
            identity: e.cause.requested_by.to_string(),
            external_workflow_execution: e.external.as_ref().map(|(run, id, _)| execution(run, id)),
            external_initiated_event_id: e.external.as_ref().map_or(0, |(_, _, at)| number(*at)),
        }
    )
}

pub(super) fn signalled(e: &WorkflowSignalled, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        WorkflowExecutionSignaledEventAttributes {
            signal_name: e.name.to_string(),
            input: payload::payloads(&e.input)?,
            header: payload::header(&e.header)?,
            identity: e.identity.to_string(),
            request_id: e.request_id.to_string(),
            external_workflow_execution: e.external.as_ref().map(|(run, id, _)| execution(run, id)),
        }
    ))
}

/// Why, in the words of whoever asked; a decision of the engine's own has only its code.
fn reason(cause: &Cause) -> String {
    match cause.detail.is_empty() && cause.requested_by.is_empty() {
        true => cause.code.to_string(),
        false => cause.detail.clone(),
    }
}
