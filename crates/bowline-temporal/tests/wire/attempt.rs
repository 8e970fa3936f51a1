//! Attempts of an activity: when each was due, began and ended, which limit it passed, and what the
//! next one and its run are told of it.

use temporalio_protos::temporal::api::{
    command::v1::ScheduleActivityTaskCommandAttributes,
    common::v1::{ActivityType, RetryPolicy},
    enums::v1::{RetryState, TimeoutType},
    failure::v1::{Failure, failure::FailureInfo},
    history::v1::{
        ActivityTaskTimedOutEventAttributes, HistoryEvent, history_event::Attributes as Told,
    },
    workflow::v1::PendingActivityInfo,
    workflowservice::v1::*,
};

use crate::world::{QUEUE, SPACE, World, named, queue, scheduled, seconds, start};

fn short() -> prost_wkt_types::Duration {
    prost_wkt_types::Duration { seconds: 0, nanos: 50_000_000 }
}

/// An activity that is tried so often, with such a pause before the second time.
fn tried(attempts: i32, pause: prost_wkt_types::Duration) -> ScheduleActivityTaskCommandAttributes {
    ScheduleActivityTaskCommandAttributes {
        activity_id: "a".into(),
        activity_type: Some(ActivityType { name: "work".into() }),
        task_queue: Some(queue(QUEUE)),
        start_to_close_timeout: Some(seconds(60)),
        retry_policy: Some(RetryPolicy {
            initial_interval: Some(pause),
            maximum_attempts: attempts,
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// A run that has asked for an activity.
async fn asked(activity: ScheduleActivityTaskCommandAttributes) -> World {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    world.answer(SPACE, &turn, vec![scheduled(activity)]).await.expect("it is taken");
    world
}

async fn fail(world: &World, taken: PollActivityTaskQueueResponse) {
    let failed = RespondActivityTaskFailedRequest {
        namespace: SPACE.into(),
        task_token: taken.task_token,
        ..Default::default()
    };
    let _: RespondActivityTaskFailedResponse = world.call(failed).await.expect("it is taken");
}

async fn pending(world: &World) -> PendingActivityInfo {
    let describe =
        DescribeWorkflowExecutionRequest { namespace: SPACE.into(), execution: Some(named("w")) };
    let told: DescribeWorkflowExecutionResponse = world.call(describe).await.expect("it is there");
    let [pending] = &told.pending_activities[..] else { panic!("one is pending: {told:?}") };
    pending.clone()
}

/// What the run is told of its activity, once it is over.
async fn told(world: &World) -> Vec<HistoryEvent> {
    world.turn(SPACE).await.history.expect("a history").events
}

fn timed_out(events: &[HistoryEvent]) -> ActivityTaskTimedOutEventAttributes {
    let mut ends = events.iter().filter_map(|event| match event.attributes.clone()? {
        Told::ActivityTaskTimedOutEventAttributes(told) => Some(told),
        _ => None,
    });
    ends.next_back().expect("it has passed a limit")
}

#[track_caller]
fn limit(failure: &Failure) -> TimeoutType {
    match &failure.failure_info {
        Some(FailureInfo::TimeoutFailureInfo(info)) => info.timeout_type(),
        other => panic!("not a passed limit: {other:?}"),
    }
}

/// An activity that begins in the moment in which it is asked for, and may take as long as an
/// attempt of it: both limits pass together.
#[tokio::test]
async fn the_limit_of_all_attempts_counts_where_two_pass_together() {
    let world = World::new().await;
    world.start(start(SPACE, "w")).await;
    let turn = world.turn(SPACE).await;
    let activity = ScheduleActivityTaskCommandAttributes {
        schedule_to_close_timeout: Some(short()),
        start_to_close_timeout: Some(short()),
        request_eager_execution: true,
        ..tried(1, seconds(1))
    };
    let eager = world.answer(SPACE, &turn, vec![scheduled(activity)]).await.expect("it is taken");
    assert_eq!(eager.activity_tasks.len(), 1, "it begins at once");
    let end = timed_out(&told(&world).await);
    let failure = end.failure.clone().expect("a failure");
    assert_eq!(limit(&failure), TimeoutType::ScheduleToClose);
    assert_eq!(failure.message, "activity ScheduleToClose timeout");
    assert_eq!(end.retry_state(), RetryState::NonRetryableFailure);
}

/// There would be another attempt, if there were time for it.
#[tokio::test]
async fn an_attempt_that_leaves_no_time_for_another_has_passed_the_limit_of_all() {
    let world = asked(ScheduleActivityTaskCommandAttributes {
        schedule_to_close_timeout: Some(seconds(600)),
        start_to_close_timeout: Some(short()),
        ..tried(5, seconds(3_600))
    });
    let world = world.await;
    world.activity(SPACE).await;
    let end = timed_out(&told(&world).await);
    let failure = end.failure.clone().expect("a failure");
    assert_eq!(limit(&failure), TimeoutType::ScheduleToClose);
    assert!(failure.message.contains("no time is left"), "{}", failure.message);
    assert_eq!(end.retry_state(), RetryState::Timeout);
}

#[tokio::test]
async fn a_limit_that_an_earlier_attempt_passed_is_told_as_one() {
    let world = asked(ScheduleActivityTaskCommandAttributes {
        start_to_close_timeout: Some(short()),
        ..tried(2, short())
    });
    let world = world.await;
    world.activity(SPACE).await;
    assert_eq!(world.activity(SPACE).await.attempt, 2);
    let events = told(&world).await;
    let before = events.iter().find_map(|event| match event.attributes.as_ref()? {
        Told::ActivityTaskStartedEventAttributes(began) => began.last_failure.clone(),
        _ => None,
    });
    assert_eq!(limit(&before.expect("how the first ended")), TimeoutType::StartToClose);
    let end = timed_out(&events);
    assert_eq!(end.retry_state(), RetryState::MaximumAttemptsReached);
    let failure = end.failure.expect("a failure");
    assert_eq!(limit(&failure), TimeoutType::StartToClose);
    let cause = failure.cause.expect("what it followed from");
    assert_eq!(limit(&cause), TimeoutType::StartToClose);
    assert_eq!(cause.message, "activity StartToClose timeout");
    assert_eq!(cause.source, "Server");
}

#[tokio::test]
async fn the_start_of_an_activity_has_the_time_of_its_start() {
    let world = asked(tried(1, seconds(1))).await;
    let taken = world.activity(SPACE).await;
    assert_eq!(taken.current_attempt_scheduled_time, taken.scheduled_time);
    fail(&world, taken.clone()).await;
    let events = told(&world).await;
    let began = events.iter().find_map(|event| match event.attributes.as_ref()? {
        Told::ActivityTaskStartedEventAttributes(_) => event.event_time,
        _ => None,
    });
    assert_eq!(began, taken.started_time);
}

#[tokio::test]
async fn between_attempts_both_of_them_are_told() {
    let world = asked(tried(5, seconds(3_600))).await;
    let taken = world.activity(SPACE).await;
    let running = pending(&world).await;
    assert_eq!((running.attempt, running.last_started_time), (1, taken.started_time));
    assert_eq!(running.scheduled_time, taken.scheduled_time);
    assert_eq!(running.last_heartbeat_time, None, "nothing was heard of it");
    fail(&world, taken.clone()).await;
    let waits = pending(&world).await;
    assert_eq!((waits.attempt, waits.last_started_time), (2, taken.started_time));
    assert_eq!(waits.current_retry_interval, Some(seconds(3_600)));
    assert_eq!(waits.scheduled_time, waits.next_attempt_schedule_time);
    let ended = waits.last_attempt_complete_time.expect("the first has ended");
    assert_eq!(waits.next_attempt_schedule_time.expect("a time").seconds - ended.seconds, 3_600);
}

/// How long an attempt waited for a worker is counted from when it was due.
#[tokio::test]
async fn an_attempt_knows_when_it_was_due() {
    let world = asked(tried(5, short())).await;
    let first = world.activity(SPACE).await;
    fail(&world, first.clone()).await;
    let due = pending(&world).await.scheduled_time;
    let second = world.activity(SPACE).await;
    assert_eq!(second.attempt, 2);
    assert_eq!(second.current_attempt_scheduled_time, due);
    assert_eq!(second.scheduled_time, first.scheduled_time, "that is of all attempts");
}
