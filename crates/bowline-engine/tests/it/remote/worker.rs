//! A worker of another kind, played by the test: it polls for turns and activities, and answers.

use std::time::Duration;

use bowline_core::{
    ActivitySpec, Asked, Cause, Command, Ending, Event, EventId, FailTurn, Payload, Queue, Rules,
    RunEnding, RunId, Span, StartTurn, Sticky, Timeouts, TurnAnswer, TurnFault, TurnVerdict,
    UpdateRequest, UpdateStage,
};
use bowline_engine::{
    CancelRequest, Engine, Error, RemoteActivity, RemoteHeartbeat, RemoteTurn, StartOptions, Taken,
};
use bowline_store::Phase;

use crate::{
    support::{flows::Flows, stage},
    world::{World, ending, history, kinds, signal, until, within},
};

crate::world::on_every_store! {
    a_run_that_nobody_polls_shows_what_happened_to_it_at_once,
    a_close_beside_a_waiting_signal_is_refused_and_the_signal_is_seen,
    a_retried_turn_leaves_no_trace_until_it_succeeds,
    a_sticky_turn_goes_back_to_everybody_when_its_worker_is_gone,
    a_termination_does_not_wait_for_the_turn_that_is_out,
    r1_a_cancel_is_pushed_to_a_remote_worker_without_heartbeats,
    tokens_that_were_never_handed_out_are_refused,
    a_refused_update_leaves_no_trace,
}

async fn engine(world: &World) -> Engine {
    world.builder().start().await.expect("the engine starts")
}

async fn start(engine: &Engine, id: &str) -> RunId {
    let mut options = StartOptions::new("remote", id, "sdk", None);
    options.started.rules = Rules::REMOTE;
    engine.start(options).await.expect("the run starts")
}

async fn poll(engine: &Engine, queue: &str) -> RemoteTurn {
    let until = engine.now().after(Duration::from_secs(3600));
    let queue = Queue::from(queue);
    let polled = engine.poll_turn(&queue, StartTurn::default(), until);
    let taken = within("a turn", polled).await.expect("a poll is answered");
    taken.and_then(Taken::turn).expect("there is a turn")
}

async fn poll_activity(engine: &Engine, control: &str) -> RemoteActivity {
    let until = engine.now().after(Duration::from_secs(3600));
    let queue = Queue::from("sdk");
    let polled = engine.poll_activity(&queue, "sdk".into(), control.into(), until);
    within("an activity", polled).await.expect("a poll is answered").expect("there is one")
}

async fn answer(engine: &Engine, turn: &RemoteTurn, commands: Vec<Command>) -> TurnVerdict {
    let commands: Vec<Asked> = commands.into_iter().map(Asked::from).collect();
    let answer = |token| TurnAnswer::new(token, commands.clone());
    let answered = engine.answer_turn(turn.token.as_slice(), answer, None).await;
    answered.expect("the answer is taken").verdict
}

fn schedule(id: &str) -> Command {
    Command::ScheduleActivity(Box::new(ActivitySpec {
        id: id.into(),
        name: "work".into(),
        queue: "sdk".into(),
        remote: true,
        timeouts: Timeouts {
            start_to_close: Some(Span(Duration::from_secs(600))),
            ..Timeouts::default()
        },
        ..ActivitySpec::default()
    }))
}

fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.name()).collect()
}

/// A run that nobody polls shows its start, a signal and a cancel in its history at once.
async fn a_run_that_nobody_polls_shows_what_happened_to_it_at_once(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "alone").await;
    engine.signal(run, signal("hello")).await.expect("taken");
    engine.cancel(run, CancelRequest::new("enough", "alice")).await.expect("taken");
    within("the cancel", until(&engine, run, "WorkflowCancelRequested")).await;
    let expected =
        ["WorkflowStarted", "TurnScheduled", "WorkflowSignalled", "WorkflowCancelRequested"];
    assert_eq!(kinds(&engine, run).await, expected);
}

