//! What clients want of a run: signal it, cancel it, terminate it, look at it.

use bowline_access::Ticket;
use bowline_core::{ActivitySpec, Address, Cause, Event, Holder, Place, Signal, State, Time};
use bowline_engine::{
    CancelRequest,
    store::{ActivityRow, Head, Read, RunKey},
};
use prost::Message;
use temporalio_protos::temporal::api::{
    activity::v1::ActivityOptions,
    common::v1::ActivityType,
    enums::v1::{EventType, PendingActivityState, PendingWorkflowTaskState, TaskQueueKind},
    history::v1::HistoryEvent,
    sdk::v1::UserMetadata,
    taskqueue::v1::TaskQueue,
    workflow::v1::{
        PendingActivityInfo, PendingChildExecutionInfo, PendingWorkflowTaskInfo, RequestIdInfo,
        WorkflowExecutionConfig, WorkflowExecutionExtendedInfo, WorkflowExecutionInfo,
    },
    workflowservice::v1::*,
};
use tonic::Request;

use super::{Door, namespace::Space, poll, shown};
use crate::{
    access, limits,
    status::{self, Answer},
    translate::{self, failure, payload, time, word},
};

pub(super) async fn signal(
    door: &Door,
    request: Request<SignalWorkflowExecutionRequest>,
) -> Answer<SignalWorkflowExecutionResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let named = request.workflow_execution.as_ref();
    let to = match space.address(named)? {
        // A run that is named must be the one of that workflow id.
        Address::Run(_) => Address::Run(space.head(named).await?.run),
        by_id => by_id,
    };
    let signal = Signal {
        name: request.signal_name.as_str().into(),
        input: payload::take(request.input.as_ref()),
        header: payload::take_header(request.header.as_ref()),
        identity: request.identity.as_str().into(),
        request_id: request.request_id.as_str().into(),
        ..Signal::default()
    };
    space.engine.signal_counted(to, signal).await.map_err(status::of)?;
    Ok(SignalWorkflowExecutionResponse::default())
}

/// The run that is meant, if it is one of the chain that the caller thinks of.
async fn of_chain(
    space: &Space,
    named: Option<&temporalio_protos::temporal::api::common::v1::WorkflowExecution>,
    first: &str,
) -> Answer<Head> {
    let head = space.head(named).await?;
    match space.run_id(first)? {
        Some(first) if first != head.first_run => {
            Err(status::missing("workflow execution not found"))
        }
        _ => Ok(head),
    }
}

pub(super) async fn cancel(
    door: &Door,
    request: Request<RequestCancelWorkflowExecutionRequest>,
) -> Answer<RequestCancelWorkflowExecutionResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let named = request.workflow_execution.as_ref();
    let head = of_chain(space, named, &request.first_execution_run_id).await?;
    own(space, &head).await?;
    let cancel = CancelRequest {
        reason: request.reason,
        by: request.identity.into(),
        request_id: request.request_id.into(),
        ..CancelRequest::default()
    };
    let done = space.engine.cancel(head.run, cancel).await;
    done.map_err(status::of)?;
    Ok(RequestCancelWorkflowExecutionResponse::default())
}

/// Whether whoever asks may cancel this run: one that they have started, or any.
async fn own(space: &Space, head: &Head) -> Answer<()> {
    let Some(ticket) = Ticket::current().filter(|ticket| !ticket.may_cancel_others()) else {
        return Ok(());
    };
    let (_, state) = space.engine.state(head.run).await.map_err(status::of)?;
    let checked = ticket.check_owner(state.started.identity.as_str());
    checked.map_err(|why| access::status(&why))
}

pub(super) async fn terminate(
    door: &Door,
    request: Request<TerminateWorkflowExecutionRequest>,
) -> Answer<TerminateWorkflowExecutionResponse> {
    let patience = poll::patience(&request, limits::WAIT);
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let named = request.workflow_execution.as_ref();
    let head = of_chain(space, named, &request.first_execution_run_id).await?;
    if !head.status.is_open() {
        return Err(status::missing("workflow execution already completed"));
    }
    let cause = Cause::requested(request.reason, request.identity);
    let details = payload::take(request.details.as_ref());
    let done = space.engine.terminate_with(Address::Run(head.run), cause, details).await;
    done.map_err(status::of)?;
    // That it will be closed is certain by now; whoever asks next should find that it is.
    let closed = poll::while_open(door, space.engine.closed(head.run));
    match tokio::time::timeout(patience, closed).await {
        Ok(Ok(Err(error))) => tracing::warn!(%error, run = %head.run, "not known to be closed yet"),
        Ok(_) => {}
        Err(_) => tracing::warn!(run = %head.run, "a termination takes its time"),
    }
    Ok(TerminateWorkflowExecutionResponse::default())
}

