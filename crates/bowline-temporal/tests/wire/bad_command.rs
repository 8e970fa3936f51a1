//! Commands that cannot be carried out: the turn fails with a cause that history keeps, so that the
//! worker sees why, and does not get the same turn again when its time is up.

use std::collections::HashMap;

use temporalio_protos::temporal::api::{
    command::v1::{
        Command, RequestCancelExternalWorkflowExecutionCommandAttributes,
        SignalExternalWorkflowExecutionCommandAttributes,
        UpsertWorkflowSearchAttributesCommandAttributes, command::Attributes,
    },
    common::v1::{Payload, SearchAttributes, WorkflowExecution},
    enums::v1::{CommandType, WorkflowTaskFailedCause as Cause},
    history::v1::history_event::Attributes as Told,
    workflowservice::v1::*,
};
use tonic::Code;

use crate::world::{SPACE, World, complete, kinds, start};

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
    Command {
        command_type: CommandType::UpsertWorkflowSearchAttributes.into(),
        attributes: Some(Attributes::UpsertWorkflowSearchAttributesCommandAttributes(upsert)),
        ..Default::default()
    }
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
    Command {
        command_type: CommandType::SignalExternalWorkflowExecution.into(),
        attributes: Some(Attributes::SignalExternalWorkflowExecutionCommandAttributes(signal)),
        ..Default::default()
    }
}

#[allow(deprecated)]
fn cancel(namespace: &str, run: &str) -> Command {
    let cancel = RequestCancelExternalWorkflowExecutionCommandAttributes {
        namespace: namespace.into(),
        workflow_id: "other".into(),
        run_id: run.into(),
        ..Default::default()
    };
    Command {
        command_type: CommandType::RequestCancelExternalWorkflowExecution.into(),
        attributes: Some(Attributes::RequestCancelExternalWorkflowExecutionCommandAttributes(
            cancel,
        )),
        ..Default::default()
    }
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
    let larger = format!("[\"{}\"]", "p".repeat(2_049));
    let upsert = searched("TemporalChangeVersion", "KeywordList", &larger);
    let refused = world.answer(SPACE, &turn, vec![upsert]).await;
    assert_eq!(refused.expect_err("it does not").code(), Code::InvalidArgument);
    assert_eq!(cause(&world, "large").await, Cause::BadSearchAttributes);
}
