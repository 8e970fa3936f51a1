//! Activities: a worker takes one, reports, and ends it.

use bowline_core::{ActivityId, Blob, Ending, Holder, Payload, RunId};
use bowline_engine::{
    Engine, Polled, RemoteActivity, RemoteHeartbeat, Wait,
    store::{ActivityRow, AttemptRef, Read, RunKey},
};
use temporalio_protos::temporal::api::{
    common::v1::{ActivityType, WorkflowExecution},
    workflowservice::v1::*,
};
use tonic::{Request, Status};

use super::{Door, namespace::Space, poll, shown};
use crate::{
    status::{self, Answer},
    translate::{self, failure, payload, time},
};

/// A worker waits for an activity.
pub(super) async fn poll(
    door: &Door,
    request: Request<PollActivityTaskQueueRequest>,
) -> Answer<PollActivityTaskQueueResponse> {
    let space = &*door.space(&request.get_ref().namespace).await?;
    let engine = space.engine.clone();
    let until = poll::until(&engine, &request, door.limits().poll);
    let handover = poll::handover(&request);
    let request = request.into_inner();
    let place = request.task_queue.unwrap_or_default().name;
    if place.is_empty() {
        return Err(status::invalid("TaskQueue is not set on request."));
    }
    let leaving = space.engine.leaving(&request.worker_instance_key);
    let (queue, worker) = (place.as_str().into(), request.identity.as_str().into());
    engine.worker_polls(&queue, Polled::Activities, &worker);
    let (key, said) = (&request.worker_instance_key, &request.worker_control_task_queue);
    let listening = door.inner.workers.listening(space, key, said);
    let Some(control) = leaving.run_until_cancelled(listening).await else {
        return Ok(PollActivityTaskQueueResponse::default());
    };
    let taken = poll::taking(door, until, &leaving, |wait: Wait| async move {
        let taken = engine.poll_activity(&queue, worker, control, wait).await;
        let taken = taken.map_err(status::of)?;
        if let (Some(activity), Some(handover)) = (&taken, handover) {
            handover.hold(give_back(engine, activity.token.clone()));
        }
        Ok(taken)
    });
    match taken.await? {
        Some(activity) => handed_out(space, activity),
        None => Ok(PollActivityTaskQueueResponse::default()),
    }
}

/// An activity whose worker had gone before it could be sent: anybody may have it at once.
pub(super) async fn give_back(engine: Engine, token: Blob) {
    if let Err(error) = engine.end_activity(token.as_slice(), Ending::Returned).await {
        tracing::warn!(%error, "an activity that nobody was there for waits until its time is up");
    }
}

/// An activity as its worker is shown it.
pub(super) fn handed_out(
    space: &Space,
    activity: RemoteActivity,
) -> Answer<PollActivityTaskQueueResponse> {
    let bad = status::untranslatable;
    let (spec, live) = (&activity.spec, &activity.live);
    let started = live.started().map_or(live.scheduled_at, |start| start.at);
    let due = live.started().and_then(|start| start.due).unwrap_or(live.scheduled_at);
    let tried = live.attempt - live.returned;
    Ok(PollActivityTaskQueueResponse {
        task_token: activity.token.as_slice().to_vec(),
        workflow_namespace: space.name().to_owned(),
        workflow_type: Some(shown::workflow_type(&activity.workflow)),
        workflow_execution: Some(shown::execution(activity.run, &activity.workflow_id)),
        activity_type: Some(ActivityType { name: spec.name.to_string() }),
        activity_id: spec.id.to_string(),
        header: payload::header(&spec.header).map_err(bad)?,
        input: payload::payloads(&spec.input).map_err(bad)?,
        heartbeat_details: payload::payloads(&live.heartbeat).map_err(bad)?,
        scheduled_time: Some(time::moment(live.scheduled_at)),
        current_attempt_scheduled_time: Some(time::moment(due)),
        started_time: Some(time::moment(started)),
        attempt: i32::try_from(tried).unwrap_or(i32::MAX),
        schedule_to_close_timeout: time::limit(spec.timeouts.schedule_to_close),
        start_to_close_timeout: time::limit(spec.timeouts.start_to_close),
        heartbeat_timeout: time::limit(spec.timeouts.heartbeat),
        retry_policy: spec.retry.as_ref().map(translate::retry_policy),
        priority: translate::priority(spec).map_err(bad)?,
        ..Default::default()
    })
}

