//! What a worker is told, and what is told of workers.

use temporalio_protos::temporal::api::{
    command::v1::{ScheduleActivityTaskCommandAttributes, command::Attributes},
    common::v1::{Payload, Priority},
    enums::v1::{
        DescribeTaskQueueMode, PendingActivityState, TaskQueueKind, TaskQueueType, WorkerStatus,
    },
    sdk::v1::UserMetadata,
    taskqueue::v1::TaskQueue,
    worker::v1::{WorkerHeartbeat, WorkerHostInfo},
    workflowservice::v1::*,
};
use tonic::Code;

use crate::world::{QUEUE, SPACE, World, named, queue, schedule, scheduled, seconds, start};

/// A worker that leaves has all its polls answered: those that wait, and those that come late.
#[tokio::test]
async fn a_worker_that_leaves_has_its_polls_answered() {
    let world = World::new().await;
    let key = || "leaves".to_owned();
    let turns = PollWorkflowTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        worker_instance_key: key(),
        ..Default::default()
    };
    let activities = PollActivityTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        worker_instance_key: key(),
        worker_control_task_queue: "control".into(),
        ..Default::default()
    };
    let kind = TaskQueueKind::WorkerCommands.into();
    let control = PollNexusTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(TaskQueue { name: "control".into(), kind, ..Default::default() }),
        worker_instance_key: key(),
        ..Default::default()
    };
    let describe = |kind: TaskQueueType| DescribeTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        task_queue_type: kind.into(),
        ..Default::default()
    };
    let leave = async {
        for kind in [TaskQueueType::Workflow, TaskQueueType::Activity] {
            loop {
                let seen: DescribeTaskQueueResponse =
                    world.call(describe(kind)).await.expect("a queue");
                if !seen.pollers.is_empty() {
                    break;
                }
            }
        }
        while world.door.metrics().worker_control_task_poll_count == 0 {
            tokio::task::yield_now().await;
        }
        let leave = ShutdownWorkerRequest {
            namespace: SPACE.into(),
            worker_instance_key: key(),
            ..Default::default()
        };
        let _: ShutdownWorkerResponse = world.call(leave).await.expect("it may go");
    };
    let polls = async || {
        let polls = async {
            tokio::join!(
                world.call::<_, PollWorkflowTaskQueueResponse>(turns.clone()),
                world.call::<_, PollActivityTaskQueueResponse>(activities.clone()),
                world.call::<_, PollNexusTaskQueueResponse>(control.clone()),
            )
        };
        let polled = tokio::time::timeout(std::time::Duration::from_secs(30), polls).await;
        let (turn, activity, told) = polled.expect("all three are answered");
        assert_eq!(turn.expect("an answer"), PollWorkflowTaskQueueResponse::default());
        assert_eq!(activity.expect("an answer"), PollActivityTaskQueueResponse::default());
        assert_eq!(told.expect("an answer"), PollNexusTaskQueueResponse::default());
    };
    tokio::join!(polls(), leave);
    // Polls that it sent before may be overtaken by its word.
    polls().await;
}

/// How much waits in a queue is counted for whoever asks.
#[tokio::test]
async fn a_queue_tells_how_much_waits_in_it() {
    let world = World::new().await;
    let look = |kind: TaskQueueType| DescribeTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        task_queue_type: kind.into(),
        report_stats: true,
        ..Default::default()
    };
    let waiting = async |kind| {
        let seen: DescribeTaskQueueResponse = world.call(look(kind)).await.expect("a queue");
        seen.stats.expect("it was asked for").approximate_backlog_count
    };
    for id in ["a", "b", "c"] {
        world.start(start(SPACE, id)).await;
    }
    assert_eq!(waiting(TaskQueueType::Workflow).await, 3);
    let turn = world.turn(SPACE).await;
    assert_eq!(waiting(TaskQueueType::Workflow).await, 2, "one is in a worker's hands");
    world.answer(SPACE, &turn, vec![schedule("x"), schedule("y")]).await.expect("it is taken");
    assert_eq!(waiting(TaskQueueType::Activity).await, 2);
    world.activity(SPACE).await;
    assert_eq!(waiting(TaskQueueType::Activity).await, 1);
}

