//! What a worker is told, and what is told of workers.

use temporalio_protos::temporal::api::{
    command::v1::{ScheduleActivityTaskCommandAttributes, command::Attributes},
    common::v1::{Payload, Priority},
    enums::v1::{PendingActivityState, TaskQueueKind, TaskQueueType},
    sdk::v1::UserMetadata,
    taskqueue::v1::TaskQueue,
    workflowservice::v1::*,
};

use crate::world::{QUEUE, SPACE, World, named, queue, schedule, scheduled, start};

/// A worker that leaves has all its polls answered, and nobody else's.
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
    let polls = async {
        tokio::join!(
            world.call::<_, PollWorkflowTaskQueueResponse>(turns),
            world.call::<_, PollActivityTaskQueueResponse>(activities),
            world.call::<_, PollNexusTaskQueueResponse>(control),
        )
    };
    let (polled, ()) =
        tokio::join!(tokio::time::timeout(std::time::Duration::from_secs(30), polls), leave);
    let (turn, activity, told) = polled.expect("all three are answered");
    assert_eq!(turn.expect("an answer"), PollWorkflowTaskQueueResponse::default());
    assert_eq!(activity.expect("an answer"), PollActivityTaskQueueResponse::default());
    assert_eq!(told.expect("an answer"), PollNexusTaskQueueResponse::default());
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
