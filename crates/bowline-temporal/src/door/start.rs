//! A client starts a run.

use bowline_core::{Blob, Conflict, Rules, RunId, Signal, StartTurn, WorkflowStarted};
use bowline_engine::{Error, StartOptions};
use temporalio_protos::temporal::api::{
    common::v1::Link, enums::v1::WorkflowExecutionStatus,
    errordetails::v1::WorkflowExecutionAlreadyStartedFailure, workflowservice::v1::*,
};
use tonic::{Code, Request, Status};

use super::{Door, namespace::Space, turn};
use crate::{
    status::{self, Answer},
    translate::{failure, payload, retry, started, time::given_limit, word},
};

pub(super) async fn start(
    door: &Door,
    request: Request<StartWorkflowExecutionRequest>,
) -> Answer<StartWorkflowExecutionResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    if request.request_id.is_empty() {
        return Err(status::invalid("RequestId is not set on request."));
    }
    if !request.completion_callbacks.is_empty() {
        return Err(status::invalid("this server has no completion callbacks"));
    }
    if request.versioning_override.is_some() {
        return Err(status::invalid("this server has no worker versioning to override"));
    }
    if request.on_conflict_options.is_some() {
        return Err(status::invalid("this server attaches nothing to a run that is open already"));
    }
    let options = StartOptions {
        started: begins(&request)?,
        reuse: word::take_reuse(request.workflow_id_reuse_policy),
        conflict: word::take_conflict(
            request.workflow_id_conflict_policy,
            request.workflow_id_reuse_policy,
            Conflict::Refuse,
        ),
        signal: None,
        wire: wire(&request),
        worker: request.request_eager_execution.then(|| worker(space, &request)),
    };
    let eager = options.worker.clone();
    let begun = match space.engine.start_or_find(options).await {
        Err(Error::AlreadyStarted { run, .. }) => return Err(taken(space, run).await),
        begun => begun.map_err(status::of)?,
    };
    let first = match eager.filter(|_| begun.is_new) {
        Some(worker) => space.engine.first_turn(begun.run, &worker).await.map_err(status::of)?,
        None => None,
    };
    Ok(StartWorkflowExecutionResponse {
        run_id: begun.run.to_string(),
        started: begun.is_new,
        status: WorkflowExecutionStatus::Running.into(),
        eager_workflow_task: first.map(|t| turn::handed_out(space, &t, false)).transpose()?,
        ..Default::default()
    })
}

pub(super) async fn signal_with_start(
    door: &Door,
    request: Request<SignalWithStartWorkflowExecutionRequest>,
) -> Answer<SignalWithStartWorkflowExecutionResponse> {
    let request = request.into_inner();
    let space = &*door.space(&request.namespace).await?;
    if request.versioning_override.is_some() {
        return Err(status::invalid("this server has no worker versioning to override"));
    }
    if request.signal_name.is_empty() {
        return Err(status::invalid("SignalName is not set on request."));
    }
    let signal = Signal {
        name: request.signal_name.as_str().into(),
        input: payload::take(request.signal_input.as_ref()),
        header: payload::take_header(request.header.as_ref()),
        identity: request.identity.as_str().into(),
        request_id: request.request_id.as_str().into(),
        ..Signal::default()
    };
    let start = plain(request);
    let options = StartOptions {
        started: begins(&start)?,
        reuse: word::take_reuse(start.workflow_id_reuse_policy),
        conflict: word::take_conflict(
            start.workflow_id_conflict_policy,
            start.workflow_id_reuse_policy,
            Conflict::UseExisting,
        ),
        signal: Some(signal),
        wire: wire(&start),
        worker: None,
    };
    let begun = space.engine.start_or_find(options).await.map_err(status::of)?;
    Ok(SignalWithStartWorkflowExecutionResponse {
        run_id: begun.run.to_string(),
        started: begun.is_new,
        ..Default::default()
    })
}

