//! Real requests, one for every method at least, with tokens and ids of runs that are there.

use prost::{Message, Name};
use temporalio_protos::temporal::api::{
    command::v1::{
        Command, ContinueAsNewWorkflowExecutionCommandAttributes,
        RequestCancelExternalWorkflowExecutionCommandAttributes,
        StartChildWorkflowExecutionCommandAttributes, StartTimerCommandAttributes,
        command::Attributes,
    },
    common::v1::{Payload, Payloads, RetryPolicy, WorkflowType},
    enums::v1::{CommandType, TaskQueueType, UpdateWorkflowExecutionLifecycleStage},
    failure::v1::Failure,
    query::v1::WorkflowQuery,
    update::v1::{Input, Meta, Request as Asked, UpdateRef, WaitPolicy},
    worker::v1::WorkerHeartbeat,
    workflowservice::v1::*,
};
use tonic::Code;

use crate::world::{QUEUE, SPACE, World, complete, named, queue, schedule, seconds, start};

/// A request as it travels.
pub(super) struct Seed {
    pub(super) method: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// What there is: a run with an activity that is out, and one whose turn is out.
#[derive(Default)]
pub(super) struct Live {
    id: String,
    turn: Vec<u8>,
    activity: Vec<u8>,
}

/// Begins two runs, as a client and a worker do.
pub(super) async fn live(world: &World, round: u64) -> Live {
    let id = format!("run {round}");
    let started = world.call::<_, StartWorkflowExecutionResponse>(start(SPACE, &id)).await;
    // A mutated request may have hit upon this id.
    let is_there = started.as_ref().is_err_and(|status| status.code() == Code::AlreadyExists);
    assert!(started.is_ok() || is_there, "it starts: {started:?}");
    let poll = PollWorkflowTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        identity: "worker".into(),
        ..Default::default()
    };
    // Whatever waits in the queue by now, of this round or of one before.
    let turn: Option<PollWorkflowTaskQueueResponse> = world.call(poll.clone()).await.ok();
    let turn = turn.unwrap_or_default();
    let _ = world.answer(SPACE, &turn, vec![schedule("a")]).await;
    let poll_activity = PollActivityTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        identity: "worker".into(),
        ..Default::default()
    };
    let taken: Option<PollActivityTaskQueueResponse> = world.call(poll_activity).await.ok();
    let other = start(SPACE, &format!("{id}, the other"));
    let _ = world.call::<_, StartWorkflowExecutionResponse>(other).await;
    let turn: Option<PollWorkflowTaskQueueResponse> = world.call(poll).await.ok();
    let (turn, activity) = (turn.unwrap_or_default(), taken.unwrap_or_default());
    Live { id, turn: turn.task_token, activity: activity.task_token }
}

fn seed<Q: Message + Name>(request: Q) -> Seed {
    let method = Q::NAME.strip_suffix("Request").expect("a request");
    Seed { method, bytes: request.encode_to_vec() }
}

/// A message with these fields, in this namespace.
macro_rules! ask {
    ($request:ident { $($field:ident: $value:expr),* $(,)? }) => {
        seed({
            // Some have no other fields.
            #[allow(clippy::needless_update)]
            let request =
                $request { namespace: SPACE.into(), $($field: $value,)* ..Default::default() };
            request
        })
    };
}

fn payloads() -> Option<Payloads> {
    let metadata = [("encoding".to_owned(), b"json/plain".to_vec())].into();
    let payload = Payload { metadata, data: b"{\"a\":1}".to_vec(), ..Default::default() };
    Some(Payloads { payloads: vec![payload] })
}

pub(super) fn seeds(live: &Live) -> Vec<Seed> {
    let mut seeds = clients(live);
    seeds.extend(readers(live));
    seeds.extend(turns(live));
    seeds.extend(activities(live));
    seeds.extend(workers(live));
    seeds
}

