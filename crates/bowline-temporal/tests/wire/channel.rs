//! The control channel of a worker is its own: what others say on it, or of it, counts for nothing.

use bowline_core::RunId;
use bowline_engine::store::Head;
use prost::Message;
use temporalio_protos::temporal::api::{
    enums::v1::TaskQueueKind, taskqueue::v1::TaskQueue, workflowservice::v1::*,
};
use tonic::{Code, Status};

use crate::world::{QUEUE, SPACE, World, queue, schedule, seconds, start};

/// What a token of the channel says, as it travels.
#[derive(Clone, PartialEq, Message)]
struct CancelTask {
    #[prost(string, tag = "1")]
    control: String,
    #[prost(message, repeated, tag = "2")]
    notices: Vec<Item>,
}

#[derive(Clone, PartialEq, Message)]
struct Item {
    #[prost(bytes = "vec", tag = "1")]
    run: Vec<u8>,
    #[prost(uint64, tag = "2")]
    activity: u64,
    #[prost(uint32, tag = "3")]
    attempt: u32,
    #[prost(bool, tag = "4")]
    cancel: bool,
}

fn control(space: &str) -> PollNexusTaskQueueRequest {
    let kind = TaskQueueKind::WorkerCommands.into();
    PollNexusTaskQueueRequest {
        namespace: space.into(),
        task_queue: Some(TaskQueue { name: "control".into(), kind, ..Default::default() }),
        worker_instance_key: "key".into(),
        ..Default::default()
    }
}

/// A run whose one activity is in the hands of a worker that listens, and was told to stop.
async fn told(world: &World) -> (RunId, PollNexusTaskQueueResponse) {
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![schedule("a")]).await.expect("it is taken");
    let poll = PollActivityTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        worker_control_task_queue: "control".into(),
        ..Default::default()
    };
    let _: PollActivityTaskQueueResponse = world.call(poll).await.expect("an activity");
    world.terminate("w").await;
    let head: Head = world.engine.current("w").await.expect("it is there");
    (head.run, world.call(control(SPACE)).await.expect("something is pushed"))
}

async fn register(world: &World, name: &str) {
    let register = RegisterNamespaceRequest {
        namespace: name.into(),
        workflow_execution_retention_period: Some(seconds(86_400)),
        ..Default::default()
    };
    let _: RegisterNamespaceResponse = world.call(register).await.expect("it is registered");
}

async fn completed(world: &World, space: &str, task_token: Vec<u8>) -> Result<(), Status> {
    let done = RespondNexusTaskCompletedRequest {
        namespace: space.into(),
        task_token,
        ..Default::default()
    };
    let done: Result<RespondNexusTaskCompletedResponse, _> = world.call(done).await;
    done.map(drop)
}

async fn is_delivered(world: &World, run: RunId) -> bool {
    let left = world.engine.leftovers(run).await.expect("a subtree");
    left.attempts[0].delivered_at.is_some()
}

/// Anybody who could guess what a token says was believed: a cancel that its worker had never seen
/// was said to be delivered.
#[tokio::test]
async fn only_the_channel_that_an_attempt_listens_to_says_that_it_was_told() {
    let world = World::new().await;
    register(&world, "other").await;
    let (run, pushed) = told(&world).await;
    let task = CancelTask::decode(&*pushed.task_token).expect("it reads");
    // In another namespace, with its token as it is.
    let foreign = completed(&world, "other", pushed.task_token.clone()).await;
    assert_eq!(foreign.expect_err("it is of another namespace").code(), Code::InvalidArgument);
    // In this one, for a channel that another worker has.
    let (space, _) = task.control.split_once('/').expect("a namespace");
    let others = CancelTask { control: format!("{space}/mine"), ..task.clone() };
    completed(&world, SPACE, others.encode_to_vec()).await.expect("it counts for nothing");
    assert!(!is_delivered(&world, run).await, "its worker has said nothing yet");
    // With more than is ever handed out at once.
    let item = task.notices[0].clone();
    let many = CancelTask { notices: vec![item; 5_000], ..task };
    let many = completed(&world, SPACE, many.encode_to_vec()).await;
    assert_eq!(many.expect_err("it is made up").code(), Code::InvalidArgument);
    assert_eq!(world.door.metrics().worker_commands_sent.len(), 0, "nothing was delivered so far");
    completed(&world, SPACE, pushed.task_token).await.expect("it is its own");
    assert!(is_delivered(&world, run).await);
}

/// The key of a worker is its own within its namespace: whoever said in another one that it leaves
/// ended its polls.
#[tokio::test]
async fn a_worker_leaves_its_own_namespace_only() {
    let world = World::new().await;
    register(&world, "other").await;
    let shutdown = |space: &str| ShutdownWorkerRequest {
        namespace: space.into(),
        worker_instance_key: "key".into(),
        ..Default::default()
    };
    let _: ShutdownWorkerResponse = world.call(shutdown("other")).await.expect("it is heard");
    // A poll of one that has left is answered at once, and empty.
    let left: PollNexusTaskQueueResponse = world.call(control("other")).await.expect("it is over");
    assert!(left.task_token.is_empty());
    let (_, pushed) = told(&world).await;
    assert!(!pushed.task_token.is_empty(), "its worker is there, and hears what it is sent");
    let _: ShutdownWorkerResponse = world.call(shutdown(SPACE)).await.expect("it is heard");
    let left: PollNexusTaskQueueResponse = world.call(control(SPACE)).await.expect("it is over");
    assert!(left.task_token.is_empty());
}
