//! The life of a child, as its parent is told.

use bowline_core::{
    ChildCancelled, ChildCompleted, ChildFailed, ChildInitiated, ChildStartFailed, ChildStarted,
    ChildTerminated, ChildTimedOut,
};
use temporalio_protos::temporal::api::history::v1::{
    ChildWorkflowExecutionCanceledEventAttributes, ChildWorkflowExecutionCompletedEventAttributes,
    ChildWorkflowExecutionFailedEventAttributes, ChildWorkflowExecutionStartedEventAttributes,
    ChildWorkflowExecutionTerminatedEventAttributes, ChildWorkflowExecutionTimedOutEventAttributes,
    StartChildWorkflowExecutionFailedEventAttributes,
    StartChildWorkflowExecutionInitiatedEventAttributes, history_event::Attributes,
};

use super::{Kept, attributes, execution, number, queue, workflow::turn_timeout, workflow_type};
use crate::translate::{Result, Run, failure, payload, time::run_limit, word};

pub(super) fn initiated(e: &ChildInitiated, kept: Kept, run: Run<'_>) -> Result<Attributes> {
    let spec = &e.spec;
    Ok(attributes!(
        kept,
        StartChildWorkflowExecutionInitiatedEventAttributes {
            namespace: run.namespace.to_owned(),
            namespace_id: run.namespace_id.to_owned(),
            workflow_id: spec.workflow_id.to_string(),
            workflow_type: Some(workflow_type(&spec.name)),
            task_queue: Some(queue(&spec.queue, run)),
            input: payload::payloads(&spec.input)?,
            header: payload::header(&spec.header)?,
            workflow_execution_timeout: run_limit(spec.chain_timeout),
            workflow_run_timeout: run_limit(spec.run_timeout.or(spec.chain_timeout)),
            workflow_task_timeout: Some(turn_timeout(spec.turn_timeout)),
            parent_close_policy: word::parent_close(spec.close),
            workflow_task_completed_event_id: number(e.turn),
            workflow_id_reuse_policy: word::reuse(spec.reuse),
            retry_policy: spec.retry.as_ref().map(super::retry_policy),
            cron_schedule: spec.cron.clone(),
            memo: payload::memo(&spec.memo)?,
            search_attributes: payload::search(&spec.search)?,
        }
    ))
}

pub(super) fn start_failed(e: &ChildStartFailed, kept: Kept, run: Run<'_>) -> Attributes {
    attributes!(
        kept,
        StartChildWorkflowExecutionFailedEventAttributes {
            namespace: run.namespace.to_owned(),
            namespace_id: run.namespace_id.to_owned(),
            workflow_id: e.workflow_id.to_string(),
            workflow_type: Some(workflow_type(&e.name)),
            cause: word::child_refusal(e.refusal),
            initiated_event_id: number(e.child),
            workflow_task_completed_event_id: number(e.turn),
        }
    )
}

pub(super) fn started(e: &ChildStarted, kept: Kept, run: Run<'_>) -> Attributes {
    attributes!(
        kept,
        ChildWorkflowExecutionStartedEventAttributes {
            namespace: run.namespace.to_owned(),
            namespace_id: run.namespace_id.to_owned(),
            initiated_event_id: number(e.child),
            workflow_execution: Some(execution(&e.run, &e.workflow_id)),
            workflow_type: Some(workflow_type(&e.name)),
        }
    )
}

/// The events of a child's end have these fields in common, and `$extra` of their own.
macro_rules! ended {
    ($e:expr, $kept:expr, $run:expr, $name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        attributes!($kept, $name {
            namespace: $run.namespace.to_owned(),
            namespace_id: $run.namespace_id.to_owned(),
            workflow_execution: Some(execution(&$e.run, &$e.workflow_id)),
            workflow_type: Some(workflow_type(&$e.name)),
            initiated_event_id: number($e.child),
            started_event_id: number($e.started),
            $($field: $value,)*
        })
    };
}

pub(super) fn completed(e: &ChildCompleted, kept: Kept, run: Run<'_>) -> Result<Attributes> {
    Ok(ended!(
        e,
        kept,
        run,
        ChildWorkflowExecutionCompletedEventAttributes { result: payload::payloads(&e.result)? }
    ))
}

pub(super) fn failed(e: &ChildFailed, kept: Kept, run: Run<'_>) -> Result<Attributes> {
    Ok(ended!(
        e,
        kept,
        run,
        ChildWorkflowExecutionFailedEventAttributes {
            failure: Some(failure(&e.failure)?),
            retry_state: word::retry_state(e.retry),
        }
    ))
}

pub(super) fn cancelled(e: &ChildCancelled, kept: Kept, run: Run<'_>) -> Result<Attributes> {
    Ok(ended!(
        e,
        kept,
        run,
        ChildWorkflowExecutionCanceledEventAttributes { details: payload::payloads(&e.details)? }
    ))
}

pub(super) fn timed_out(e: &ChildTimedOut, kept: Kept, run: Run<'_>) -> Attributes {
    ended!(
        e,
        kept,
        run,
        ChildWorkflowExecutionTimedOutEventAttributes { retry_state: word::retry_state(e.retry) }
    )
}

pub(super) fn terminated(e: &ChildTerminated, kept: Kept, run: Run<'_>) -> Attributes {
    ended!(e, kept, run, ChildWorkflowExecutionTerminatedEventAttributes {})
}
