//! Commands that cannot be carried out: the turn fails with a cause that history keeps, so that the
//! worker sees why, and does not get the same turn again when its time is up.

use std::collections::HashMap;

use temporalio_protos::temporal::api::{
    command::v1::{
        Command, FailWorkflowExecutionCommandAttributes,
        RequestCancelExternalWorkflowExecutionCommandAttributes,
        RequestCancelNexusOperationCommandAttributes, ScheduleNexusOperationCommandAttributes,
        SignalExternalWorkflowExecutionCommandAttributes,
        UpsertWorkflowSearchAttributesCommandAttributes, command::Attributes,
    },
    common::v1::{Payload, SearchAttributes, WorkflowExecution},
    enums::v1::{CommandType, PendingWorkflowTaskState, WorkflowTaskFailedCause as Cause},
    history::v1::history_event::Attributes as Told,
    workflowservice::v1::*,
};
use tonic::Code;

use crate::world::{SPACE, World, command, complete, kinds, named, start};

fn searched(name: &str, kind: &str, data: &str) -> Command {
    let metadata = HashMap::from([
        ("encoding".to_owned(), b"json/plain".to_vec()),
        ("type".to_owned(), kind.as_bytes().to_vec()),
    ]);
    let payload = Payload { metadata, data: data.into(), ..Default::default() };
    let upsert = UpsertWorkflowSearchAttributesCommandAttributes {
        search_attributes: Some(SearchAttributes {
            indexed_fields: HashMap::from([(name.to_owned(), payload)]),
        }),
    };
    command(
        CommandType::UpsertWorkflowSearchAttributes,
        Attributes::UpsertWorkflowSearchAttributesCommandAttributes(upsert),
    )
}

#[allow(deprecated)]
fn signal(namespace: &str, run: &str) -> Command {
    let to = WorkflowExecution { workflow_id: "other".into(), run_id: run.into() };
    let signal = SignalExternalWorkflowExecutionCommandAttributes {
        namespace: namespace.into(),
        execution: Some(to),
        signal_name: "hello".into(),
        ..Default::default()
    };
    command(
        CommandType::SignalExternalWorkflowExecution,
        Attributes::SignalExternalWorkflowExecutionCommandAttributes(signal),
    )
}

#[allow(deprecated)]
fn cancel(namespace: &str, run: &str) -> Command {
    let cancel = RequestCancelExternalWorkflowExecutionCommandAttributes {
        namespace: namespace.into(),
        workflow_id: "other".into(),
        run_id: run.into(),
        ..Default::default()
    };
    command(
        CommandType::RequestCancelExternalWorkflowExecution,
        Attributes::RequestCancelExternalWorkflowExecutionCommandAttributes(cancel),
    )
}

fn nexus() -> Command {
    let operation = ScheduleNexusOperationCommandAttributes {
        endpoint: "nowhere".into(),
        service: "service".into(),
        operation: "operation".into(),
        ..Default::default()
    };
    command(
        CommandType::ScheduleNexusOperation,
        Attributes::ScheduleNexusOperationCommandAttributes(operation),
    )
}

fn nexus_cancel() -> Command {
    let cancel = RequestCancelNexusOperationCommandAttributes { scheduled_event_id: 5 };
    command(
        CommandType::RequestCancelNexusOperation,
        Attributes::RequestCancelNexusOperationCommandAttributes(cancel),
    )
}

fn fails_without_failure() -> Command {
    let fail = FailWorkflowExecutionCommandAttributes::default();
    command(
        CommandType::FailWorkflowExecution,
        Attributes::FailWorkflowExecutionCommandAttributes(fail),
    )
}

/// A command that says what it is, and nothing else.
fn empty(kind: i32) -> Command {
    Command { command_type: kind, ..Default::default() }
}

/// The cause of the failed turn at the end of a history.
async fn cause(world: &World, id: &str) -> Cause {
    let events = world.history(SPACE, id).await;
    let mut causes = events.iter().filter_map(|event| match event.attributes.as_ref()? {
        Told::WorkflowTaskFailedEventAttributes(failed) => Some(failed.cause()),
        _ => None,
    });
    causes.next_back().unwrap_or_else(|| panic!("no turn failed: {:?}", kinds(&events)))
}

#[tokio::test]
async fn a_command_that_does_not_read_fails_its_turn_with_a_cause() {
    for (bad, expected) in [
        (searched("Total", "Int", "\"many\""), Cause::BadSearchAttributes),
        (signal("", "no-run-id"), Cause::BadSignalWorkflowExecutionAttributes),
        (signal("elsewhere", ""), Cause::BadSignalWorkflowExecutionAttributes),
        (cancel("", "no-run-id"), Cause::BadRequestCancelExternalWorkflowExecutionAttributes),
        (cancel("elsewhere", ""), Cause::BadRequestCancelExternalWorkflowExecutionAttributes),
        (searched("WorkflowId", "Keyword", "\"mine\""), Cause::BadSearchAttributes),
        (nexus(), Cause::BadScheduleNexusOperationAttributes),
        (nexus_cancel(), Cause::BadRequestCancelNexusOperationAttributes),
        (fails_without_failure(), Cause::BadFailWorkflowExecutionAttributes),
        (empty(CommandType::StartTimer.into()), Cause::BadStartTimerAttributes),
        (empty(CommandType::RecordMarker.into()), Cause::BadRecordMarkerAttributes),
        (empty(999), Cause::FeatureDisabled),
    ] {
        let world = World::new().await;
        world.start(start(SPACE, "w")).await;
        let turn = world.turn(SPACE).await;
        let answered = world.answer(SPACE, &turn, vec![bad]).await;
        let status = answered.expect_err("it cannot be carried out");
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert_eq!(cause(&world, "w").await, expected, "{status}");
        // The next attempt is there at once, and its answer counts.
        let again = world.turn(SPACE).await;
        assert_eq!(again.attempt, 2);
        world.answer(SPACE, &again, vec![complete()]).await.expect("it is taken");
    }
}

