//! The life of an activity.

use bowline_core::{
    ActivityCancelRequested, ActivityCancelled, ActivityCompleted, ActivityFailed,
    ActivityScheduled, ActivityStarted, ActivityTimedOut,
};
use temporalio_protos::temporal::api::{
    common::v1::ActivityType,
    history::v1::{
        ActivityTaskCancelRequestedEventAttributes, ActivityTaskCanceledEventAttributes,
        ActivityTaskCompletedEventAttributes, ActivityTaskFailedEventAttributes,
        ActivityTaskScheduledEventAttributes, ActivityTaskStartedEventAttributes,
        ActivityTaskTimedOutEventAttributes, history_event::Attributes,
    },
};

use super::{Kept, attributes, number, queue};
use crate::translate::{Result, Run, failure, payload, time::limit, word};

pub(super) fn scheduled(e: &ActivityScheduled, kept: Kept, run: Run<'_>) -> Result<Attributes> {
    let spec = &e.spec;
    Ok(attributes!(
        kept,
        ActivityTaskScheduledEventAttributes {
            activity_id: spec.id.to_string(),
            activity_type: Some(ActivityType { name: spec.name.to_string() }),
            task_queue: Some(queue(&spec.queue, run)),
            header: payload::header(&spec.header)?,
            input: payload::payloads(&spec.input)?,
            schedule_to_close_timeout: limit(spec.timeouts.schedule_to_close),
            schedule_to_start_timeout: limit(spec.timeouts.schedule_to_start),
            start_to_close_timeout: limit(spec.timeouts.start_to_close),
            heartbeat_timeout: limit(spec.timeouts.heartbeat),
            workflow_task_completed_event_id: number(e.turn),
            retry_policy: spec.retry.as_ref().map(super::retry_policy),
        }
    ))
}

pub(super) fn started(e: &ActivityStarted, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        ActivityTaskStartedEventAttributes {
            scheduled_event_id: number(e.activity),
            identity: e.worker.to_string(),
            request_id: e.request_id.to_string(),
            attempt: i32::try_from(e.attempt).unwrap_or(i32::MAX),
            last_failure: failure::option(&e.last_failure)?,
        }
    ))
}

pub(super) fn completed(e: &ActivityCompleted, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        ActivityTaskCompletedEventAttributes {
            result: payload::payloads(&e.result)?,
            scheduled_event_id: number(e.activity),
            started_event_id: number(e.started),
            identity: e.worker.to_string(),
        }
    ))
}

pub(super) fn failed(e: &ActivityFailed, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        ActivityTaskFailedEventAttributes {
            failure: Some(failure(&e.failure)?),
            scheduled_event_id: number(e.activity),
            started_event_id: number(e.started),
            identity: e.worker.to_string(),
            retry_state: word::retry_state(e.retry),
        }
    ))
}

pub(super) fn timed_out(e: &ActivityTimedOut, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        ActivityTaskTimedOutEventAttributes {
            failure: Some(failure::timed_out(e)?),
            scheduled_event_id: number(e.activity),
            started_event_id: number(e.started),
            retry_state: word::retry_state(e.retry),
        }
    ))
}

pub(super) fn cancel_requested(e: &ActivityCancelRequested, kept: Kept) -> Attributes {
    attributes!(
        kept,
        ActivityTaskCancelRequestedEventAttributes {
            scheduled_event_id: number(e.activity),
            workflow_task_completed_event_id: number(e.turn),
        }
    )
}

pub(super) fn cancelled(e: &ActivityCancelled, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        ActivityTaskCanceledEventAttributes {
            details: payload::payloads(&e.details)?,
            latest_cancel_requested_event_id: number(e.requested),
            scheduled_event_id: number(e.activity),
            started_event_id: number(e.started),
            identity: e.worker.to_string(),
        }
    ))
}
