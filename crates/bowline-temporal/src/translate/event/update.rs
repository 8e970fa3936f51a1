//! The life of an update.
//!
//! An SDK knows an update by the id of its protocol instance; servers give it the update's own.

use bowline_core::{UpdateAccepted, UpdateAdmitted, UpdateAnswer, UpdateCompleted, UpdateRequest};
use temporalio_protos::temporal::api::{
    enums::v1::UpdateAdmittedEventOrigin,
    history::v1::{
        WorkflowExecutionUpdateAcceptedEventAttributes,
        WorkflowExecutionUpdateAdmittedEventAttributes,
        WorkflowExecutionUpdateCompletedEventAttributes, history_event::Attributes,
    },
    update::v1 as wire,
};

use super::{Kept, attributes, number};
use crate::translate::{Result, failure, payload};

pub(super) fn admitted(e: &UpdateAdmitted, kept: Kept) -> Result<Attributes> {
    let before = match &kept {
        Some(Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(kept)) => &kept.request,
        _ => &None,
    };
    Ok(attributes!(
        kept,
        WorkflowExecutionUpdateAdmittedEventAttributes {
            request: Some(request(&e.request, before.clone())?),
            origin: UpdateAdmittedEventOrigin::Reapply.into(),
        }
    ))
}

pub(super) fn accepted(e: &UpdateAccepted, kept: Kept) -> Result<Attributes> {
    let before = match &kept {
        Some(Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(kept)) => {
            &kept.accepted_request
        }
        _ => &None,
    };
    Ok(attributes!(
        kept,
        WorkflowExecutionUpdateAcceptedEventAttributes {
            protocol_instance_id: e.request.id.to_string(),
            accepted_request_message_id: e.message_id.clone(),
            accepted_request_sequencing_event_id: number(e.sequencing),
            accepted_request: Some(request(&e.request, before.clone())?),
        }
    ))
}

pub(super) fn completed(e: &UpdateCompleted, kept: Kept) -> Result<Attributes> {
    let before = match &kept {
        Some(Attributes::WorkflowExecutionUpdateCompletedEventAttributes(kept)) => &kept.meta,
        _ => &None,
    };
    let meta = wire::Meta { update_id: e.id.to_string(), ..before.clone().unwrap_or_default() };
    let value = match &e.answer {
        UpdateAnswer::Done(result) => {
            wire::outcome::Value::Success(payload::payloads(result)?.unwrap_or_default())
        }
        UpdateAnswer::Failed(why) => wire::outcome::Value::Failure(failure(why)?),
    };
    Ok(attributes!(
        kept,
        WorkflowExecutionUpdateCompletedEventAttributes {
            meta: Some(meta),
            accepted_event_id: number(e.accepted),
            outcome: Some(wire::Outcome { value: Some(value) }),
        }
    ))
}

/// What is asked, over what the door kept of the request.
fn request(asked: &UpdateRequest, kept: Option<wire::Request>) -> Result<wire::Request> {
    Ok(wire::Request {
        meta: Some(wire::Meta {
            update_id: asked.id.to_string(),
            identity: asked.identity.to_string(),
        }),
        input: Some(wire::Input {
            header: payload::header(&asked.header)?,
            name: asked.name.to_string(),
            args: payload::payloads(&asked.input)?,
        }),
        ..kept.unwrap_or_default()
    })
}