/// A turn and an activity are out when the process dies. Another process takes their answers,
/// with the old tokens, exactly once; history in between ends where the worker was shown it.
#[tokio::test]
async fn answers_with_old_tokens_count_once_in_another_process() {
    stage::each(async |stage| {
        let first = stage.builder().up().await;
        let run = start(&first, "moved").await;
        let turn = poll(&first, "sdk").await;
        assert_eq!((turn.previous_started, turn.started), (EventId(0), EventId(3)));
        assert_eq!(names(&turn.events), ["WorkflowStarted", "TurnScheduled", "TurnStarted"]);
        first.signal(run, signal("meanwhile")).await.expect("taken");
        stage.reopen();
        let second = stage.builder().up().await;
        assert_eq!(history(&second, run).await.len(), 3, "history is frozen while the turn is out");
        assert_eq!(answer(&second, &turn, vec![schedule("a")]).await, TurnVerdict::Taken);
        let again = second.answer_turn(turn.token.as_slice(), |t| TurnAnswer::new(t, vec![]), None);
        assert_eq!(again.await.expect_err("it was answered").code(), "no_such_turn");
        let activity = poll_activity(&second, "").await;
        stage.reopen();
        let third = stage.builder().up().await;
        let token = activity.token.as_slice();
        let done = Ending::Completed(Some(Payload::json("7")));
        third.end_activity(token, done.clone()).await.expect("the old token counts");
        let twice = third.end_activity(token, done).await.expect_err("it counted once");
        assert!(matches!(twice, Error::BadToken(_)), "{twice}");
        within("the outcome", until(&third, run, "ActivityCompleted")).await;
        let next = poll(&third, "sdk").await;
        assert_eq!(next.previous_started, EventId(3));
        assert_eq!(answer(&third, &next, vec![Command::Complete(None)]).await, TurnVerdict::Taken);
        assert_eq!(ending(&third, run).await, RunEnding::Completed(None));
        assert_eq!(
            kinds(&third, run).await,
            [
                "WorkflowStarted",
                "TurnScheduled",
                "TurnStarted",
                "TurnCompleted",
                "ActivityScheduled",
                "WorkflowSignalled",
                "TurnScheduled",
                "ActivityStarted",
                "ActivityCompleted",
                "TurnStarted",
                "TurnCompleted",
                "WorkflowCompleted",
            ]
        );
    })
    .await;
}

/// A turn that wants to close the run while a signal waits is refused; the next one sees it.
async fn a_close_beside_a_waiting_signal_is_refused_and_the_signal_is_seen(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "hasty").await;
    let turn = poll(&engine, "sdk").await;
    engine.signal(run, signal("wait")).await.expect("taken");
    let verdict = answer(&engine, &turn, vec![Command::Complete(None)]).await;
    assert_eq!(verdict, TurnVerdict::Failed(bowline_core::Refusal::Unhandled));
    let next = poll(&engine, "sdk").await;
    assert!(names(&next.events).contains(&"WorkflowSignalled"));
    assert!(names(&next.events).contains(&"TurnFailed"));
    assert_eq!(answer(&engine, &next, vec![Command::Complete(None)]).await, TurnVerdict::Taken);
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
}

/// A later attempt at a turn is not in history until it succeeds, but its worker is shown it.
async fn a_retried_turn_leaves_no_trace_until_it_succeeds(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "retried").await;
    let first = poll(&engine, "sdk").await;
    let fail = |token| FailTurn {
        token,
        worker: "sdk".into(),
        fault: TurnFault::CodeFailed,
        failure: None,
        wire: None,
        hopeless: None,
    };
    engine.fail_turn(first.token.as_slice(), fail).await.expect("taken");
    let second = poll(&engine, "sdk").await;
    assert_eq!((second.attempt, second.started), (2, EventId(6)));
    engine.fail_turn(second.token.as_slice(), fail).await.expect("taken");
    let third = poll(&engine, "sdk").await;
    assert_eq!((third.attempt, third.started), (3, EventId(6)), "the ids are used again");
    let stale = engine.answer_turn(second.token.as_slice(), |t| TurnAnswer::new(t, vec![]), None);
    assert_eq!(stale.await.expect_err("an older attempt").code(), "no_such_turn");
    answer(&engine, &third, vec![Command::Complete(None)]).await;
    assert_eq!(
        kinds(&engine, run).await,
        [
            "WorkflowStarted",
            "TurnScheduled",
            "TurnStarted",
            "TurnFailed",
            "TurnScheduled",
            "TurnStarted",
            "TurnCompleted",
            "WorkflowCompleted",
        ]
    );
}

/// A worker that keeps the run in its cache gets the next turn in its own queue; if it does not
/// come for it in time, anybody may have it.
async fn a_sticky_turn_goes_back_to_everybody_when_its_worker_is_gone(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "sticky").await;
    let turn = poll(&engine, "sdk").await;
    let sticky = Sticky { queue: "mine".into(), patience: Span(Duration::from_secs(10)) };
    let answered = engine.answer_turn(
        turn.token.as_slice(),
        |token| TurnAnswer { sticky: Some(sticky.clone()), ..TurnAnswer::new(token, vec![]) },
        None,
    );
    answered.await.expect("taken");
    engine.signal(run, signal("one")).await.expect("taken");
    let mine = poll(&engine, "mine").await;
    assert_eq!(mine.previous_started, turn.started);
    let answered = engine.answer_turn(
        mine.token.as_slice(),
        |token| TurnAnswer { sticky: Some(sticky.clone()), ..TurnAnswer::new(token, vec![]) },
        None,
    );
    answered.await.expect("taken");
    engine.signal(run, signal("two")).await.expect("taken");
    within("the signal", async {
        while kinds(&engine, run).await.iter().filter(|k| **k == "TurnScheduled").count() < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.advance(Duration::from_secs(10));
    let anybody = poll(&engine, "sdk").await;
    assert!(names(&anybody.events).contains(&"TurnTimedOut"));
    answer(&engine, &anybody, vec![Command::Complete(None)]).await;
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
}

/// A termination does not wait for the worker that has the turn; its answer then counts for
/// nothing.
async fn a_termination_does_not_wait_for_the_turn_that_is_out(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "ended").await;
    let turn = poll(&engine, "sdk").await;
    let cause = Cause::requested("enough", "alice");
    let receipt = engine.terminate(run, cause).await.expect("taken");
    within("the end", engine.wait(receipt, Phase::Clean)).await.expect("clean");
    let late = engine.answer_turn(turn.token.as_slice(), |t| TurnAnswer::new(t, vec![]), None);
    assert_eq!(late.await.expect_err("the run is closed").code(), "no_such_turn");
    let tail = kinds(&engine, run).await;
    assert_eq!(tail[tail.len() - 2..], ["TurnFailed", "WorkflowTerminated"]);
}