fn clients(live: &Live) -> Vec<Seed> {
    let run = || Some(named(&live.id));
    let retry = RetryPolicy {
        initial_interval: Some(seconds(1)),
        backoff_coefficient: 2.0,
        maximum_interval: Some(seconds(100)),
        maximum_attempts: 3,
        ..Default::default()
    };
    let begin = StartWorkflowExecutionRequest {
        input: payloads(),
        retry_policy: Some(retry),
        workflow_run_timeout: Some(seconds(100)),
        workflow_task_timeout: Some(seconds(10)),
        workflow_start_delay: Some(seconds(1)),
        workflow_id_reuse_policy: 1,
        workflow_id_conflict_policy: 2,
        ..start(SPACE, &format!("{} more", live.id))
    };
    let cron = StartWorkflowExecutionRequest {
        cron_schedule: "*/5 * * * *".into(),
        ..start(SPACE, &format!("{} again", live.id))
    };
    let name = Some(WorkflowType { name: "flow".into() });
    let meta = Some(Meta { update_id: "u".into(), identity: "client".into() });
    let input = Some(Input { name: "u".into(), args: payloads(), ..Default::default() });
    let stage = UpdateWorkflowExecutionLifecycleStage::Accepted.into();
    let policy = || Some(WaitPolicy { lifecycle_stage: stage });
    let update = UpdateRef { workflow_execution: run(), update_id: "u".into() };
    vec![
        seed(begin),
        seed(cron),
        ask!(SignalWithStartWorkflowExecutionRequest {
            workflow_id: live.id.clone(),
            workflow_type: name,
            task_queue: Some(queue(QUEUE)),
            signal_name: "s".into(),
            signal_input: payloads(),
        }),
        ask!(SignalWorkflowExecutionRequest {
            workflow_execution: run(),
            signal_name: "s".into(),
            input: payloads(),
            request_id: "r".into(),
        }),
        ask!(RequestCancelWorkflowExecutionRequest {
            workflow_execution: run(),
            reason: "why".into(),
        }),
        ask!(TerminateWorkflowExecutionRequest {
            workflow_execution: run(),
            reason: "why".into(),
            details: payloads(),
        }),
        ask!(UpdateWorkflowExecutionRequest {
            workflow_execution: run(),
            wait_policy: policy(),
            request: Some(Asked { meta, input, ..Default::default() }),
        }),
        ask!(PollWorkflowExecutionUpdateRequest {
            update_ref: Some(update),
            wait_policy: policy(),
        }),
        ask!(ResetStickyTaskQueueRequest { execution: run() }),
    ]
}

fn readers(live: &Live) -> Vec<Seed> {
    let run = || Some(named(&live.id));
    let text = "WorkflowId STARTS_WITH 'run' AND ExecutionStatus = 'Running' ORDER BY StartTime";
    let query = WorkflowQuery { query_type: "q".into(), query_args: payloads(), header: None };
    vec![
        seed(GetSystemInfoRequest::default()),
        seed(GetClusterInfoRequest::default()),
        seed(GetSearchAttributesRequest::default()),
        ask!(DescribeNamespaceRequest {}),
        seed(ListNamespacesRequest { page_size: 10, ..Default::default() }),
        ask!(RegisterNamespaceRequest {
            workflow_execution_retention_period: Some(seconds(86_400)),
            description: "another".into(),
        }),
        ask!(UpdateNamespaceRequest {}),
        ask!(DescribeWorkflowExecutionRequest { execution: run() }),
        ask!(GetWorkflowExecutionHistoryRequest {
            execution: run(),
            maximum_page_size: 2,
            wait_new_event: true,
        }),
        ask!(GetWorkflowExecutionHistoryReverseRequest { execution: run(), maximum_page_size: 2 }),
        ask!(ListWorkflowExecutionsRequest { page_size: 3, query: text.into() }),
        ask!(CountWorkflowExecutionsRequest { query: "GROUP BY ExecutionStatus".into() }),
        ask!(QueryWorkflowRequest { execution: run(), query: Some(query) }),
        ask!(DescribeWorkerRequest { worker_instance_key: "key".into() }),
        ask!(ListWorkersRequest { page_size: 3 }),
        ask!(DescribeTaskQueueRequest {
            task_queue: Some(queue(QUEUE)),
            task_queue_type: TaskQueueType::Workflow.into(),
        }),
    ]
}

fn command(kind: CommandType, attributes: Attributes) -> Command {
    Command { command_type: kind.into(), attributes: Some(attributes), ..Default::default() }
}