pub(super) async fn describe(
    door: &Door,
    request: Request<DescribeWorkflowExecutionRequest>,
) -> Answer<DescribeWorkflowExecutionResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    let found = space.head(request.execution.as_ref()).await?;
    // What was acknowledged is shown: reading of the history takes it in.
    let first = space.engine.history_page(found.run, bowline_core::EventId(1), 1).await;
    let events = first.map_err(status::of)?.events;
    let (head, state) = space.engine.state(found.run).await.map_err(status::of)?;
    // Rows of activities that are over stand among those that are not.
    let read = Read { activities_max: usize::MAX, ..Read::head(RunKey::Run(found.run)) };
    let rows = space.engine.read(read).await.map_err(status::of)?.activities;
    let open = rows.iter().filter(|row| state.activities.contains_key(&row.activity));
    let activities: Answer<Vec<_>> =
        open.map(|row| pending_activity(row, space.engine.now())).collect();
    let own = &state.started;
    let config = WorkflowExecutionConfig {
        task_queue: Some(TaskQueue {
            name: own.queue.to_string(),
            kind: TaskQueueKind::Normal.into(),
            ..Default::default()
        }),
        workflow_execution_timeout: time::limit(own.chain_timeout),
        workflow_run_timeout: time::limit(own.run_timeout),
        default_workflow_task_timeout: Some(time::span(state.turn_timeout().0)),
        user_metadata: user_metadata(events.first())?,
    };
    Ok(DescribeWorkflowExecutionResponse {
        execution_config: Some(config),
        workflow_execution_info: Some(info(&head, Some(&state))?),
        workflow_extended_info: Some(extended(&head, &state)),
        pending_activities: activities?,
        pending_children: children(&state),
        pending_workflow_task: pending_turn(&head),
        ..Default::default()
    })
}

/// When a run expires, and what was asked of it.
fn extended(head: &Head, state: &State) -> WorkflowExecutionExtendedInfo {
    let own = &state.started;
    let run_ends = own.run_timeout.map(|span| begins(head).after(span.0));
    let run_ends = [run_ends, own.chain_expires_at].into_iter().flatten().min();
    let started = RequestIdInfo {
        event_type: EventType::WorkflowExecutionStarted.into(),
        event_id: 1,
        buffered: false,
    };
    let request = own.request_id.to_string();
    let requests = (!request.is_empty()).then_some((request, started));
    WorkflowExecutionExtendedInfo {
        execution_expiration_time: own.chain_expires_at.map(time::moment),
        run_expiration_time: run_ends.map(time::moment),
        cancel_requested: state.cancel.is_some(),
        original_start_time: Some(time::moment(head.started_at)),
        request_id_infos: requests.into_iter().collect(),
        ..Default::default()
    }
}

/// What its starter has said of a run, for people to read.
fn user_metadata(first: Option<&Event>) -> Answer<Option<UserMetadata>> {
    let Some(kept) = first.and_then(translate::kept) else { return Ok(None) };
    let event = HistoryEvent::decode(kept.as_slice());
    let event = event.map_err(|_| status::corrupt("what was sent with the first event"))?;
    Ok(event.user_metadata)
}

/// A run as lists and descriptions show it.
pub(super) fn info(head: &Head, state: Option<&State>) -> Answer<WorkflowExecutionInfo> {
    let bad = status::untranslatable;
    let length = i64::try_from(head.next_event.0).unwrap_or(i64::MAX) - 1;
    let parent = state.and_then(|state| state.started.parent.as_ref());
    let root = state.and_then(|state| state.started.root.as_ref());
    let own = shown::execution(head.run, &head.workflow_id);
    let lasted = head.closed_at.map(|closed| time::span(closed.since(begins(head))));
    Ok(WorkflowExecutionInfo {
        r#type: Some(shown::workflow_type(&head.name)),
        start_time: Some(time::moment(head.started_at)),
        close_time: head.closed_at.map(time::moment),
        status: word::status(head.status).into(),
        history_length: length,
        parent_execution: parent.map(|p| shown::execution(p.run, &p.workflow_id)),
        execution_time: Some(time::moment(begins(head))),
        memo: Some(payload::memo(&head.memo).map_err(bad)?.unwrap_or_default()),
        search_attributes: Some(payload::search(&head.search).map_err(bad)?.unwrap_or_default()),
        task_queue: head.queue.to_string(),
        state_transition_count: i64::try_from(head.version.0).unwrap_or(i64::MAX),
        history_size_bytes: i64::try_from(head.history_bytes).unwrap_or(i64::MAX),
        execution_duration: lasted,
        root_execution: Some(root.map_or_else(|| own.clone(), |(r, id)| shown::execution(*r, id))),
        first_run_id: head.first_run.to_string(),
        execution: Some(own),
        ..Default::default()
    })
}

