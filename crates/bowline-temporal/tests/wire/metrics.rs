//! What is counted of the commands to workers, and what is known of each delivery.

use bowline_temporal::metrics::CommandsSent;
use temporalio_protos::temporal::api::{
    enums::v1::TaskQueueKind, taskqueue::v1::TaskQueue, workflowservice::v1::*,
};

use crate::world::{QUEUE, SPACE, World, named, queue, schedule, start};

async fn poll_control(world: &World) -> PollNexusTaskQueueResponse {
    let kind = TaskQueueKind::WorkerCommands.into();
    let poll = PollNexusTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(TaskQueue { name: "control".into(), kind, ..Default::default() }),
        ..Default::default()
    };
    world.call(poll).await.expect("something is pushed")
}

/// Starts a run whose one activity is in the hands of a worker that listens there.
async fn working(world: &World, id: &str, control: &str) {
    world.start(start(SPACE, id)).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![schedule("a")]).await.expect("it is taken");
    let poll = PollActivityTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(queue(QUEUE)),
        worker_control_task_queue: control.into(),
        ..Default::default()
    };
    let _: PollActivityTaskQueueResponse = world.call(poll).await.expect("an activity");
}

async fn terminate(world: &World, id: &str) {
    let terminate = TerminateWorkflowExecutionRequest {
        namespace: SPACE.into(),
        workflow_execution: Some(named(id)),
        ..Default::default()
    };
    let _: TerminateWorkflowExecutionResponse = world.call(terminate).await.expect("it is open");
}

fn sent(outcome: &'static str, count: u64) -> CommandsSent {
    let (namespace, command_type) = (SPACE.to_owned(), "cancel_activity");
    CommandsSent { namespace, outcome, command_type, count }
}

/// One command arrives, one is refused, and one has nowhere to go; each is counted, and the row of
/// the activity says when its worker had the word.
#[tokio::test]
async fn every_command_is_counted_by_what_became_of_it() {
    let world = World::new().await;
    working(&world, "told", "control").await;
    terminate(&world, "told").await;
    let told = poll_control(&world).await;
    let run = world.engine.current("told").await.expect("it is there").run;
    let before = world.engine.leftovers(run).await.expect("a subtree");
    assert_eq!(before.attempts[0].delivered_at, None, "it was handed out, no more");
    let refuse = RespondNexusTaskFailedRequest {
        namespace: SPACE.into(),
        task_token: told.task_token.clone(),
        ..Default::default()
    };
    let _: RespondNexusTaskFailedResponse = world.call(refuse).await.expect("it is heard");
    let done = RespondNexusTaskCompletedRequest {
        namespace: SPACE.into(),
        task_token: told.task_token,
        ..Default::default()
    };
    let _: RespondNexusTaskCompletedResponse = world.call(done).await.expect("it is heard");
    let after = world.engine.leftovers(run).await.expect("a subtree");
    assert!(after.attempts[0].delivered_at.is_some(), "{:?}", after.attempts);

    working(&world, "deaf", "").await;
    terminate(&world, "deaf").await;
    let deaf = world.engine.current("deaf").await.expect("it is there").run;
    world.engine.result(deaf).await.expect("it is closed");

    let metrics = world.door.metrics();
    let expected = [sent("success", 1), sent("no_poller", 1), sent("worker_error", 1)];
    assert_eq!(metrics.worker_commands_sent, expected);
    assert_eq!(metrics.worker_control_task_poll_count, 1);
    assert_eq!(metrics.worker_control_tasks_delivered, 1);
    assert_eq!(metrics.activity_cancel_notification_failures, 2);
    assert_eq!(metrics.activity_cancel_notification_latency.count(), 1);
}