/// The workflow id is taken: the SDKs want to know by which run, and by which request it began.
async fn taken(space: &Space, run: RunId) -> Status {
    let state = space.engine.state(run).await;
    let start_request_id = state.map(|(_, state)| state.started.request_id.to_string());
    let detail = WorkflowExecutionAlreadyStartedFailure {
        start_request_id: start_request_id.unwrap_or_default(),
        run_id: run.to_string(),
        ..Default::default()
    };
    let text = format!("Workflow execution is already running. RunId: {run}.");
    status::detailed(Code::AlreadyExists, text, &detail)
}

/// Who starts a run has a worker for it in the same process.
fn worker(space: &Space, request: &StartWorkflowExecutionRequest) -> StartTurn {
    StartTurn {
        worker: request.identity.as_str().into(),
        request_id: space.engine.mint().to_string().into(),
        control: Default::default(),
        wire: None,
    }
}

/// The half of a signal-with-start that is a start.
fn plain(with: SignalWithStartWorkflowExecutionRequest) -> StartWorkflowExecutionRequest {
    StartWorkflowExecutionRequest {
        namespace: with.namespace,
        workflow_id: with.workflow_id,
        workflow_type: with.workflow_type,
        task_queue: with.task_queue,
        input: with.input,
        workflow_execution_timeout: with.workflow_execution_timeout,
        workflow_run_timeout: with.workflow_run_timeout,
        workflow_task_timeout: with.workflow_task_timeout,
        identity: with.identity,
        request_id: with.request_id,
        workflow_id_reuse_policy: with.workflow_id_reuse_policy,
        workflow_id_conflict_policy: with.workflow_id_conflict_policy,
        retry_policy: with.retry_policy,
        cron_schedule: with.cron_schedule,
        memo: with.memo,
        search_attributes: with.search_attributes,
        header: with.header,
        workflow_start_delay: with.workflow_start_delay,
        user_metadata: with.user_metadata,
        priority: with.priority,
        ..Default::default()
    }
}

fn begins(request: &StartWorkflowExecutionRequest) -> Answer<WorkflowStarted> {
    let queue = request.task_queue.as_ref().map(|queue| queue.name.as_str());
    let name = request.workflow_type.as_ref().map(|named| named.name.as_str());
    Ok(WorkflowStarted {
        name: name.unwrap_or_default().into(),
        workflow_id: request.workflow_id.as_str().into(),
        queue: queue.unwrap_or_default().into(),
        rules: Rules::REMOTE,
        input: payload::take(request.input.as_ref()),
        header: payload::take_header(request.header.as_ref()),
        run_timeout: given_limit(request.workflow_run_timeout.as_ref()),
        chain_timeout: given_limit(request.workflow_execution_timeout.as_ref()),
        turn_timeout: given_limit(request.workflow_task_timeout.as_ref()),
        identity: request.identity.as_str().into(),
        retry: request.retry_policy.as_ref().map(retry::take),
        cron: request.cron_schedule.clone(),
        delay: given_limit(request.workflow_start_delay.as_ref()),
        last_result: payload::take(request.last_completion_result.as_ref()),
        last_failure: request.continued_failure.as_ref().map(failure::take),
        memo: payload::take_memo(request.memo.as_ref()),
        search: payload::take_search(request.search_attributes.as_ref())
            .map_err(|(_, why)| status::invalid(why))?,
        request_id: request.request_id.as_str().into(),
        kept: kept(request, &[]),
        ..WorkflowStarted::default()
    })
}

/// What is stored with the first event alone.
fn wire(request: &StartWorkflowExecutionRequest) -> Option<Blob> {
    if request.links.is_empty() {
        return None;
    }
    kept(request, &request.links)
}

fn kept(request: &StartWorkflowExecutionRequest, links: &[Link]) -> Option<Blob> {
    let (about, urgent) = (request.user_metadata.as_ref(), request.priority.as_ref());
    started::kept(about, links, urgent, request.header.as_ref())
}