async fn end(space: &Space, token: &[u8], ending: Ending) -> Answer<()> {
    space.token(token)?;
    space.engine.end_activity(token, ending).await.map_err(status::of)
}

/// The code returned.
pub(super) async fn complete(
    door: &Door,
    request: Request<RespondActivityTaskCompletedRequest>,
) -> Answer<RespondActivityTaskCompletedResponse> {
    let request = request.into_inner();
    let ending = Ending::Completed(payload::take(request.result.as_ref()));
    end(&*door.space(&request.namespace).await?, &request.task_token, ending).await?;
    Ok(RespondActivityTaskCompletedResponse {})
}

/// The code failed.
pub(super) async fn fail(
    door: &Door,
    request: Request<RespondActivityTaskFailedRequest>,
) -> Answer<RespondActivityTaskFailedResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let why = request.failure.unwrap_or_default();
    let last = payload::take(request.last_heartbeat_details.as_ref());
    fail_with(space, &request.task_token, last, failure::take(&why)).await?;
    Ok(RespondActivityTaskFailedResponse::default())
}

/// What the code last said about its progress is for the next attempt, so it is stored first.
async fn fail_with(
    space: &Space,
    token: &[u8],
    last: Option<Payload>,
    why: bowline_core::Failure,
) -> Answer<()> {
    space.token(token)?;
    if last.is_some() {
        space.engine.heartbeat(token, last).await.map_err(status::of)?;
    }
    end(space, token, Ending::Failed(why)).await
}

/// The code stopped because it was told to.
pub(super) async fn cancelled(
    door: &Door,
    request: Request<RespondActivityTaskCanceledRequest>,
) -> Answer<RespondActivityTaskCanceledResponse> {
    let request = request.into_inner();
    let details = payload::take(request.details.as_ref());
    cancel_with(&*door.space(&request.namespace).await?, &request.task_token, details).await?;
    Ok(RespondActivityTaskCanceledResponse {})
}

/// An activity that nobody has told to stop cannot have been cancelled.
async fn cancel_with(space: &Space, token: &[u8], details: Option<Payload>) -> Answer<()> {
    space.token(token)?;
    match space.engine.heartbeat(token, None).await.map_err(status::of)? {
        RemoteHeartbeat::Cancelled(_) => end(space, token, Ending::Cancelled(details)).await,
        RemoteHeartbeat::Alive => {
            Err(status::invalid("the cancel of this activity was not requested"))
        }
        RemoteHeartbeat::Gone => Err(status::missing("the attempt that this token names is over")),
    }
}

/// The code is alive.
pub(super) async fn heartbeat(
    door: &Door,
    request: Request<RecordActivityTaskHeartbeatRequest>,
) -> Answer<RecordActivityTaskHeartbeatResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let details = payload::take(request.details.as_ref());
    let cancel_requested = beat(space, &request.task_token, details).await?;
    Ok(RecordActivityTaskHeartbeatResponse { cancel_requested, ..Default::default() })
}

async fn beat(space: &Space, token: &[u8], details: Option<Payload>) -> Answer<bool> {
    space.token(token)?;
    match space.engine.heartbeat(token, details).await.map_err(status::of)? {
        RemoteHeartbeat::Alive => Ok(false),
        RemoteHeartbeat::Cancelled(_) => Ok(true),
        RemoteHeartbeat::Gone => Err(status::missing("the attempt that this token names is over")),
    }
}