/// A later attempt that asks for the same is left until its time is up: otherwise worker and server
/// would go round as fast as they can.
#[tokio::test]
async fn an_answer_that_is_bad_again_is_left_to_time_out() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![nexus()]).await.expect_err("there is no Nexus");
    let again = world.turn(SPACE).await;
    let status = world.answer(SPACE, &again, vec![nexus()]).await.expect_err("there is none yet");
    assert!(status.message().starts_with("BadScheduleNexusOperationAttributes: "), "{status}");
    let describe =
        DescribeWorkflowExecutionRequest { namespace: SPACE.into(), execution: Some(named("w")) };
    let told: DescribeWorkflowExecutionResponse = world.call(describe).await.expect("it is there");
    let out = told.pending_workflow_task.expect("a turn");
    assert_eq!((out.state(), out.attempt), (PendingWorkflowTaskState::Started, 2));
    let events = world.history(SPACE, "w").await;
    let failed: Vec<_> = events
        .iter()
        .filter_map(|event| match event.attributes.as_ref()? {
            Told::WorkflowTaskFailedEventAttributes(failed) => failed.failure.as_ref(),
            _ => None,
        })
        .collect();
    assert_eq!(failed.len(), 1, "{:?}", kinds(&events));
    assert!(failed[0].message.starts_with("BadScheduleNexusOperationAttributes: "), "{failed:?}");
}

/// A cause is kept as the worker gives it, also one that decides nothing here.
#[tokio::test]
async fn the_cause_that_a_worker_gives_is_kept() {
    for given in [
        Cause::GrpcMessageTooLarge,
        Cause::PayloadsTooLarge,
        Cause::NonDeterministicError,
        Cause::WorkflowWorkerUnhandledFailure,
    ] {
        let world = World::new().await;
        world.start(start(SPACE, "w")).await;
        let turn = world.turn(SPACE).await;
        let failed = RespondWorkflowTaskFailedRequest {
            namespace: SPACE.into(),
            task_token: turn.task_token,
            cause: given.into(),
            identity: "worker".into(),
            ..Default::default()
        };
        let _: RespondWorkflowTaskFailedResponse = world.call(failed).await.expect("it is taken");
        assert_eq!(cause(&world, "w").await, given);
    }
}

/// What counts is the value, not what travels around it: an SDK keeps the list of a run's patches
/// just below the bound, and would never get further.
#[tokio::test]
async fn a_search_attribute_just_below_the_bound_is_taken() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    let patches = format!("[\"{}\"]", "p".repeat(2_044));
    let upsert = searched("TemporalChangeVersion", "KeywordList", &patches);
    world.answer(SPACE, &turn, vec![upsert, complete()]).await.expect("it fits");
    world.start(start(SPACE, "large")).await;
    let turn = world.turn(SPACE).await;
    let larger = format!("[\"{}\"]", "p".repeat(2_045));
    let upsert = searched("TemporalChangeVersion", "KeywordList", &larger);
    let refused = world.answer(SPACE, &turn, vec![upsert]).await;
    assert_eq!(refused.expect_err("it does not").code(), Code::InvalidArgument);
    assert_eq!(cause(&world, "large").await, Cause::BadSearchAttributes);
    // The code would ask for the same again.
    assert!(terminated(&world, "large").await.contains("more than 2048"));
}

/// Many that are small enough, each by itself, are too large together.
#[tokio::test]
async fn search_attributes_have_a_bound_together() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    let text = format!("\"{}\"", "k".repeat(2_000));
    let upserts = |n: usize| (0..n).map(|n| searched(&format!("Key{n}"), "Keyword", &text));
    world.answer(SPACE, &turn, upserts(19).chain([complete()]).collect()).await.expect("they fit");
    world.start(start(SPACE, "large")).await;
    let turn = world.turn(SPACE).await;
    let refused = world.answer(SPACE, &turn, upserts(21).collect()).await;
    assert_eq!(refused.expect_err("they do not").code(), Code::InvalidArgument);
    assert_eq!(cause(&world, "large").await, Cause::BadSearchAttributes);
    assert!(terminated(&world, "large").await.contains("40 KiB"));
}

/// The reason for which a run was terminated.
async fn terminated(world: &World, id: &str) -> String {
    let events = world.history(SPACE, id).await;
    match events.last().and_then(|event| event.attributes.clone()) {
        Some(Told::WorkflowExecutionTerminatedEventAttributes(told)) => told.reason,
        _ => panic!("not terminated: {:?}", kinds(&events)),
    }
}

/// An answer that is too large to be sent would be so again.
#[tokio::test]
async fn a_run_whose_answer_is_too_large_to_be_sent_is_terminated() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    let failed = RespondWorkflowTaskFailedRequest {
        namespace: SPACE.into(),
        task_token: turn.task_token,
        cause: Cause::GrpcMessageTooLarge.into(),
        identity: "worker".into(),
        ..Default::default()
    };
    let _: RespondWorkflowTaskFailedResponse = world.call(failed).await.expect("it is taken");
    assert_eq!(cause(&world, "w").await, Cause::GrpcMessageTooLarge);
    assert_eq!(terminated(&world, "w").await, "GrpcMessageTooLarge");
}