/// When a run was to have its first turn.
pub(super) fn begins(head: &Head) -> Time {
    head.record.begins_at.unwrap_or(head.started_at)
}

fn options(spec: &ActivitySpec) -> Answer<ActivityOptions> {
    let name = spec.queue.to_string();
    Ok(ActivityOptions {
        task_queue: Some(TaskQueue { name, ..Default::default() }),
        schedule_to_close_timeout: time::limit(spec.timeouts.schedule_to_close),
        schedule_to_start_timeout: time::limit(spec.timeouts.schedule_to_start),
        start_to_close_timeout: time::limit(spec.timeouts.start_to_close),
        heartbeat_timeout: time::limit(spec.timeouts.heartbeat),
        retry_policy: spec.retry.as_ref().map(translate::retry_policy),
        priority: translate::priority(spec).map_err(status::untranslatable)?,
        ..Default::default()
    })
}

fn pending_activity(row: &ActivityRow, now: Time) -> Answer<PendingActivityInfo> {
    let (spec, live) = (&row.spec, &row.live);
    let start = live.started();
    let state = match (start, &live.cancel) {
        (Some(_), Some(_)) => PendingActivityState::CancelRequested,
        (Some(_), None) => PendingActivityState::Started,
        (None, _) => PendingActivityState::Scheduled,
    };
    let worker = start.map_or(&live.last_worker, |start| &start.worker);
    let due = match &live.place {
        Place::Queued { due } => *due,
        _ => start.and_then(|start| start.due).unwrap_or(live.scheduled_at),
    };
    // Once it is due, it does not wait for its time any more, but for a worker.
    let next = (start.is_none() && live.attempt > 0 && now < due).then_some(due);
    let began = start.map(|start| start.at).or(live.last.map(|(began, _)| began));
    let ended = live.last.map(|(_, ended)| ended);
    let pause = next.zip(ended).map(|(next, ended)| next.since(ended));
    // While nobody has it, it waits for the attempt that comes next.
    let waits = u32::from(start.is_none());
    let tried = live.attempt - live.returned + waits;
    let remote = start.filter(|s| matches!(s.holder, Holder::Remote { .. }));
    let heard = remote.map(|start| start.heard_at).filter(|heard| Some(*heard) > began);
    let attempts_max = spec.retry.as_ref().map_or(0, |retry| retry.attempts_max);
    let expires = spec.timeouts.schedule_to_close.map(|span| live.scheduled_at.after(span.0));
    let bad = status::untranslatable;
    Ok(PendingActivityInfo {
        activity_id: spec.id.to_string(),
        activity_type: Some(ActivityType { name: spec.name.to_string() }),
        state: state.into(),
        heartbeat_details: payload::payloads(&live.heartbeat).map_err(bad)?,
        last_heartbeat_time: heard.map(time::moment),
        last_started_time: began.map(time::moment),
        attempt: i32::try_from(tried).unwrap_or(i32::MAX),
        maximum_attempts: i32::try_from(attempts_max).unwrap_or(i32::MAX),
        scheduled_time: Some(time::moment(due)),
        last_failure: failure::option(&live.last_failure).map_err(bad)?,
        last_worker_identity: worker.to_string(),
        next_attempt_schedule_time: next.map(time::moment),
        last_attempt_complete_time: ended.map(time::moment),
        expiration_time: expires.map(time::moment),
        current_retry_interval: pause.map(time::span),
        priority: translate::priority(spec).map_err(bad)?,
        activity_options: Some(options(spec)?),
        ..Default::default()
    })
}

fn children(state: &State) -> Vec<PendingChildExecutionInfo> {
    let open = state.children.iter().map(|(initiated, child)| PendingChildExecutionInfo {
        workflow_id: child.workflow_id.to_string(),
        run_id: child.run.to_string(),
        workflow_type_name: child.name.to_string(),
        initiated_id: shown::number(*initiated),
        parent_close_policy: word::parent_close(child.close),
    });
    open.collect()
}

fn pending_turn(head: &Head) -> Option<PendingWorkflowTaskInfo> {
    let turn = head.record.turn.as_ref()?;
    let state = match turn.started {
        Some(_) => PendingWorkflowTaskState::Started,
        None => PendingWorkflowTaskState::Scheduled,
    };
    Some(PendingWorkflowTaskInfo {
        state: state.into(),
        scheduled_time: Some(time::moment(turn.scheduled_at)),
        original_scheduled_time: Some(time::moment(turn.first_scheduled_at)),
        started_time: turn.started.as_ref().map(|start| time::moment(start.at)),
        attempt: i32::try_from(turn.attempt).unwrap_or(i32::MAX),
    })
}
