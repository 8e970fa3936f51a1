//! The control channel of a worker: Temporal carries it as a Nexus queue of its own kind.
//!
//! In:    notices that the engine has for a worker.
//! Out:   one task with all of them; what the worker has is acknowledged.
//! Never: other Nexus work. This server has none, and such a queue stays empty.

use bowline_core::{ControlQueue, EventId, NoticeId, RunId, StopAttempt, Token};
use prost::Message;
use temporalio_protos::temporal::api::{
    common::v1::Payload,
    enums::v1::TaskQueueKind,
    nexus::v1::{Request as NexusRequest, StartOperationRequest, request::Variant},
    nexusservices::workerservice::v1::ExecuteCommandsRequest,
    worker::v1::{CancelActivityCommand, WorkerCommand, worker_command::Type},
    workflowservice::v1::*,
};
use tonic::Request;

use super::{Door, namespace::Space, poll};
use crate::{
    limits,
    status::{self, Answer},
    translate::time,
};

const SERVICE: &str = "temporal.api.nexusservices.workerservice.v1.WorkerService";

/// A worker waits on its control channel.
pub(super) async fn poll(
    door: &Door,
    request: Request<PollNexusTaskQueueRequest>,
) -> Answer<PollNexusTaskQueueResponse> {
    let space = &*door.space(&request.get_ref().namespace).await?;
    let engine = &space.engine;
    let until = poll::until(engine, &request, door.limits().poll);
    let request = request.into_inner();
    let leaving = space.engine.leaving(&request.worker_instance_key);
    let queue = request.task_queue.unwrap_or_default();
    if queue.name.is_empty() {
        return Err(status::invalid("TaskQueue is not set on request."));
    }
    if queue.kind != i32::from(TaskQueueKind::WorkerCommands) {
        let rest = tokio::time::sleep(until.since(engine.now()));
        poll::while_open(door, leaving.run_until_cancelled(rest)).await?;
        return Ok(PollNexusTaskQueueResponse::default());
    }
    let control = space.control(&queue.name);
    let notices = leaving.run_until_cancelled(engine.poll_control(&control, until));
    let notices = poll::while_open(door, notices).await?.unwrap_or_default();
    if notices.is_empty() {
        return Ok(PollNexusTaskQueueResponse::default());
    }
    let now = engine.now();
    let waited = notices.iter().map(|notice| now.since(notice.decided_at)).max();
    tracing::debug!(count = notices.len(), ?waited, "cancels pushed");
    Ok(PollNexusTaskQueueResponse {
        task_token: token(&control, &notices),
        request: Some(NexusRequest {
            scheduled_time: Some(time::moment(now)),
            variant: Some(Variant::StartOperation(operation(&notices))),
            ..Default::default()
        }),
        ..Default::default()
    })
}

fn operation(notices: &[StopAttempt]) -> StartOperationRequest {
    let commands = notices.iter().map(|notice| {
        // The worker compares these bytes with those that it was handed.
        let token = Token::activity(notice.run, notice.activity, notice.attempt).to_blob();
        let cancel = CancelActivityCommand { task_token: token.as_slice().to_vec() };
        WorkerCommand { r#type: Some(Type::CancelActivity(cancel)) }
    });
    let body = ExecuteCommandsRequest { commands: commands.collect() };
    let metadata = [("encoding".to_owned(), b"binary/protobuf".to_vec())];
    StartOperationRequest {
        service: SERVICE.to_owned(),
        operation: "ExecuteCommands".to_owned(),
        payload: Some(Payload {
            metadata: metadata.into_iter().collect(),
            data: body.encode_to_vec(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// What the task is about, in its token: any process can acknowledge it.
#[derive(Clone, PartialEq, Message)]
struct CancelTask {
    #[prost(string, tag = "1")]
    control: String,
    #[prost(message, repeated, tag = "2")]
    notices: Vec<CancelItem>,
}

#[derive(Clone, PartialEq, Message)]
struct CancelItem {
    #[prost(bytes = "vec", tag = "1")]
    run: Vec<u8>,
    #[prost(uint64, tag = "2")]
    activity: u64,
    #[prost(uint32, tag = "3")]
    attempt: u32,
    #[prost(bool, tag = "4")]
    cancel: bool,
}

fn token(control: &ControlQueue, notices: &[StopAttempt]) -> Vec<u8> {
    let item = |notice: &StopAttempt| CancelItem {
        run: notice.run.uuid.to_be_bytes().to_vec(),
        activity: notice.activity.0,
        attempt: notice.attempt,
        cancel: notice.is_cancel,
    };
    let notices = notices.iter().map(item).collect();
    CancelTask { control: control.to_string(), notices }.encode_to_vec()
}

fn read(space: &Space, token: &[u8]) -> Option<(ControlQueue, Vec<NoticeId>)> {
    let task = CancelTask::decode(token).ok()?;
    // It is of this namespace, and not longer than what is ever handed out at once.
    let control = task.control.split_once('/').map(|(_, name)| space.control(name))?;
    if control.as_str() != task.control || task.notices.len() > limits::NOTICES {
        return None;
    }
    let like = space.engine.mint();
    let notice = |item: &CancelItem| {
        let uuid = u128::from_be_bytes(item.run.as_slice().try_into().ok()?);
        let (activity, attempt) = (EventId(item.activity), item.attempt);
        Some(NoticeId { run: RunId { uuid, ..like }, activity, attempt, is_cancel: item.cancel })
    };
    let notices: Option<Vec<_>> = task.notices.iter().map(notice).collect();
    notices.filter(|notices| !notices.is_empty()).map(|all| (control, all))
}

/// The worker has what it was sent.
pub(super) async fn complete(
    door: &Door,
    request: Request<RespondNexusTaskCompletedRequest>,
) -> Answer<RespondNexusTaskCompletedResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let (control, notices) = read(space, &request.task_token)
        .ok_or_else(|| status::invalid("Error deserializing task token."))?;
    space.engine.acknowledge(&control, &notices).await.map_err(status::of)?;
    Ok(RespondNexusTaskCompletedResponse {})
}

/// The worker could not do it: the notices are sent again after a while.
pub(super) async fn fail(
    door: &Door,
    request: Request<RespondNexusTaskFailedRequest>,
) -> Answer<RespondNexusTaskFailedResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let (control, notices) = read(space, &request.task_token)
        .ok_or_else(|| status::invalid("Error deserializing task token."))?;
    space.engine.refuse(&control, &notices);
    Ok(RespondNexusTaskFailedResponse {})
}
