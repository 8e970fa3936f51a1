//! Turns at a remote worker that come late, again, or only to keep something alive.

use std::time::Duration;

use bowline_core::{
    Asked, Command, EventId, Payload, Queue, Rules, RunEnding, RunId, StartTurn, TurnAnswer,
    TurnVerdict,
};
use bowline_engine::{Answered, Engine, RemoteTurn, StartOptions, Taken};

use crate::world::{World, ending, history, kinds, signal, until, within};

crate::world::on_every_store! {
    a_turn_that_times_out_is_tried_again_and_shown_as_it_is_written,
    a_chain_of_heartbeats_goes_on_for_half_an_hour_and_no_longer,
    the_next_turn_comes_with_the_answer_if_there_is_one,
}

const SECOND: Duration = Duration::from_secs(1);

async fn start(engine: &Engine) -> RunId {
    let mut options = StartOptions::new("remote", "r-1", "sdk", None);
    options.started.rules = Rules::REMOTE;
    engine.start(options).await.expect("the run starts")
}

async fn poll(engine: &Engine) -> RemoteTurn {
    let (queue, until) = (Queue::from("sdk"), engine.now().after(3_600 * SECOND));
    let polled = within("a turn", engine.poll_turn(&queue, StartTurn::default(), until)).await;
    polled.expect("a poll is answered").and_then(Taken::turn).expect("there is a turn")
}

async fn answer(engine: &Engine, turn: &RemoteTurn, again: bool, asks: Vec<Command>) -> Answered {
    let commands: Vec<Asked> = asks.into_iter().map(Asked::from).collect();
    let answer = |token| TurnAnswer { again, ..TurnAnswer::new(token, commands.clone()) };
    let next = Some(StartTurn::default());
    engine.answer_turn(turn.token.as_slice(), answer, next).await.expect("it is taken")
}

/// A turn that is not answered in time is handed out again. The second attempt is shown to its
/// worker exactly as it will be written, and the late answer of the first counts for nothing.
async fn a_turn_that_times_out_is_tried_again_and_shown_as_it_is_written(world: World) {
    let engine = world.builder().start().await.expect("starts");
    let run = start(&engine).await;
    let first = poll(&engine).await;
    world.advance(10 * SECOND);
    until(&engine, run, "TurnTimedOut").await;
    let second = poll(&engine).await;
    assert_eq!((second.attempt, second.started), (2, EventId(6)));
    let shown = engine.history(run).await.expect("it reads");
    assert_eq!(shown, second.events, "clients see the same tail");
    let late = engine.answer_turn(first.token.as_slice(), |t| TurnAnswer::new(t, vec![]), None);
    assert_eq!(late.await.expect_err("it is over").code(), "no_such_turn");
    let done = answer(&engine, &second, false, vec![Command::Complete(None)]).await;
    assert_eq!(done.verdict, TurnVerdict::Taken);
    let written = history(&engine, run).await;
    assert_eq!(written[..second.events.len()], second.events, "what was shown is written");
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
}

/// Turns that only keep a local activity alive come back in the same breath, for half an hour.
async fn a_chain_of_heartbeats_goes_on_for_half_an_hour_and_no_longer(world: World) {
    let engine = world.builder().start().await.expect("starts");
    let run = start(&engine).await;
    let mut turn = poll(&engine).await;
    let begun = engine.now();
    while engine.now().since(begun) <= 1_800 * SECOND {
        let answered = answer(&engine, &turn, true, Vec::new()).await;
        let next = answered.next.expect("the next turn comes with the answer");
        assert_eq!(next.previous_started, turn.started);
        turn = next;
        world.advance(8 * SECOND);
    }
    let again = |token| TurnAnswer { again: true, ..TurnAnswer::new(token, Vec::new()) };
    let over = engine.answer_turn(turn.token.as_slice(), again, None).await;
    assert_eq!(over.expect_err("it has an end").code(), "no_such_turn");
    assert!(kinds(&engine, run).await.len() > 600);
}

/// The answer to a turn brings the next one along, if messages came meanwhile; else it does not.
async fn the_next_turn_comes_with_the_answer_if_there_is_one(world: World) {
    let engine = world.builder().start().await.expect("starts");
    let run = start(&engine).await;
    let turn = poll(&engine).await;
    let signalled = bowline_core::Signal { input: Some(Payload::json("1")), ..signal("s") };
    engine.signal(run, signalled).await.expect("taken");
    let next = answer(&engine, &turn, false, Vec::new()).await.next.expect("it comes along");
    assert_eq!(next.events.last().map(|event| event.id), Some(next.started));
    assert!(next.events.iter().any(|event| event.kind.name() == "WorkflowSignalled"));
    assert!(answer(&engine, &next, false, Vec::new()).await.next.is_none());
}
