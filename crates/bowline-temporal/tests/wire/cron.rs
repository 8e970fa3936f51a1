//! Runs that a schedule starts again and again.

use temporalio_protos::temporal::api::{
    command::v1::{
        CancelWorkflowExecutionCommandAttributes, CompleteWorkflowExecutionCommandAttributes,
        FailWorkflowExecutionCommandAttributes, command::Attributes,
    },
    common::v1::{Payload, Payloads},
    enums::v1::{CommandType, ContinueAsNewInitiator},
    failure::v1::Failure,
    history::v1::{WorkflowExecutionStartedEventAttributes, history_event::Attributes as Event},
    workflowservice::v1::*,
};
use tonic::Code;

use crate::world::{SPACE, World, command, kinds, named, seconds, start};

fn result(text: &str) -> Payloads {
    let payload = Payload { data: text.as_bytes().to_vec(), ..Default::default() };
    Payloads { payloads: vec![payload] }
}

fn first(turn: &PollWorkflowTaskQueueResponse) -> WorkflowExecutionStartedEventAttributes {
    let event = turn.history.as_ref().expect("a history").events[0].attributes.clone();
    match event.expect("attributes") {
        Event::WorkflowExecutionStartedEventAttributes(started) => started,
        other => panic!("not the first event: {other:?}"),
    }
}

/// Each run begins at its time, knows how the ones before it ended, and is followed by another; a
/// cancel ends it all.
#[tokio::test]
async fn a_schedule_starts_runs_until_it_is_cancelled() {
    let world = World::new().await;
    let on_schedule =
        StartWorkflowExecutionRequest { cron_schedule: "@every 1s".into(), ..start(SPACE, "w") };
    let run = world.start(on_schedule).await;
    let turn = world.turn(SPACE).await;
    let started = first(&turn);
    assert_eq!(turn.workflow_execution.as_ref().expect("a run").run_id, run);
    assert_eq!(started.cron_schedule, "@every 1s");
    let wait = started.first_workflow_task_backoff.expect("it waits");
    assert!(wait.seconds < 2 && (wait.seconds, wait.nanos) > (0, 0), "{wait:?}");
    let done = CompleteWorkflowExecutionCommandAttributes { result: Some(result("one")) };
    let done = Attributes::CompleteWorkflowExecutionCommandAttributes(done);
    let done = command(CommandType::CompleteWorkflowExecution, done);
    world.answer(SPACE, &turn, vec![done]).await.expect("it is taken");

    let turn = world.turn(SPACE).await;
    let started = first(&turn);
    assert_eq!(started.initiator(), ContinueAsNewInitiator::CronSchedule);
    assert_eq!(started.continued_execution_run_id, run);
    assert_eq!(started.first_execution_run_id, run);
    assert_eq!(
        (started.last_completion_result, started.continued_failure),
        (Some(result("one")), None)
    );
    let failure = Some(Failure { message: "no luck".into(), ..Default::default() });
    let fails = FailWorkflowExecutionCommandAttributes { failure: failure.clone() };
    let fails = Attributes::FailWorkflowExecutionCommandAttributes(fails);
    let fails = command(CommandType::FailWorkflowExecution, fails);
    world.answer(SPACE, &turn, vec![fails]).await.expect("it is taken");

    // The third run waits for its time. A cancel does not wait.
    let cancel = RequestCancelWorkflowExecutionRequest {
        namespace: SPACE.into(),
        workflow_execution: Some(named("w")),
        ..Default::default()
    };
    let _: RequestCancelWorkflowExecutionResponse = world.call(cancel).await.expect("it is open");
    let turn = world.turn(SPACE).await;
    let started = first(&turn);
    assert_eq!(
        (started.last_completion_result, started.continued_failure),
        (Some(result("one")), failure)
    );
    let over = CancelWorkflowExecutionCommandAttributes::default();
    let over = Attributes::CancelWorkflowExecutionCommandAttributes(over);
    let over = command(CommandType::CancelWorkflowExecution, over);
    world.answer(SPACE, &turn, vec![over]).await.expect("it is taken");
    let events = world.history(SPACE, "w").await;
    assert_eq!(kinds(&events).last(), Some(&"WORKFLOW_EXECUTION_CANCELED"));
    let count = CountWorkflowExecutionsRequest { namespace: SPACE.into(), query: String::new() };
    let count: CountWorkflowExecutionsResponse = world.call(count).await.expect("a count");
    assert_eq!(count.count, 3, "no run follows a cancelled one");
}

/// What is no schedule starts nothing.
#[tokio::test]
async fn a_wrong_schedule_is_refused() {
    let world = World::new().await;
    for wrong in ["soon", "* * * *", "0 0 30 2 *", "CRON_TZ=Nowhere/Atall * * * * *"] {
        let begin =
            StartWorkflowExecutionRequest { cron_schedule: wrong.into(), ..start(SPACE, "w") };
        let begun: Result<StartWorkflowExecutionResponse, _> = world.call(begin).await;
        assert_eq!(begun.expect_err("it does not read").code(), Code::InvalidArgument, "{wrong}");
    }
    let both = StartWorkflowExecutionRequest {
        cron_schedule: "@daily".into(),
        workflow_start_delay: Some(seconds(5)),
        ..start(SPACE, "w")
    };
    let begun: Result<StartWorkflowExecutionResponse, _> = world.call(both).await;
    assert_eq!(begun.expect_err("one of them is too much").code(), Code::InvalidArgument);
}
