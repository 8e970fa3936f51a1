//! The life of a turn: Temporal's workflow task.

use bowline_core::{
    RunId, TurnCompleted, TurnFailed, TurnFault, TurnScheduled, TurnStarted, TurnTimedOut, limits,
};
use temporalio_protos::temporal::api::{
    enums::v1::TaskQueueKind,
    failure::v1::Failure,
    history::v1::{
        WorkflowTaskCompletedEventAttributes, WorkflowTaskFailedEventAttributes,
        WorkflowTaskScheduledEventAttributes, WorkflowTaskStartedEventAttributes,
        WorkflowTaskTimedOutEventAttributes, history_event::Attributes,
    },
    taskqueue::v1::TaskQueue,
};

use super::{Kept, attributes, number, queue};
use crate::translate::{Result, Run, failure, read_option, time, word};

pub(super) fn scheduled(e: &TurnScheduled, kept: Kept, run: Run<'_>) -> Attributes {
    let mut task_queue = queue(&e.queue, run);
    if e.sticky {
        let (kind, normal_name) = (TaskQueueKind::Sticky.into(), run.queue.to_owned());
        task_queue = TaskQueue { kind, normal_name, ..task_queue };
    }
    let start_to_close = e.start_to_close.map_or(limits::TURN_TIMEOUT, |limit| limit.0);
    attributes!(
        kept,
        WorkflowTaskScheduledEventAttributes {
            task_queue: Some(task_queue),
            start_to_close_timeout: Some(time::span(start_to_close)),
            attempt: i32::try_from(e.attempt).unwrap_or(i32::MAX),
        }
    )
}

pub(super) fn started(e: &TurnStarted, kept: Kept) -> Attributes {
    attributes!(
        kept,
        WorkflowTaskStartedEventAttributes {
            scheduled_event_id: number(e.scheduled),
            identity: e.worker.to_string(),
            request_id: e.request_id.to_string(),
            suggest_continue_as_new: e.suggest_continue,
            history_size_bytes: i64::try_from(e.history_bytes).unwrap_or(i64::MAX),
        }
    )
}

pub(super) fn completed(e: &TurnCompleted, kept: Kept) -> Result<Attributes> {
    // The version stamp is deprecated on the wire, and still what older SDKs send and read.
    #[allow(deprecated)]
    Ok(attributes!(
        kept,
        WorkflowTaskCompletedEventAttributes {
            scheduled_event_id: number(e.scheduled),
            started_event_id: number(e.started),
            identity: e.worker.to_string(),
            sdk_metadata: read_option(&e.sdk_metadata)?,
            metering_metadata: read_option(&e.metering)?,
            worker_version: read_option(&e.worker_version)?,
            deployment_version: read_option(&e.deployment)?,
        }
    ))
}

pub(super) fn failed(e: &TurnFailed, kept: Kept) -> Result<Attributes> {
    // A worker names more faults than core has rules for; the name it gave is kept.
    let named = match &kept {
        Some(Attributes::WorkflowTaskFailedEventAttributes(kept)) => kept.cause,
        _ => 0,
    };
    let cause = match e.fault {
        TurnFault::CodeFailed if named != 0 => named,
        fault => word::turn_fault(fault),
    };
    let forked = |pick: fn(&(RunId, RunId)) -> RunId| {
        e.forked.as_ref().map(|runs| pick(runs).to_string()).unwrap_or_default()
    };
    Ok(attributes!(
        kept,
        WorkflowTaskFailedEventAttributes {
            scheduled_event_id: number(e.scheduled),
            started_event_id: number(e.started),
            cause: cause,
            failure: failed_for(e)?,
            identity: e.worker.to_string(),
            base_run_id: forked(|runs| runs.0),
            new_run_id: forked(|runs| runs.1),
        }
    ))
}

/// What a turn failed with. Where the server refused an answer, the cause comes first, in the word
/// that Temporal has for it.
fn failed_for(e: &TurnFailed) -> Result<Option<Failure>> {
    let Some(failure) = &e.failure else { return Ok(None) };
    let mut told = failure::show(failure)?;
    if let Some(why) = told.message.strip_prefix(&format!("{:?}: ", e.fault)) {
        told.message = format!("{}: {why}", word::fault_name(e.fault));
    }
    Ok(Some(told))
}

pub(super) fn timed_out(e: &TurnTimedOut, kept: Kept) -> Attributes {
    attributes!(
        kept,
        WorkflowTaskTimedOutEventAttributes {
            scheduled_event_id: number(e.scheduled),
            started_event_id: number(e.started),
            timeout_type: word::timeout(e.timeout),
        }
    )
}
