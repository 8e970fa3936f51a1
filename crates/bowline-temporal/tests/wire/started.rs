//! The first event of a run says what its starter said, and nothing else; and what was said of how
//! urgent a run is, and what it is about, holds for all that follows from it.

use temporalio_protos::temporal::api::{
    command::v1::{
        Command, FailWorkflowExecutionCommandAttributes,
        StartChildWorkflowExecutionCommandAttributes, command::Attributes,
    },
    common::v1::{Header, Payload, Priority, RetryPolicy, WorkflowType},
    enums::v1::CommandType,
    failure::v1::Failure,
    history::v1::{
        HistoryEvent, WorkflowExecutionStartedEventAttributes, history_event::Attributes as Told,
    },
    sdk::v1::UserMetadata,
    workflowservice::v1::*,
};

use crate::world::{QUEUE, SPACE, World, command, go_on, queue, seconds, start};

fn first(events: &[HistoryEvent]) -> WorkflowExecutionStartedEventAttributes {
    match events.first().and_then(|event| event.attributes.clone()) {
        Some(Told::WorkflowExecutionStartedEventAttributes(started)) => started,
        other => panic!("not a start: {other:?}"),
    }
}

#[tokio::test]
async fn limits_that_nobody_gave_are_absent() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let started = first(&world.history(SPACE, "w").await);
    assert_eq!(started.workflow_execution_timeout, None);
    assert_eq!(started.workflow_run_timeout, None);
    assert_eq!(started.workflow_task_timeout, Some(seconds(10)));
    let bounded = StartWorkflowExecutionRequest {
        workflow_execution_timeout: Some(seconds(60)),
        ..start(SPACE, "bounded")
    };
    world.start(bounded).await;
    let started = first(&world.history(SPACE, "bounded").await);
    assert_eq!(started.workflow_execution_timeout, Some(seconds(60)));
    assert_eq!(started.workflow_run_timeout, Some(seconds(60)), "the whole bounds its runs");
}

/// SDKs tell a header with nothing in it from none.
#[tokio::test]
async fn an_empty_header_is_told_where_it_was_sent() {
    let world = World::new().await;
    world.start(start(SPACE, "none")).await;
    assert_eq!(first(&world.history(SPACE, "none").await).header, None);
    let header = Some(Header::default());
    world.start(StartWorkflowExecutionRequest { header, ..start(SPACE, "empty") }).await;
    let started = first(&world.history(SPACE, "empty").await);
    assert_eq!(started.header, Some(Header::default()));
}

/// Some programs ask for the shortest pause there is. Replay compares it.
#[tokio::test]
async fn intervals_below_a_microsecond_are_told_as_they_were_given() {
    let world = World::new().await;
    let nanos = |nanos| Some(prost_wkt_types::Duration { seconds: 0, nanos });
    let policy = RetryPolicy {
        initial_interval: nanos(1),
        maximum_interval: nanos(1_500),
        backoff_coefficient: 1.0,
        ..Default::default()
    };
    let retry_policy = Some(policy.clone());
    world.start(StartWorkflowExecutionRequest { retry_policy, ..start(SPACE, "w") }).await;
    // Another process has nothing but what is stored.
    let world = world.restart().await;
    assert_eq!(first(&world.history(SPACE, "w").await).retry_policy, Some(policy));
}

fn urgent() -> Priority {
    Priority { priority_key: 2, ..Default::default() }
}

fn about() -> UserMetadata {
    let payload = |text: &str| Payload { data: text.into(), ..Default::default() };
    UserMetadata { summary: Some(payload("short")), details: Some(payload("long")) }
}

#[track_caller]
fn check(events: &[HistoryEvent]) {
    assert_eq!(first(events).priority, Some(urgent()));
    assert_eq!(events[0].user_metadata, Some(about()));
}

#[tokio::test]
async fn a_child_has_the_priority_and_summary_that_its_parent_gave() {
    let world = World::new().await;
    world.start(start(SPACE, "parent")).await;
    let turn = world.turn(SPACE).await;
    let child = StartChildWorkflowExecutionCommandAttributes {
        workflow_id: "child".into(),
        workflow_type: Some(WorkflowType { name: "child".into() }),
        task_queue: Some(queue(QUEUE)),
        priority: Some(urgent()),
        ..Default::default()
    };
    let attributes = Attributes::StartChildWorkflowExecutionCommandAttributes(child);
    let child = Command {
        user_metadata: Some(about()),
        ..command(CommandType::StartChildWorkflowExecution, attributes)
    };
    world.answer(SPACE, &turn, vec![child]).await.expect("it is taken");
    // Whose turn it is does not matter: the child is there when one of the two has been seen.
    loop {
        let turn = world.turn(SPACE).await;
        if turn.workflow_type.is_some_and(|named| named.name == "child") {
            break;
        }
    }
    check(&world.history(SPACE, "child").await);
}

fn said(id: &str) -> StartWorkflowExecutionRequest {
    StartWorkflowExecutionRequest {
        priority: Some(urgent()),
        user_metadata: Some(about()),
        ..start(SPACE, id)
    }
}

#[tokio::test]
async fn what_follows_a_run_has_its_priority_and_summary() {
    let world = World::new().await;
    let begun = world.start(said("w")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![go_on()]).await.expect("it is taken");
    let events = world.history(SPACE, "w").await;
    assert_eq!(first(&events).continued_execution_run_id, begun);
    check(&events);
}

/// A loop that does nothing but continue as new goes round once in a second, as in Temporal.
#[tokio::test]
async fn a_run_that_follows_at_once_waits_for_the_rest_of_a_second() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![go_on()]).await.expect("it is taken");
    let events = world.history(SPACE, "w").await;
    let waits = first(&events).first_workflow_task_backoff.expect("it waits");
    assert_eq!(waits.seconds, 0, "{waits:?}");
    assert!(waits.nanos > 0, "{waits:?}");
    let turn = world.turn(SPACE).await;
    let events = turn.history.expect("a history").events;
    let at = |n: usize| std::time::SystemTime::try_from(events[n].event_time.expect("a time"));
    let (begun, scheduled) = (at(0).expect("a time"), at(1).expect("a time"));
    let nanos = u64::try_from(waits.nanos).expect("positive");
    let waited = scheduled.duration_since(begun).expect("in order");
    assert!(waited >= std::time::Duration::from_nanos(nanos), "{waited:?}");
}

#[tokio::test]
async fn another_attempt_of_a_run_has_its_priority_and_summary() {
    let world = World::new().await;
    let policy = RetryPolicy { initial_interval: Some(seconds(1)), ..Default::default() };
    let begun = StartWorkflowExecutionRequest { retry_policy: Some(policy), ..said("w") };
    let begun = world.start(begun).await;
    let turn = world.turn(SPACE).await;
    let failure = Some(Failure { message: "no".into(), ..Default::default() });
    let fails = FailWorkflowExecutionCommandAttributes { failure };
    let attributes = Attributes::FailWorkflowExecutionCommandAttributes(fails);
    let fails = command(CommandType::FailWorkflowExecution, attributes);
    world.answer(SPACE, &turn, vec![fails]).await.expect("it is taken");
    let events = world.history(SPACE, "w").await;
    assert_eq!(first(&events).continued_execution_run_id, begun);
    check(&events);
}
