//! Turns: a worker takes one, and answers it, or says that it cannot.

use bowline_core::{
    Asked, Blob, Ending, FailTurn, Failure, Identity, Span, StartTurn, Sticky, Token, TurnAnswer,
    TurnFault, TurnVerdict, limits as core_limits,
};
use bowline_engine::{Along, Answered, Eager, Engine, Polled, RemoteTurn, Taken};
use prost::Message;
use temporalio_protos::temporal::api::{
    common::v1::WorkerVersionStamp,
    deployment::v1::WorkerDeploymentOptions,
    enums::v1::{
        TaskQueueKind, VersioningBehavior, WorkerVersioningMode, WorkflowTaskFailedCause as Cause,
    },
    history::v1::{
        HistoryEvent, WorkflowTaskCompletedEventAttributes, WorkflowTaskFailedEventAttributes,
        history_event::Attributes as Kept,
    },
    taskqueue::v1::{StickyExecutionAttributes, TaskQueue},
    workflowservice::v1::*,
};
use tokio_util::sync::CancellationToken;
use tonic::Request;

use super::{Door, activity, history, namespace::Space, poll, query, shown};
use crate::{
    status::{self, Answer},
    translate::{command, failure, time, update, word},
};

/// A worker waits for a turn, or for a question to a run at rest.
pub(super) async fn poll(
    door: &Door,
    request: Request<PollWorkflowTaskQueueRequest>,
) -> Answer<PollWorkflowTaskQueueResponse> {
    let space = &*door.space(&request.get_ref().namespace).await?;
    let engine = space.engine.clone();
    let until = poll::until(&engine, &request, door.limits().poll);
    let handover = poll::handover(&request);
    let request = request.into_inner();
    let place = request.task_queue.clone().unwrap_or_default();
    if place.name.is_empty() {
        return Err(status::invalid("TaskQueue is not set on request."));
    }
    let leaving = space.engine.leaving(&request.worker_instance_key);
    let (queue, worker) = (place.name.as_str().into(), Identity::from(request.identity.as_str()));
    engine.worker_polls(&queue, Polled::Turns, &worker);
    let control = door.inner.workers.control(
        space,
        &request.worker_instance_key,
        &request.worker_control_task_queue,
    );
    let start =
        StartTurn { worker, request_id: engine.mint().to_string().into(), control, wire: None };
    let taken = poll::taking(door, until, &leaving, |wait| async move {
        let taken = engine.poll_turn(&queue, start, wait).await.map_err(status::of)?;
        match (&taken, handover) {
            (Some(Taken::Turn(turn)), Some(handover)) => {
                handover.hold(give_back(engine, turn.token.clone()));
            }
            (Some(Taken::Ask(ask)), Some(handover)) => {
                let (run, id) = (ask.turn.run, ask.query.id);
                handover.hold(async move { engine.return_query(run, id) });
            }
            _ => {}
        }
        Ok(taken)
    });
    let sticky = place.kind == i32::from(TaskQueueKind::Sticky);
    match taken.await? {
        Some(Taken::Turn(mut turn)) => {
            if !sticky {
                space.engine.show_whole(&mut turn).await.map_err(status::of)?;
            }
            handed_out(space, &turn, sticky)
        }
        Some(Taken::Ask(ask)) => query::handed_out(space, &ask, sticky),
        // Anything but a message without a single field would be read as a turn.
        None => Ok(PollWorkflowTaskQueueResponse::default()),
    }
}

/// A turn whose worker had gone before it could be sent: anybody may have it at once.
async fn give_back(engine: Engine, token: Blob) {
    let fail = |token: Token| FailTurn {
        token,
        worker: Identity::default(),
        fault: TurnFault::StickyReset,
        failure: Some(Failure::new("the worker had gone when its turn was ready")),
        wire: None,
        hopeless: None,
    };
    if let Err(error) = engine.fail_turn(token.as_slice(), fail).await {
        tracing::debug!(%error, "a turn that nobody was there for waits until its time is up");
    }
}