/// How urgent an activity is reaches its worker, and whoever looks at the run.
#[tokio::test]
async fn a_priority_reaches_the_worker_and_descriptions() {
    let world = World::new().await;
    let said = Payload { data: b"what it is for".to_vec(), ..Default::default() };
    let metadata = UserMetadata { summary: Some(said), details: None };
    let begin = StartWorkflowExecutionRequest {
        user_metadata: Some(metadata.clone()),
        ..start(SPACE, "w")
    };
    world.start(begin).await;
    let turn = world.turn(SPACE).await;
    let Some(Attributes::ScheduleActivityTaskCommandAttributes(plain)) = schedule("a").attributes
    else {
        panic!("it schedules an activity");
    };
    let urgent = Priority { priority_key: 1, ..Default::default() };
    let wanted = ScheduleActivityTaskCommandAttributes { priority: Some(urgent.clone()), ..plain };
    world.answer(SPACE, &turn, vec![scheduled(wanted)]).await.expect("it is taken");
    assert_eq!(world.activity(SPACE).await.priority, Some(urgent.clone()));
    let look =
        DescribeWorkflowExecutionRequest { namespace: SPACE.into(), execution: Some(named("w")) };
    let shown: DescribeWorkflowExecutionResponse = world.call(look).await.expect("it is there");
    let config = shown.execution_config.expect("its settings");
    assert_eq!(config.user_metadata, Some(metadata));
    let [pending] = &shown.pending_activities[..] else { panic!("one activity") };
    assert_eq!(pending.state(), PendingActivityState::Started);
    assert_eq!(pending.priority, Some(urgent));
    let options = pending.activity_options.as_ref().expect("its options");
    assert_eq!(options.task_queue.as_ref().expect("its queue").name, QUEUE);
}

fn beat(key: &str, status: WorkerStatus) -> WorkerHeartbeat {
    WorkerHeartbeat {
        worker_instance_key: key.into(),
        worker_identity: format!("{key}@host"),
        task_queue: QUEUE.into(),
        sdk_name: "sdk".into(),
        status: status.into(),
        host_info: Some(WorkerHostInfo { host_name: "host".into(), ..Default::default() }),
        ..Default::default()
    }
}

fn beats(worker_heartbeat: Vec<WorkerHeartbeat>) -> RecordWorkerHeartbeatRequest {
    RecordWorkerHeartbeatRequest { namespace: SPACE.into(), worker_heartbeat, ..Default::default() }
}

/// What a worker said last is there for whoever asks, until long after it has left.
#[tokio::test]
async fn the_last_heartbeat_of_a_worker_is_kept() {
    let world = World::new().await;
    let status = async |key: &str| {
        let look =
            DescribeWorkerRequest { namespace: SPACE.into(), worker_instance_key: key.into() };
        let seen: Result<DescribeWorkerResponse, _> = world.call(look).await;
        let beat = seen.map(|seen| seen.worker_info.and_then(|info| info.worker_heartbeat));
        beat.map(|beat| beat.expect("what it said").status())
    };
    let running = |key| beat(key, WorkerStatus::Running);
    let said = beats(vec![running("b"), running("a"), running("c")]);
    let _: RecordWorkerHeartbeatResponse = world.call(said).await.expect("it is taken");
    assert_eq!(status("a").await.expect("it is known"), WorkerStatus::Running);
    let leave = ShutdownWorkerRequest {
        namespace: SPACE.into(),
        worker_instance_key: "a".into(),
        worker_heartbeat: Some(beat("a", WorkerStatus::ShuttingDown)),
        ..Default::default()
    };
    let _: ShutdownWorkerResponse = world.call(leave).await.expect("it may go");
    assert_eq!(status("a").await.expect("it is known"), WorkerStatus::ShuttingDown);
    assert_eq!(status("x").await.expect_err("nobody").code(), Code::NotFound);
    assert_eq!(status("").await.expect_err("no key").code(), Code::InvalidArgument);
    let nameless = world.call::<_, RecordWorkerHeartbeatResponse>(beats(vec![running("")])).await;
    assert_eq!(nameless.expect_err("no key").code(), Code::InvalidArgument);
}

