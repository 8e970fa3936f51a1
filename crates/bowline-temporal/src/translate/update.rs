//! Updates, as clients ask for them and as workers answer them.

use bowline_core::{
    AcceptUpdate, Command, CompleteUpdate, EventId, RejectUpdate, UpdateAnswer, UpdateRequest,
};
use prost::Name;
use prost_wkt_types::Any;
use temporalio_protos::temporal::api::{
    failure::v1::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    protocol::v1::{Message, message::SequencingId},
    update::v1 as wire,
};

use super::{Result, failure, payload};

/// What a client asks.
pub(crate) fn take_request(sent: &wire::Request, id: String) -> UpdateRequest {
    let (meta, input) = (sent.meta.clone().unwrap_or_default(), sent.input.as_ref());
    UpdateRequest {
        id: id.into(),
        name: input.map(|input| input.name.as_str()).unwrap_or_default().into(),
        input: input.and_then(|input| payload::take(input.args.as_ref())),
        header: payload::take_header(input.and_then(|input| input.header.as_ref())),
        identity: meta.identity.into(),
        only: None,
    }
}

/// What a worker is shown of it: to be placed right before the turn's start.
pub(crate) fn message(request: &UpdateRequest, started: EventId) -> Result<Message> {
    let body = wire::Request {
        meta: Some(wire::Meta {
            update_id: request.id.to_string(),
            identity: request.identity.to_string(),
        }),
        input: Some(wire::Input {
            header: payload::header(&request.header)?,
            name: request.name.to_string(),
            args: payload::payloads(&request.input)?,
        }),
        ..Default::default()
    };
    let before = i64::try_from(started.0).unwrap_or(i64::MAX) - 1;
    Ok(Message {
        id: format!("{}/request", request.id),
        protocol_instance_id: request.id.to_string(),
        sequencing_id: Some(SequencingId::EventId(before)),
        body: Some(any(&body)),
    })
}

/// What a worker says about an update, as a command; an unknown word is named.
pub(crate) fn take_message(sent: &Message) -> std::result::Result<Command, String> {
    let body = sent.body.as_ref().ok_or("a message without a body")?;
    let id = sent.protocol_instance_id.as_str();
    let request = UpdateRequest { id: id.into(), ..UpdateRequest::default() };
    if let Some(accepted) = read::<wire::Acceptance>(body)? {
        let sequencing = u64::try_from(accepted.accepted_request_sequencing_event_id).unwrap_or(0);
        let asked = accepted.accepted_request;
        let request = asked.map_or(request, |asked| take_request(&asked, id.to_owned()));
        return Ok(Command::AcceptUpdate(Box::new(AcceptUpdate {
            request,
            message_id: accepted.accepted_request_message_id,
            sequencing: EventId(sequencing),
        })));
    }
    if let Some(rejected) = read::<wire::Rejection>(body)? {
        let failure = failure::take(&rejected.failure.unwrap_or_default());
        return Ok(Command::RejectUpdate(Box::new(RejectUpdate { request, failure })));
    }
    if let Some(response) = read::<wire::Response>(body)? {
        let value = response.outcome.and_then(|outcome| outcome.value);
        let answer = match value.ok_or("a response without an outcome")? {
            wire::outcome::Value::Success(result) => {
                UpdateAnswer::Done(Some(payload::keep(&result)))
            }
            wire::outcome::Value::Failure(why) => UpdateAnswer::Failed(failure::take(&why)),
        };
        return Ok(Command::CompleteUpdate(Box::new(CompleteUpdate { request, answer })));
    }
    Err(format!("a message of an unknown kind: {}", body.type_url))
}

/// How an update was answered.
pub(crate) fn outcome(answer: &UpdateAnswer) -> Result<wire::Outcome> {
    let value = match answer {
        UpdateAnswer::Done(result) => {
            wire::outcome::Value::Success(payload::payloads(result)?.unwrap_or_default())
        }
        UpdateAnswer::Failed(why) => wire::outcome::Value::Failure(failure::show(why)?),
    };
    Ok(wire::Outcome { value: Some(value) })
}

/// The outcome of an update that the code took and did not answer before its run closed.
pub(crate) fn unanswered() -> wire::Outcome {
    let kind = ApplicationFailureInfo {
        r#type: "AcceptedUpdateCompletedWorkflow".into(),
        non_retryable: true,
        ..Default::default()
    };
    let why = Failure {
        message: "the workflow was closed before it answered the update".into(),
        source: "Server".into(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(kind)),
        ..Default::default()
    };
    wire::Outcome { value: Some(wire::outcome::Value::Failure(why)) }
}

/// A message in an envelope that names its type.
fn any<M: Name>(message: &M) -> Any {
    let type_url = format!("type.googleapis.com/{}", M::full_name());
    Any { type_url, value: message.encode_to_vec() }
}

/// The message in the envelope, if it is of this type.
fn read<M: Name + Default>(any: &Any) -> std::result::Result<Option<M>, String> {
    let name = any.type_url.rsplit('/').next().unwrap_or_default();
    if name != M::full_name() {
        return Ok(None);
    }
    crate::bound::read(any.value.as_slice()).map(Some)
}