/// A turn as its worker is shown it. One that has the run in its cache gets what is new.
pub(super) fn handed_out(
    space: &Space,
    turn: &RemoteTurn,
    has_cache: bool,
) -> Answer<PollWorkflowTaskQueueResponse> {
    let from = if has_cache { turn.previous_started.plus(1) } else { bowline_core::EventId(1) };
    let events: Vec<_> = turn.events.iter().filter(|event| event.id >= from).collect();
    let (events, rest) = history::first_page(&events);
    let next_page_token = rest.map(|next| history::token(turn.run, next)).unwrap_or_default();
    let queue = turn.queue.as_str();
    let mut queries = std::collections::HashMap::new();
    for query in &turn.queries {
        queries.insert(query.id.to_string(), query::shown(&query.question)?);
    }
    let messages: Result<Vec<_>, _> =
        turn.updates.iter().map(|request| update::message(request, turn.started)).collect();
    let history = crate::translate::history(events.iter().copied(), space.run(queue));
    let tail = |back: usize| {
        let at = turn.events.len().checked_sub(back)?;
        Some(time::moment(turn.events.get(at)?.time))
    };
    Ok(PollWorkflowTaskQueueResponse {
        task_token: turn.token.as_slice().to_vec(),
        workflow_execution: Some(shown::execution(turn.run, &turn.workflow_id)),
        workflow_type: Some(shown::workflow_type(&turn.name)),
        previous_started_event_id: shown::number(turn.previous_started),
        started_event_id: shown::number(turn.started),
        attempt: i32::try_from(turn.attempt).unwrap_or(i32::MAX),
        history: Some(history.map_err(status::untranslatable)?),
        next_page_token,
        workflow_execution_task_queue: Some(TaskQueue {
            name: queue.to_owned(),
            kind: TaskQueueKind::Normal.into(),
            ..Default::default()
        }),
        scheduled_time: tail(2),
        started_time: tail(1),
        queries,
        messages: messages.map_err(status::untranslatable)?,
        ..Default::default()
    })
}

/// A worker answers a turn. What it decides is carried out even if it does not wait for the answer:
/// then somebody else has the activities that it asked for.
pub(super) async fn complete(
    door: &Door,
    request: Request<RespondWorkflowTaskCompletedRequest>,
) -> Answer<RespondWorkflowTaskCompletedResponse> {
    let handover = poll::handover(&request);
    let request = request.into_inner();
    let space = door.space(&request.namespace).await?;
    space.token(&request.task_token)?;
    let new_run = || space.engine.mint();
    let commands = command::take(&request.commands, &request.messages, space.name(), &new_run);
    let (workers, activities) = (&door.inner.workers, command::eager(&request.commands));
    let (key, said) = (&request.worker_instance_key, &request.worker_control_task_queue);
    let control = match activities.is_empty() {
        true => workers.control(&space, key, said),
        // What it takes now it may have to be told to stop.
        false => workers.listening(&space, key, said).await,
    };
    let eager = Eager { activities, worker: request.identity.as_str().into(), control };
    let along = Along { eager, answers: query::answers(&space, &request.query_results) };
    let until = space.engine.now();
    poll::apart(until, &CancellationToken::new(), |wait| async move {
        let sticky = sticky(request.sticky_attributes.as_ref());
        let answered = answered(&space, &request, commands, sticky.clone(), along).await?;
        if handover.is_none() && wait.gone.is_cancelled() {
            for activity in &answered.activities {
                let back = space.engine.end_activity(activity.token.as_slice(), Ending::Returned);
                back.await.map_err(status::of)?;
            }
        }
        if let Some(handover) = handover {
            let engine = || space.engine.clone();
            for activity in &answered.activities {
                handover.hold(activity::give_back(engine(), activity.token.clone()));
            }
            if let Some(turn) = &answered.next {
                handover.hold(give_back(engine(), turn.token.clone()));
            }
        }
        status::verdict(&answered.verdict)?;
        let reset_history_event_id = match answered.verdict {
            TurnVerdict::Dropped => shown::number(answered.last_started),
            _ => 0,
        };
        let next = answered.next.map(|turn| handed_out(&space, &turn, sticky.is_some()));
        let taken = answered.activities.into_iter();
        let taken = taken.map(|activity| activity::handed_out(&space, activity));
        Ok(RespondWorkflowTaskCompletedResponse {
            workflow_task: next.transpose()?,
            activity_tasks: taken.collect::<Answer<_>>()?,
            reset_history_event_id,
        })
    })
    .await
}

async fn answered(
    space: &Space,
    request: &RespondWorkflowTaskCompletedRequest,
    commands: Vec<Asked>,
    sticky: Option<Sticky>,
    along: Along,
) -> Answer<Answered> {
    let engine = &space.engine;
    let again = request.return_new_workflow_task.then(|| StartTurn {
        worker: request.identity.as_str().into(),
        request_id: engine.mint().to_string().into(),
        control: along.eager.control.clone(),
        wire: None,
    });
    let kept = Answers::of(request);
    let answer = |token: Token| TurnAnswer {
        worker: Identity::from(request.identity.as_str()),
        sticky: sticky.clone(),
        again: request.force_create_new_workflow_task,
        sdk_metadata: kept.sdk_metadata.clone(),
        metering: kept.metering.clone(),
        worker_version: kept.worker_version.clone(),
        deployment: kept.deployment.clone(),
        wire: kept.wire.clone(),
        ..TurnAnswer::new(token, commands.clone())
    };
    let answered = engine.answer_turn_with(&request.task_token, answer, again, along).await;
    answered.map_err(status::of)
}

