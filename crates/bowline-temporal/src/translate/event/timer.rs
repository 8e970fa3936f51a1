//! The life of a timer.

use bowline_core::{TimerCancelled, TimerFired, TimerStarted};
use temporalio_protos::temporal::api::history::v1::{
    TimerCanceledEventAttributes, TimerFiredEventAttributes, TimerStartedEventAttributes,
    history_event::Attributes,
};

use super::{Kept, attributes, number};
use crate::translate::time;

pub(super) fn started(e: &TimerStarted, kept: Kept) -> Attributes {
    attributes!(
        kept,
        TimerStartedEventAttributes {
            timer_id: e.id.to_string(),
            start_to_fire_timeout: Some(time::span(e.after.0)),
            workflow_task_completed_event_id: number(e.turn),
        }
    )
}

pub(super) fn fired(e: &TimerFired, kept: Kept) -> Attributes {
    attributes!(
        kept,
        TimerFiredEventAttributes { timer_id: e.id.to_string(), started_event_id: number(e.timer) }
    )
}

pub(super) fn cancelled(e: &TimerCancelled, kept: Kept) -> Attributes {
    attributes!(
        kept,
        TimerCanceledEventAttributes {
            timer_id: e.id.to_string(),
            started_event_id: number(e.timer),
            workflow_task_completed_event_id: number(e.turn),
            identity: e.worker.to_string(),
        }
    )
}
