//! What a run writes down about itself.

use bowline_core::{MarkerRecorded, MemoModified, SearchUpserted};
use temporalio_protos::temporal::api::history::v1::{
    MarkerRecordedEventAttributes, UpsertWorkflowSearchAttributesEventAttributes,
    WorkflowPropertiesModifiedEventAttributes, history_event::Attributes,
};

use super::{Kept, attributes, number};
use crate::translate::{Result, failure, payload};

pub(super) fn marker(e: &MarkerRecorded, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        MarkerRecordedEventAttributes {
            marker_name: e.name.to_string(),
            details: payload::details(&e.details)?,
            workflow_task_completed_event_id: number(e.turn),
            header: payload::header(&e.header)?,
            failure: failure::option(&e.failure)?,
        }
    ))
}

pub(super) fn search(e: &SearchUpserted, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        UpsertWorkflowSearchAttributesEventAttributes {
            workflow_task_completed_event_id: number(e.turn),
            search_attributes: Some(payload::search_changes(&e.changes)?),
        }
    ))
}

pub(super) fn memo(e: &MemoModified, kept: Kept) -> Result<Attributes> {
    Ok(attributes!(
        kept,
        WorkflowPropertiesModifiedEventAttributes {
            workflow_task_completed_event_id: number(e.turn),
            upserted_memo: Some(payload::memo_changes(&e.changes)?),
        }
    ))
}
