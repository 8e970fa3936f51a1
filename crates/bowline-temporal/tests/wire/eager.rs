//! Work that a worker takes with the answer that makes it: no poll, no queue.

use prost::Message;
use temporalio_protos::temporal::api::{
    command::v1::{Command, ScheduleActivityTaskCommandAttributes, command::Attributes},
    enums::v1::TaskQueueKind,
    nexus::v1::request::Variant,
    nexusservices::workerservice::v1::ExecuteCommandsRequest,
    taskqueue::v1::TaskQueue,
    worker::v1::worker_command::Type,
    workflowservice::v1::*,
};

use crate::world::{
    QUEUE, SPACE, World, complete, kinds, named, queue, schedule, scheduled, seconds, start,
};

/// An activity that the worker would take itself.
fn wanted(id: &str, place: &str) -> Command {
    let Some(Attributes::ScheduleActivityTaskCommandAttributes(plain)) = schedule(id).attributes
    else {
        panic!("it schedules an activity");
    };
    scheduled(ScheduleActivityTaskCommandAttributes {
        request_eager_execution: true,
        task_queue: Some(queue(place)),
        ..plain
    })
}

async fn answer(world: &World, commands: Vec<Command>) -> RespondWorkflowTaskCompletedResponse {
    let turn = world.turn(SPACE).await;
    let answer = RespondWorkflowTaskCompletedRequest {
        namespace: SPACE.into(),
        task_token: turn.task_token,
        identity: "worker".into(),
        worker_instance_key: "a worker".into(),
        worker_control_task_queue: "control".into(),
        commands,
        ..Default::default()
    };
    world.call(answer).await.expect("it is taken")
}

/// The worker has what it asked for with its answer; what waits in another queue, or was not asked
/// for, is dispatched as usual.
#[tokio::test]
async fn a_worker_takes_the_activities_that_it_asks_for() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let commands = vec![wanted("a", QUEUE), wanted("b", "elsewhere"), schedule("c")];
    let answered = answer(&world, commands).await;
    let [taken] = &answered.activity_tasks[..] else { panic!("one of them: {answered:?}") };
    assert_eq!((taken.activity_id.as_str(), taken.attempt), ("a", 1));
    assert_eq!(taken.workflow_execution.as_ref().expect("its run").workflow_id, "w");
    assert!(taken.started_time.is_some() && taken.start_to_close_timeout.is_some());
    assert_eq!(world.activity(SPACE).await.activity_id, "c", "nobody else has the first one");
    let done = RespondActivityTaskCompletedRequest {
        namespace: SPACE.into(),
        task_token: taken.task_token.clone(),
        ..Default::default()
    };
    let _: RespondActivityTaskCompletedResponse = world.call(done).await.expect("it is known");
    let turn = world.turn(SPACE).await;
    let events = turn.history.expect("a history").events;
    assert_eq!(
        kinds(&events)[7..],
        [
            "ACTIVITY_TASK_STARTED",
            "ACTIVITY_TASK_COMPLETED",
            "WORKFLOW_TASK_SCHEDULED",
            "WORKFLOW_TASK_STARTED"
        ]
    );
    assert_eq!(world.engine.metrics().eager_activities, 1);
}

/// What a worker took so is told to stop like anything else: over the control channel that came
/// with the answer.
#[tokio::test]
async fn a_cancel_reaches_what_was_taken_with_an_answer() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let answered = answer(&world, vec![wanted("a", QUEUE)]).await;
    let terminate = TerminateWorkflowExecutionRequest {
        namespace: SPACE.into(),
        workflow_execution: Some(named("w")),
        ..Default::default()
    };
    let _: TerminateWorkflowExecutionResponse = world.call(terminate).await.expect("it is open");
    let kind = TaskQueueKind::WorkerCommands.into();
    let poll = PollNexusTaskQueueRequest {
        namespace: SPACE.into(),
        task_queue: Some(TaskQueue { name: "control".into(), kind, ..Default::default() }),
        ..Default::default()
    };
    let told: PollNexusTaskQueueResponse = world.call(poll).await.expect("it is pushed");
    let Some(Variant::StartOperation(operation)) = told.request.and_then(|r| r.variant) else {
        panic!("no operation");
    };
    let body = operation.payload.expect("commands").data;
    let commands = ExecuteCommandsRequest::decode(&*body).expect("commands").commands;
    let [Some(Type::CancelActivity(cancel))] =
        &commands.iter().map(|c| c.r#type.clone()).collect::<Vec<_>>()[..]
    else {
        panic!("one cancel: {commands:?}");
    };
    assert_eq!(cancel.task_token, answered.activity_tasks[0].task_token);
}

/// Whoever starts a run may have its first turn with the answer, unless the run waits before it.
#[tokio::test]
async fn a_start_may_bring_its_first_turn() {
    let world = World::new().await;
    let eager = |id: &str| StartWorkflowExecutionRequest {
        request_eager_execution: true,
        identity: "starter".into(),
        ..start(SPACE, id)
    };
    let begun: StartWorkflowExecutionResponse = world.call(eager("w")).await.expect("it starts");
    let turn = begun.eager_workflow_task.expect("its first turn");
    let events = &turn.history.as_ref().expect("a history").events;
    assert_eq!(
        kinds(events),
        ["WORKFLOW_EXECUTION_STARTED", "WORKFLOW_TASK_SCHEDULED", "WORKFLOW_TASK_STARTED"]
    );
    assert_eq!((turn.previous_started_event_id, turn.started_event_id, turn.attempt), (0, 3, 1));
    world.answer(SPACE, &turn, vec![complete()]).await.expect("it is taken");
    assert_eq!(world.history(SPACE, "w").await.len(), 5);
    let late =
        StartWorkflowExecutionRequest { workflow_start_delay: Some(seconds(100)), ..eager("late") };
    let begun: StartWorkflowExecutionResponse = world.call(late).await.expect("it starts");
    assert_eq!(begun.eager_workflow_task, None);
    assert_eq!(world.engine.metrics().eager_turns, 1);
}
