//! What a run asks of runs that are not itself.

use bowline_core::{
    ExternalCancelFailed, ExternalCancelInitiated, ExternalCancelRequested, ExternalSignalFailed,
    ExternalSignalInitiated, ExternalSignalled,
};
use temporalio_protos::temporal::api::history::v1::{
    ExternalWorkflowExecutionCancelRequestedEventAttributes,
    ExternalWorkflowExecutionSignaledEventAttributes,
    RequestCancelExternalWorkflowExecutionFailedEventAttributes,
    RequestCancelExternalWorkflowExecutionInitiatedEventAttributes,
    SignalExternalWorkflowExecutionFailedEventAttributes,
    SignalExternalWorkflowExecutionInitiatedEventAttributes, history_event::Attributes,
};

use super::{Kept, attributes, number, target};
use crate::translate::{Result, Run, payload, word};

pub(super) fn cancel_initiated(
    e: &ExternalCancelInitiated,
    kept: Kept,
    run: Run<'_>,
) -> Attributes {
    attributes!(
        kept,
        RequestCancelExternalWorkflowExecutionInitiatedEventAttributes {
            workflow_task_completed_event_id: number(e.turn),
            namespace: run.namespace.to_owned(),
            namespace_id: run.namespace_id.to_owned(),
            workflow_execution: Some(target(&e.target)),
            child_workflow_only: e.target.child_only,
            reason: e.reason.clone(),
        }
    )
}

pub(super) fn cancel_requested(
    e: &ExternalCancelRequested,
    kept: Kept,
    run: Run<'_>,
) -> Attributes {
    attributes!(
        kept,
        ExternalWorkflowExecutionCancelRequestedEventAttributes {
            initiated_event_id: number(e.initiated),
            namespace: run.namespace.to_owned(),
            namespace_id: run.namespace_id.to_owned(),
            workflow_execution: Some(target(&e.target)),
        }
    )
}

pub(super) fn cancel_failed(e: &ExternalCancelFailed, kept: Kept, run: Run<'_>) -> Attributes {
    attributes!(
        kept,
        RequestCancelExternalWorkflowExecutionFailedEventAttributes {
            cause: word::cancel_refusal(e.refusal),
            workflow_task_completed_event_id: number(e.turn),
            namespace: run.namespace.to_owned(),
            namespace_id: run.namespace_id.to_owned(),
            workflow_execution: Some(target(&e.target)),
            initiated_event_id: number(e.initiated),
        }
    )
}

pub(super) fn signal_initiated(
    e: &ExternalSignalInitiated,
    kept: Kept,
    run: Run<'_>,
) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        SignalExternalWorkflowExecutionInitiatedEventAttributes {
            workflow_task_completed_event_id: number(e.turn),
            namespace: run.namespace.to_owned(),
            namespace_id: run.namespace_id.to_owned(),
            workflow_execution: Some(target(&e.target)),
            signal_name: e.name.to_string(),
            input: payload::payloads(&e.input)?,
            child_workflow_only: e.target.child_only,
            header: payload::header(&e.header)?,
        }
    ))
}

pub(super) fn signalled(e: &ExternalSignalled, kept: Kept, run: Run<'_>) -> Attributes {
    attributes!(
        kept,
        ExternalWorkflowExecutionSignaledEventAttributes {
            initiated_event_id: number(e.initiated),
            namespace: run.namespace.to_owned(),
            namespace_id: run.namespace_id.to_owned(),
            workflow_execution: Some(target(&e.target)),
        }
    )
}

pub(super) fn signal_failed(e: &ExternalSignalFailed, kept: Kept, run: Run<'_>) -> Attributes {
    attributes!(
        kept,
        SignalExternalWorkflowExecutionFailedEventAttributes {
            cause: word::signal_refusal(e.refusal),
            workflow_task_completed_event_id: number(e.turn),
            namespace: run.namespace.to_owned(),
            namespace_id: run.namespace_id.to_owned(),
            workflow_execution: Some(target(&e.target)),
            initiated_event_id: number(e.initiated),
        }
    )
}