fn turns(live: &Live) -> Vec<Seed> {
    let timer = StartTimerCommandAttributes {
        timer_id: "t".into(),
        start_to_fire_timeout: Some(seconds(1)),
    };
    let child = StartChildWorkflowExecutionCommandAttributes {
        workflow_id: format!("{} child", live.id),
        workflow_type: Some(WorkflowType { name: "flow".into() }),
        task_queue: Some(queue(QUEUE)),
        input: payloads(),
        ..Default::default()
    };
    let next = ContinueAsNewWorkflowExecutionCommandAttributes {
        workflow_type: Some(WorkflowType { name: "flow".into() }),
        input: payloads(),
        ..Default::default()
    };
    let cancel = RequestCancelExternalWorkflowExecutionCommandAttributes {
        workflow_id: live.id.clone(),
        ..Default::default()
    };
    let commands = vec![
        command(CommandType::StartTimer, Attributes::StartTimerCommandAttributes(timer)),
        command(
            CommandType::StartChildWorkflowExecution,
            Attributes::StartChildWorkflowExecutionCommandAttributes(child),
        ),
        command(
            CommandType::RequestCancelExternalWorkflowExecution,
            Attributes::RequestCancelExternalWorkflowExecutionCommandAttributes(cancel),
        ),
        schedule("b"),
    ];
    let continued = command(
        CommandType::ContinueAsNewWorkflowExecution,
        Attributes::ContinueAsNewWorkflowExecutionCommandAttributes(next),
    );
    let answer = |commands| {
        ask!(RespondWorkflowTaskCompletedRequest {
            task_token: live.turn.clone(),
            identity: "worker".into(),
            commands: commands,
            return_new_workflow_task: true,
        })
    };
    vec![
        ask!(PollWorkflowTaskQueueRequest {
            task_queue: Some(queue(QUEUE)),
            identity: "worker".into(),
        }),
        answer(commands),
        answer(vec![continued]),
        answer(vec![complete()]),
        ask!(RespondWorkflowTaskFailedRequest {
            task_token: live.turn.clone(),
            cause: 23,
            failure: Some(Failure { message: "no".into(), ..Default::default() }),
        }),
        ask!(RespondQueryTaskCompletedRequest {
            task_token: live.turn.clone(),
            query_result: payloads(),
        }),
    ]
}

fn activities(live: &Live) -> Vec<Seed> {
    let token = || live.activity.clone();
    let failure = || Some(Failure { message: "no".into(), ..Default::default() });
    let (workflow_id, activity_id) = (|| live.id.clone(), || "a".to_owned());
    vec![
        ask!(PollActivityTaskQueueRequest {
            task_queue: Some(queue(QUEUE)),
            identity: "worker".into(),
        }),
        ask!(RespondActivityTaskCompletedRequest { task_token: token(), result: payloads() }),
        ask!(RespondActivityTaskFailedRequest { task_token: token(), failure: failure() }),
        ask!(RespondActivityTaskCanceledRequest { task_token: token(), details: payloads() }),
        ask!(RecordActivityTaskHeartbeatRequest { task_token: token(), details: payloads() }),
        ask!(RespondActivityTaskCompletedByIdRequest {
            workflow_id: workflow_id(),
            activity_id: activity_id(),
            result: payloads(),
        }),
        ask!(RespondActivityTaskFailedByIdRequest {
            workflow_id: workflow_id(),
            activity_id: activity_id(),
            failure: failure(),
        }),
        ask!(RespondActivityTaskCanceledByIdRequest {
            workflow_id: workflow_id(),
            activity_id: activity_id(),
        }),
        ask!(RecordActivityTaskHeartbeatByIdRequest {
            workflow_id: workflow_id(),
            activity_id: activity_id(),
            details: payloads(),
        }),
    ]
}

fn workers(live: &Live) -> Vec<Seed> {
    let heartbeat = WorkerHeartbeat {
        worker_instance_key: "key".into(),
        worker_identity: "worker".into(),
        task_queue: QUEUE.into(),
        ..Default::default()
    };
    vec![
        ask!(PollNexusTaskQueueRequest { task_queue: Some(queue(QUEUE)) }),
        ask!(RespondNexusTaskCompletedRequest { task_token: live.turn.clone() }),
        ask!(RespondNexusTaskFailedRequest { task_token: live.turn.clone() }),
        ask!(RecordWorkerHeartbeatRequest {
            identity: "worker".into(),
            worker_heartbeat: vec![heartbeat],
        }),
        ask!(ShutdownWorkerRequest { identity: "worker".into(), reason: "bye".into() }),
    ]
}
