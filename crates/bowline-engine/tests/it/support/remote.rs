//! A worker of another kind, as far as most stories need one: it polls, and answers.

use std::time::Duration;

use bowline_core::{
    ActivitySpec, Asked, Command, Queue, Rules, RunId, Span, StartTurn, StopAttempt, Timeouts,
    TurnAnswer, TurnVerdict,
};
use bowline_engine::{Engine, RemoteActivity, RemoteTurn, StartOptions, Taken};

use crate::world::within;

/// The queue that it polls.
pub(crate) const QUEUE: &str = "sdk";

const HOUR: Duration = Duration::from_secs(3_600);

/// Starts a run that lives by remote rules.
pub(crate) async fn start(engine: &Engine, id: &str) -> RunId {
    let mut options = StartOptions::new("remote", id, QUEUE, None);
    options.started.rules = Rules::REMOTE;
    engine.start(options).await.expect("the run starts")
}

/// Takes the next turn.
pub(crate) async fn turn(engine: &Engine) -> RemoteTurn {
    let (queue, until) = (Queue::from(QUEUE), engine.now().after(HOUR));
    let polled = within("a turn", engine.poll_turn(&queue, StartTurn::default(), until)).await;
    polled.expect("a poll is answered").and_then(Taken::turn).expect("there is a turn")
}

/// Answers a turn with these commands.
pub(crate) async fn answer(
    engine: &Engine,
    turn: &RemoteTurn,
    commands: Vec<Command>,
) -> TurnVerdict {
    let commands: Vec<Asked> = commands.into_iter().map(Asked::from).collect();
    let answer = |token| TurnAnswer::new(token, commands.clone());
    let answered = engine.answer_turn(turn.token.as_slice(), answer, None).await;
    answered.expect("the answer is taken").verdict
}

/// Asks for an activity.
pub(crate) fn schedule(id: &str) -> Command {
    let start_to_close = Some(Span(HOUR));
    Command::ScheduleActivity(Box::new(ActivitySpec {
        id: id.into(),
        name: "work".into(),
        queue: QUEUE.into(),
        remote: true,
        timeouts: Timeouts { start_to_close, ..Timeouts::default() },
        ..ActivitySpec::default()
    }))
}

/// Starts a run whose first turn asks for so many activities.
pub(crate) async fn scheduled(engine: &Engine, id: &str, count: usize) -> RunId {
    let run = start(engine, id).await;
    let turn = turn(engine).await;
    assert_eq!(turn.run, run);
    let commands = (0..count).map(|n| schedule(&format!("a{n}"))).collect();
    assert_eq!(answer(engine, &turn, commands).await, TurnVerdict::Taken);
    run
}

/// Takes the next activity, for a worker with this control queue.
pub(crate) async fn activity(engine: &Engine, control: &str) -> RemoteActivity {
    let (queue, until) = (Queue::from(QUEUE), engine.now().after(HOUR));
    let polled = engine.poll_activity(&queue, "sdk".into(), control.into(), until);
    within("an activity", polled).await.expect("a poll is answered").expect("there is one")
}

/// What waits on a control queue now.
pub(crate) async fn notices(engine: &Engine, control: &str) -> Vec<StopAttempt> {
    engine.poll_control(&control.into(), engine.now()).await
}

/// Waits until something is there.
pub(crate) async fn next_notices(engine: &Engine, control: &str) -> Vec<StopAttempt> {
    let (control, until) = (control.into(), engine.now().after(HOUR));
    let notices = within("a notice", engine.poll_control(&control, until)).await;
    assert!(!notices.is_empty(), "the poll was answered in time");
    notices
}

/// The worker has these.
pub(crate) async fn acknowledge(engine: &Engine, control: &str, notices: &[StopAttempt]) {
    let ids: Vec<_> = notices.iter().map(StopAttempt::id).collect();
    engine.acknowledge(&control.into(), &ids).await.expect("they are taken");
}