/// Workers are listed page by page, each namespace its own.
#[tokio::test]
async fn workers_are_listed_page_by_page() {
    let world = World::new().await;
    let said = ["b", "a", "c"].map(|key| beat(key, WorkerStatus::Running)).to_vec();
    let _: RecordWorkerHeartbeatResponse = world.call(beats(said)).await.expect("it is taken");
    let (mut keys, mut next_page_token) = (Vec::new(), Vec::new());
    loop {
        let list = ListWorkersRequest {
            namespace: SPACE.into(),
            page_size: 2,
            next_page_token,
            ..Default::default()
        };
        let page: ListWorkersResponse = world.call(list).await.expect("a list");
        assert!(page.workers.iter().all(|one| one.host_name == "host"), "{page:?}");
        keys.extend(page.workers.into_iter().map(|one| one.worker_instance_key));
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            break;
        }
    }
    assert_eq!(keys, ["a", "b", "c"]);
    let register = RegisterNamespaceRequest {
        namespace: "other".into(),
        workflow_execution_retention_period: Some(seconds(24 * 3_600)),
        ..Default::default()
    };
    let _: RegisterNamespaceResponse = world.call(register).await.expect("it is free");
    let list = |query: &str, token: &[u8]| ListWorkersRequest {
        namespace: "other".into(),
        query: query.into(),
        next_page_token: token.to_vec(),
        ..Default::default()
    };
    let page: ListWorkersResponse = world.call(list("", b"")).await.expect("a list");
    assert!(page.workers.is_empty(), "they work for another namespace");
    for wrong in [list("TaskQueue = 'q'", b""), list("", b"\xff\xff")] {
        let refused = world.call::<_, ListWorkersResponse>(wrong).await;
        assert_eq!(refused.expect_err("it is wrong").code(), Code::InvalidArgument);
    }
}

/// The official command line asks for all types at once, and takes an answer without versions for
/// that of a server that is too old.
#[tokio::test]
#[allow(deprecated, reason = "so it asks")]
async fn a_queue_is_described_by_version_to_who_asks_so() {
    let world = World::new().await;
    for id in ["a", "b"] {
        world.start(start(SPACE, id)).await;
    }
    world.turn(SPACE).await;
    let ask = DescribeTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        api_mode: DescribeTaskQueueMode::Enhanced.into(),
        report_stats: true,
        report_pollers: true,
        ..Default::default()
    };
    let seen: DescribeTaskQueueResponse = world.call(ask.clone()).await.expect("a queue");
    let unversioned = &seen.versions_info[""].types_info;
    let turns = &unversioned[&TaskQueueType::Workflow.into()];
    let waits = turns.stats.as_ref().expect("it was asked for").approximate_backlog_count;
    let identities: Vec<_> = turns.pollers.iter().map(|poller| &*poller.identity).collect();
    assert_eq!((waits, identities), (1, vec!["worker"]));
    assert!(unversioned[&TaskQueueType::Activity.into()].pollers.is_empty());
    // One type, and no numbers.
    let ask = DescribeTaskQueueRequest {
        task_queue_types: vec![TaskQueueType::Activity.into()],
        report_stats: false,
        ..ask
    };
    let seen: DescribeTaskQueueResponse = world.call(ask).await.expect("a queue");
    let told: Vec<_> = seen.versions_info[""].types_info.iter().collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].1.stats.is_none());
}
