//! What clients are told about activities, workers and the server, in the words that they know.

use prost::Message;
use temporalio_protos::temporal::api::{
    command::v1::ScheduleActivityTaskCommandAttributes,
    common::v1::{ActivityType, Payload, Payloads, RetryPolicy},
    deployment::v1::WorkerDeploymentOptions,
    enums::v1::{TimeoutType, WorkerVersioningMode},
    failure::v1::{Failure, failure::FailureInfo},
    history::v1::history_event::Attributes as Told,
    workflowservice::v1::*,
};

use crate::world::{QUEUE, SPACE, World, complete, named, queue, scheduled, seconds, start};

fn short() -> prost_wkt_types::Duration {
    prost_wkt_types::Duration { seconds: 0, nanos: 50_000_000 }
}

fn tried(attempts: i32) -> ScheduleActivityTaskCommandAttributes {
    ScheduleActivityTaskCommandAttributes {
        activity_id: "a".into(),
        activity_type: Some(ActivityType { name: "work".into() }),
        task_queue: Some(queue(QUEUE)),
        retry_policy: Some(RetryPolicy {
            initial_interval: Some(seconds(3_600)),
            maximum_attempts: attempts,
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The failure of the activity that has passed a limit, once its run has heard of it.
async fn timed_out(activity: ScheduleActivityTaskCommandAttributes) -> Failure {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![scheduled(activity)]).await.expect("it is taken");
    world.activity(SPACE).await;
    let turn = world.turn(SPACE).await;
    let events = turn.history.expect("a history").events;
    let mut failures = events.into_iter().filter_map(|event| match event.attributes? {
        Told::ActivityTaskTimedOutEventAttributes(told) => told.failure,
        _ => None,
    });
    failures.next_back().expect("it has passed its limit")
}

fn kind(failure: &Failure) -> TimeoutType {
    match &failure.failure_info {
        Some(FailureInfo::TimeoutFailureInfo(info)) => info.timeout_type(),
        other => panic!("not a passed limit: {other:?}"),
    }
}

#[tokio::test]
async fn a_passed_limit_is_named_in_the_message() {
    let one =
        ScheduleActivityTaskCommandAttributes { start_to_close_timeout: Some(short()), ..tried(1) };
    let failure = timed_out(one).await;
    assert_eq!(failure.message, "activity StartToClose timeout");
    assert_eq!(kind(&failure), TimeoutType::StartToClose);
}

#[tokio::test]
async fn an_activity_that_waits_for_its_next_attempt_shows_that_attempt() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    let activity = ScheduleActivityTaskCommandAttributes {
        start_to_close_timeout: Some(seconds(60)),
        ..tried(5)
    };
    world.answer(SPACE, &turn, vec![scheduled(activity)]).await.expect("it is taken");
    let taken = world.activity(SPACE).await;
    let failed = RespondActivityTaskFailedRequest {
        namespace: SPACE.into(),
        task_token: taken.task_token,
        ..Default::default()
    };
    let _: RespondActivityTaskFailedResponse = world.call(failed).await.expect("it is taken");
    let describe =
        DescribeWorkflowExecutionRequest { namespace: SPACE.into(), execution: Some(named("w")) };
    let told: DescribeWorkflowExecutionResponse = world.call(describe).await.expect("it is there");
    let [pending] = &told.pending_activities[..] else { panic!("one is pending: {told:?}") };
    assert_eq!(pending.attempt, 2, "the one that it waits for");
}

/// A worker that takes no part in versioning has a build, and no deployment version.
#[tokio::test]
#[allow(deprecated)]
async fn the_build_of_an_unversioned_worker_is_told() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    let answer = RespondWorkflowTaskCompletedRequest {
        namespace: SPACE.into(),
        task_token: turn.task_token,
        binary_checksum: "build".into(),
        deployment_options: Some(WorkerDeploymentOptions {
            deployment_name: "fleet".into(),
            build_id: "build".into(),
            worker_versioning_mode: WorkerVersioningMode::Unversioned.into(),
        }),
        commands: vec![complete()],
        ..Default::default()
    };
    let _: RespondWorkflowTaskCompletedResponse = world.call(answer).await.expect("it is taken");
    let events = world.history(SPACE, "w").await;
    let told = events.into_iter().find_map(|event| match event.attributes? {
        Told::WorkflowTaskCompletedEventAttributes(told) => Some(told),
        _ => None,
    });
    let told = told.expect("it is completed");
    assert_eq!(told.deployment_version, None);
    assert_eq!(told.worker_deployment_name, "fleet");
    assert_eq!(told.worker_version.expect("its build").build_id, "build");
}

/// Code decides by the size of its history, so that is what its worker is sent, nearly.
#[tokio::test]
async fn the_size_of_a_history_is_that_of_what_is_sent() {
    let world = World::new().await;
    let about = |text: &str| Payload { data: text.into(), ..Default::default() };
    let input = Some(Payloads { payloads: vec![about("some input of the run")] });
    let begun = StartWorkflowExecutionRequest {
        input: input.clone(),
        identity: "client@host".into(),
        ..start(SPACE, "some-workflow-id")
    };
    world.start(begun).await;
    for n in 0..20 {
        let turn = world.turn(SPACE).await;
        let events = turn.history.as_ref().expect("a history").events.clone();
        let sent: usize = events.iter().map(|event| event.encoded_len() + 3).sum();
        let own = events.last().expect("a start of the turn").encoded_len() + 3;
        let told = events.last().and_then(|event| match event.attributes.as_ref()? {
            Told::WorkflowTaskStartedEventAttributes(told) => Some(told.history_size_bytes),
            _ => None,
        });
        let told = usize::try_from(told.expect("a size")).expect("positive");
        let before = sent - own;
        assert!(told * 10 > before * 9 && told * 9 < before * 10, "{told} of {before} after {n}");
        let activity = ScheduleActivityTaskCommandAttributes {
            activity_id: n.to_string(),
            input: input.clone(),
            ..tried(1)
        };
        let activity = ScheduleActivityTaskCommandAttributes {
            start_to_close_timeout: Some(seconds(60)),
            ..activity
        };
        world.answer(SPACE, &turn, vec![scheduled(activity)]).await.expect("it is taken");
        let taken = world.activity(SPACE).await;
        let done = RespondActivityTaskCompletedRequest {
            namespace: SPACE.into(),
            task_token: taken.task_token,
            result: input.clone(),
            identity: "worker".into(),
            ..Default::default()
        };
        let _: RespondActivityTaskCompletedResponse = world.call(done).await.expect("it is taken");
    }
}

/// Temporal's tools compare the version to see what a server can do.
#[tokio::test]
async fn the_version_is_one_that_clients_understand() {
    let world = World::new().await;
    let told: GetSystemInfoResponse =
        world.call(GetSystemInfoRequest::default()).await.expect("an answer");
    assert_eq!(told.server_version, "1.32.0");
    let told: GetClusterInfoResponse =
        world.call(GetClusterInfoRequest::default()).await.expect("an answer");
    assert_eq!(told.server_version, "1.32.0");
    assert!(told.persistence_store.starts_with("bowline "), "{}", told.persistence_store);
}