/// R1, R3, R8: the cancel of an activity that never heartbeats is pushed to its worker's control
/// channel; the receipt shows the delivery. Without a channel the next heartbeat's answer says it.
async fn r1_a_cancel_is_pushed_to_a_remote_worker_without_heartbeats(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "pushed").await;
    let turn = poll(&engine, "sdk").await;
    answer(&engine, &turn, vec![schedule("told"), schedule("deaf")]).await;
    let told = poll_activity(&engine, "control-1").await;
    let deaf = poll_activity(&engine, "").await;
    let cause = Cause::requested("enough", "alice");
    let receipt = engine.terminate(run, cause).await.expect("taken");
    let until = engine.now().after(Duration::from_secs(60));
    let control = "control-1".into();
    let notices = within("a notice", engine.poll_control(&control, until)).await;
    assert_eq!((notices.len(), notices[0].activity), (1, told.activity));
    engine.acknowledge(&control, &[notices[0].id()]).await.expect("acknowledged");
    let beat = engine.heartbeat(deaf.token.as_slice(), None).await.expect("answered");
    assert!(matches!(beat, RemoteHeartbeat::Cancelled(_)), "{beat:?}");
    for activity in [&told, &deaf] {
        let end = engine.end_activity(activity.token.as_slice(), Ending::Cancelled(None));
        end.await.expect("it ends");
    }
    let left = within("clean", engine.wait(receipt, Phase::Clean)).await.expect("clean");
    let line = |id| left.attempts.iter().find(|l| l.activity == id).expect("it is listed");
    assert!(line(told.activity).delivered_at.is_some());
    assert!(line(deaf.activity).stopped_at.is_some());
}

/// Garbage, and tokens of other things, are refused and change nothing.
async fn tokens_that_were_never_handed_out_are_refused(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "tokens").await;
    let turn = poll(&engine, "sdk").await;
    let garbage = engine.answer_turn(b"garbage", |t| TurnAnswer::new(t, vec![]), None).await;
    assert_eq!(garbage.expect_err("garbage").code(), "bad_token");
    let mut flipped = turn.token.as_slice().to_vec();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    let damaged = engine.answer_turn(&flipped, |t| TurnAnswer::new(t, vec![]), None).await;
    assert_eq!(damaged.expect_err("damaged").code(), "bad_token");
    let wrong = engine.end_activity(turn.token.as_slice(), Ending::Completed(None)).await;
    assert_eq!(wrong.expect_err("not an activity").code(), "bad_token");
    assert_eq!(history(&engine, run).await.len(), 3);
    answer(&engine, &turn, vec![Command::Complete(None)]).await;
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
}

/// An update that is refused by a turn made for it alone leaves no trace at all.
async fn a_refused_update_leaves_no_trace(world: World) {
    let engine = engine(&world).await;
    let run = start(&engine, "update").await;
    let turn = poll(&engine, "sdk").await;
    answer(&engine, &turn, vec![]).await;
    let before = history(&engine, run).await.len();
    let request =
        UpdateRequest { id: "u".into(), name: "raise".into(), ..UpdateRequest::default() };
    let asking = tokio::spawn({
        let (engine, request) = (engine.clone(), request.clone());
        async move { engine.update(run, request).await }
    });
    let offered = poll(&engine, "sdk").await;
    assert_eq!(offered.updates, std::slice::from_ref(&request));
    let reject = bowline_core::RejectUpdate { request, failure: bowline_core::Failure::new("no") };
    let verdict = answer(&engine, &offered, vec![Command::RejectUpdate(Box::new(reject))]).await;
    assert_eq!(verdict, TurnVerdict::Dropped);
    let stage = within("the answer", asking).await.expect("it ran").expect("it is answered");
    assert!(matches!(stage, UpdateStage::Rejected(_)), "{stage:?}");
    assert_eq!(history(&engine, run).await.len(), before);
}