/// What is known of an activity by its run and its own id: the newest that is not over.
async fn by_id(space: &Space, named: WorkflowExecution, id: &str) -> Answer<(RunId, ActivityRow)> {
    let head = space.head(Some(&named)).await?;
    let read = Read { activities_max: usize::MAX, ..Read::head(RunKey::Run(head.run)) };
    let rows = space.engine.read(read).await.map_err(status::of)?.activities;
    let wanted = ActivityId::from(id);
    let is_open = |row: &ActivityRow| row.spec.id == wanted && row.live.ended().is_none();
    let found = rows.into_iter().rfind(is_open);
    found.map(|row| (head.run, row)).ok_or_else(|| not_running(id))
}

fn not_running(id: &str) -> Status {
    status::missing(format!("no activity of id {id:?} is running"))
}

/// The token of an activity that is known by its run and its own id.
async fn token_of(space: &Space, named: WorkflowExecution, id: &str) -> Answer<Vec<u8>> {
    let (_, row) = by_id(space, named, id).await?;
    held(&row).ok_or_else(|| not_running(id))
}

fn held(row: &ActivityRow) -> Option<Vec<u8>> {
    match &row.live.started()?.holder {
        Holder::Remote { token, .. } => Some(token.as_slice().to_vec()),
        Holder::Native(_) => None,
    }
}

fn named(workflow_id: String, run_id: String) -> WorkflowExecution {
    WorkflowExecution { workflow_id, run_id }
}

/// Somebody who knows the activity's id says that it is done.
pub(super) async fn complete_by_id(
    door: &Door,
    request: Request<RespondActivityTaskCompletedByIdRequest>,
) -> Answer<RespondActivityTaskCompletedByIdResponse> {
    let r = request.into_inner();
    let space = &*door.space(&r.namespace).await?;
    let (named, result) = (named(r.workflow_id, r.run_id), payload::take(r.result.as_ref()));
    let (run, row) = by_id(space, named, &r.activity_id).await?;
    let done = match held(&row) {
        Some(token) => {
            end(space, &token, Ending::Completed(result)).await?;
            true
        }
        // Nobody works on it, and nobody needs to any more.
        None => {
            let next = AttemptRef { run, activity: row.activity, attempt: row.live.attempt + 1 };
            let done = space.engine.complete_waiting(next, result, r.identity.into()).await;
            done.map_err(status::of)?
        }
    };
    match done {
        true => Ok(RespondActivityTaskCompletedByIdResponse {}),
        false => Err(not_running(&r.activity_id)),
    }
}

/// The same, that it failed.
pub(super) async fn fail_by_id(
    door: &Door,
    request: Request<RespondActivityTaskFailedByIdRequest>,
) -> Answer<RespondActivityTaskFailedByIdResponse> {
    let r = request.into_inner();
    let space = &*door.space(&r.namespace).await?;
    let token = token_of(space, named(r.workflow_id, r.run_id), &r.activity_id).await?;
    let last = payload::take(r.last_heartbeat_details.as_ref());
    fail_with(space, &token, last, failure::take(&r.failure.unwrap_or_default())).await?;
    Ok(RespondActivityTaskFailedByIdResponse::default())
}

/// The same, that it stopped.
pub(super) async fn cancelled_by_id(
    door: &Door,
    request: Request<RespondActivityTaskCanceledByIdRequest>,
) -> Answer<RespondActivityTaskCanceledByIdResponse> {
    let r = request.into_inner();
    let space = &*door.space(&r.namespace).await?;
    let token = token_of(space, named(r.workflow_id, r.run_id), &r.activity_id).await?;
    cancel_with(space, &token, payload::take(r.details.as_ref())).await?;
    Ok(RespondActivityTaskCanceledByIdResponse {})
}

/// The same, that it is alive.
pub(super) async fn heartbeat_by_id(
    door: &Door,
    request: Request<RecordActivityTaskHeartbeatByIdRequest>,
) -> Answer<RecordActivityTaskHeartbeatByIdResponse> {
    let r = request.into_inner();
    let space = &*door.space(&r.namespace).await?;
    let token = token_of(space, named(r.workflow_id, r.run_id), &r.activity_id).await?;
    let cancel_requested = beat(space, &token, payload::take(r.details.as_ref())).await?;
    Ok(RecordActivityTaskHeartbeatByIdResponse { cancel_requested, ..Default::default() })
}