/// What a worker says beside its commands, to be kept as it is.
struct Answers {
    sdk_metadata: Option<Blob>,
    metering: Option<Blob>,
    worker_version: Option<Blob>,
    deployment: Option<Blob>,
    wire: Option<Blob>,
}

impl Answers {
    // The version stamp is deprecated on the wire, and still what older SDKs send.
    #[allow(deprecated)]
    fn of(request: &RespondWorkflowTaskCompletedRequest) -> Self {
        let is_versioned = |o: &&WorkerDeploymentOptions| {
            o.worker_versioning_mode() == WorkerVersioningMode::Versioned && !o.build_id.is_empty()
        };
        let deployment = request.deployment_options.as_ref().filter(is_versioned);
        // The build of a worker that takes no part in versioning is told all the same.
        let build = || WorkerVersionStamp {
            build_id: request.binary_checksum.clone(),
            ..Default::default()
        };
        let stamp = request.worker_version_stamp.clone();
        let stamp = stamp.or_else(|| (!request.binary_checksum.is_empty()).then(build));
        let version = deployment.map(|options| {
            temporalio_protos::temporal::api::deployment::v1::WorkerDeploymentVersion {
                build_id: options.build_id.clone(),
                deployment_name: options.deployment_name.clone(),
            }
        });
        let options = request.deployment_options.as_ref();
        // Some SDKs name a behaviour that versioning would have, if it were on.
        let behavior = match options.is_none() || deployment.is_some() {
            true => request.versioning_behavior,
            false => VersioningBehavior::Unspecified.into(),
        };
        let name = options.map(|options| options.deployment_name.clone());
        let kept = WorkflowTaskCompletedEventAttributes {
            binary_checksum: request.binary_checksum.clone(),
            versioning_behavior: behavior,
            worker_deployment_name: name.unwrap_or_default(),
            ..Default::default()
        };
        let says = kept != WorkflowTaskCompletedEventAttributes::default();
        let event = HistoryEvent {
            attributes: Some(Kept::WorkflowTaskCompletedEventAttributes(kept)),
            ..Default::default()
        };
        Self {
            sdk_metadata: kept_bytes(&request.sdk_metadata),
            metering: kept_bytes(&request.metering_metadata),
            worker_version: kept_bytes(&stamp),
            deployment: kept_bytes(&version),
            wire: says.then(|| event.encode_to_vec().into()),
        }
    }
}

fn kept_bytes<M: Message>(message: &Option<M>) -> Option<Blob> {
    message.as_ref().map(|message| message.encode_to_vec().into())
}

fn sticky(sent: Option<&StickyExecutionAttributes>) -> Option<Sticky> {
    let sent = sent?;
    let queue = sent.worker_task_queue.as_ref().filter(|queue| !queue.name.is_empty())?;
    let patience = time::given_limit(sent.schedule_to_start_timeout.as_ref());
    let patience = patience.unwrap_or(Span(core_limits::TURN_TIMEOUT));
    Some(Sticky { queue: queue.name.as_str().into(), patience })
}

/// A worker cannot answer a turn.
pub(super) async fn fail(
    door: &Door,
    request: Request<RespondWorkflowTaskFailedRequest>,
) -> Answer<RespondWorkflowTaskFailedResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    space.token(&request.task_token)?;
    let fail = |token: Token| FailTurn {
        token,
        worker: request.identity.as_str().into(),
        fault: word::take_fault(request.cause),
        failure: request.failure.as_ref().map(failure::take),
        wire: named(request.cause),
        hopeless: hopeless(request.cause),
    };
    space.engine.fail_turn(&request.task_token, fail).await.map_err(status::of)?;
    Ok(RespondWorkflowTaskFailedResponse {})
}

/// An answer that was too large to be sent would be so again.
fn hopeless(cause: i32) -> Option<String> {
    let too_large = Cause::GrpcMessageTooLarge;
    (cause == i32::from(too_large)).then(|| word::cause_name(too_large))
}

/// The cause in the worker's own word: there are more of them than this server has rules for.
fn named(cause: i32) -> Option<Blob> {
    let kept = WorkflowTaskFailedEventAttributes { cause, ..Default::default() };
    let event = HistoryEvent {
        attributes: Some(Kept::WorkflowTaskFailedEventAttributes(kept)),
        ..Default::default()
    };
    (cause != 0).then(|| event.encode_to_vec().into())
}

/// A worker has thrown a run out of its cache.
pub(super) async fn reset_sticky(
    door: &Door,
    request: Request<ResetStickyTaskQueueRequest>,
) -> Answer<ResetStickyTaskQueueResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let head = space.head(request.execution.as_ref()).await?;
    space.engine.reset_sticky(head.run).await.map_err(status::of)?;
    Ok(ResetStickyTaskQueueResponse {})
}
