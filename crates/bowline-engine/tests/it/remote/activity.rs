//! Activities at a remote worker: limits that the store keeps, stops that are pushed, and tokens
//! of other attempts.

use std::time::Duration;

use bowline_core::{
    ActivitySpec, Asked, Code as CauseCode, Command, Ending, EventKind, Payload, Queue,
    RetryPolicy, Rules, RunId, Span, StartTurn, Timeouts, TurnAnswer, limits::PAYLOAD_MAX,
};
use bowline_engine::{Engine, RemoteActivity, RemoteHeartbeat, StartOptions, Taken};

use crate::{
    support::{flows::Flows, stage},
    world::{World, history, kinds, until, within},
};

crate::world::on_every_store! {
    r15_an_attempt_that_times_out_is_stopped_and_tried_again,
    heartbeats_keep_a_remote_attempt_alive_and_hand_progress_on,
}

const SECOND: Duration = Duration::from_secs(1);

/// A remote run with one activity in the queue.
async fn scheduled(engine: &Engine, timeouts: Timeouts, retry: Option<RetryPolicy>) -> RunId {
    let mut options = StartOptions::new("remote", "r-1", "sdk", None);
    options.started.rules = Rules::REMOTE;
    let run = engine.start(options).await.expect("the run starts");
    let (queue, until) = (Queue::from("sdk"), engine.now().after(60 * SECOND));
    let turn = engine.poll_turn(&queue, StartTurn::default(), until).await;
    let turn = turn.expect("answered").and_then(Taken::turn).expect("there is a turn");
    let (id, name, queue) = ("a".into(), "work".into(), "sdk".into());
    let spec =
        ActivitySpec { id, name, queue, remote: true, timeouts, retry, ..ActivitySpec::default() };
    let asked = vec![Asked::from(Command::ScheduleActivity(Box::new(spec)))];
    let answer = |token| TurnAnswer::new(token, asked.clone());
    engine.answer_turn(turn.token.as_slice(), answer, None).await.expect("taken");
    run
}

async fn poll(engine: &Engine) -> RemoteActivity {
    let (queue, until) = (Queue::from("sdk"), engine.now().after(60 * SECOND));
    let polled = engine.poll_activity(&queue, "worker".into(), "control".into(), until);
    within("an activity", polled).await.expect("answered").expect("there is one")
}

/// An attempt that passes its limit is ended by the store, tried again, and its worker is told to
/// stop over the control channel. Its token is no good any more; the next attempt's is.
async fn r15_an_attempt_that_times_out_is_stopped_and_tried_again(world: World) {
    let engine = world.builder().start().await.expect("starts");
    let timeouts = Timeouts { start_to_close: Some(Span(30 * SECOND)), ..Timeouts::default() };
    let run = scheduled(&engine, timeouts, Some(RetryPolicy::default())).await;
    let first = poll(&engine).await;
    world.advance(30 * SECOND);
    let control = "control".into();
    let notices = within("a notice", engine.poll_control(&control, engine.now().after(SECOND)));
    let notices = notices.await;
    assert_eq!((notices.len(), notices[0].attempt, notices[0].is_cancel), (1, 1, false));
    assert_eq!(notices[0].cause.code, CauseCode::AttemptTimedOut);
    let beat = engine.heartbeat(first.token.as_slice(), None).await.expect("answered");
    assert_eq!(beat, RemoteHeartbeat::Gone);
    world.advance(SECOND);
    let second = poll(&engine).await;
    assert_eq!(second.live.attempt, 2);
    let stale = engine.end_activity(first.token.as_slice(), Ending::Completed(None)).await;
    assert_eq!(stale.expect_err("another attempt's").code(), "bad_token");
    let done = Ending::Completed(Some(Payload::json("2")));
    engine.end_activity(second.token.as_slice(), done).await.expect("taken");
    until(&engine, run, "ActivityCompleted").await;
}

/// A silent attempt times out by its heartbeat limit; one that speaks does not, and what it said
/// reaches the next attempt.
async fn heartbeats_keep_a_remote_attempt_alive_and_hand_progress_on(world: World) {
    let engine = world.builder().start().await.expect("starts");
    let timeouts = Timeouts {
        heartbeat: Some(Span(10 * SECOND)),
        start_to_close: Some(Span(600 * SECOND)),
        ..Timeouts::default()
    };
    let run = scheduled(&engine, timeouts, Some(RetryPolicy::default())).await;
    let first = poll(&engine).await;
    for step in 0..5 {
        world.advance(9 * SECOND);
        let details = Some(Payload::json(step.to_string()));
        let beat = engine.heartbeat(first.token.as_slice(), details).await.expect("answered");
        assert_eq!(beat, RemoteHeartbeat::Alive, "step {step}");
    }
    world.advance(10 * SECOND);
    within("the silent attempt to be over", async {
        while engine.leftovers(run).await.expect("").queued == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.advance(SECOND);
    let second = poll(&engine).await;
    assert_eq!(second.live.heartbeat, Some(Payload::json("4")));
    assert!(!kinds(&engine, run).await.contains(&"ActivityTimedOut"));
}

/// What a worker reports is held to the bound of one payload. Details that are larger are refused,
/// and leave what was said before; a result that is larger fails the activity for good.
#[tokio::test]
async fn what_a_remote_worker_reports_is_held_to_a_bound() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let timeouts = Timeouts { start_to_close: Some(Span(600 * SECOND)), ..Timeouts::default() };
        let run = scheduled(&engine, timeouts, Some(RetryPolicy::default())).await;
        let taken = poll(&engine).await;
        let token = taken.token.as_slice();
        let large = || Some(Payload::json("x".repeat(PAYLOAD_MAX + 1)));
        let most = Some(Payload::json("x".repeat(PAYLOAD_MAX - 1_000)));
        let said = engine.heartbeat(token, most.clone()).await.expect("it fits");
        assert_eq!(said, RemoteHeartbeat::Alive);
        let refused = engine.heartbeat(token, large()).await.expect_err("it does not");
        assert_eq!(refused.code(), "invalid");
        assert!(refused.to_string().contains("2 MiB"), "{refused}");
        engine.end_activity(token, Ending::Completed(large())).await.expect("it is an end");
        until(&engine, run, "ActivityFailed").await;
        let events = history(&engine, run).await;
        let failure = events.iter().find_map(|event| match &event.kind {
            EventKind::ActivityFailed(failed) => Some(failed.failure.clone()),
            _ => None,
        });
        let failure = failure.expect("it failed").to_string();
        assert!(failure.contains("more than 2 MiB"), "{failure}");
    })
    .await;
}
