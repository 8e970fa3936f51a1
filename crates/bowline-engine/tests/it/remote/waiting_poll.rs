//! A turn is handed to the poll that waits for it in the commit that makes it, and what was decided
//! about lately is not read again. Counted in calls of the store.

use std::time::Duration;

use bowline_core::{
    ActivityId, Asked, Command, Ending, EventId, Queue, Rules, Span, StartTurn, Sticky, TurnAnswer,
    TurnVerdict,
};
use bowline_engine::{Along, Answered, Eager, Engine, RemoteTurn, StartOptions, Taken, Wait};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    support::remote::{self, QUEUE},
    world::{World, kinds, signal, within},
};

crate::world::on_every_store! {
    a_chain_of_activities_goes_on_in_the_hands_of_one_worker,
    an_end_beside_a_signal_is_taken_in_with_it,
    what_came_while_a_turn_was_out_comes_before_the_next,
    a_poll_that_has_left_is_handed_nothing,
    a_poll_waits_on_when_what_it_was_to_have_comes_to_nothing,
}

const OWN: &str = "own";
const HOUR: Duration = Duration::from_secs(3_600);

/// A poll that has looked, found nothing, and waits.
async fn waiting(
    world: &World,
    engine: &Engine,
    queue: &str,
    gone: CancellationToken,
) -> JoinHandle<Option<RemoteTurn>> {
    let looks = world.book.counts().of("claim_runs");
    let wait = Wait { until: engine.now().after(HOUR), gone };
    let (own, queue) = (engine.clone(), Queue::from(queue));
    let poll = tokio::spawn(async move {
        let start = StartTurn { request_id: own.mint().to_string().into(), ..StartTurn::default() };
        let taken = own.poll_turn(&queue, start, wait).await.expect("a poll is answered");
        taken.and_then(Taken::turn)
    });
    within("the poll to look", async {
        while world.book.counts().of("claim_runs") == looks {
            tokio::task::yield_now().await;
        }
    })
    .await;
    rest().await;
    poll
}

/// Lets everything go on that can.
async fn rest() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

async fn handed(poll: JoinHandle<Option<RemoteTurn>>) -> RemoteTurn {
    within("a turn", poll).await.expect("it lives").expect("there is a turn")
}

/// Answers a turn with one activity, which the worker takes along, and keeps the run in its cache.
async fn step(engine: &Engine, turn: &RemoteTurn, id: &str) -> Answered {
    let commands: Vec<Asked> = vec![remote::schedule(id).into()];
    let sticky = Some(Sticky { queue: OWN.into(), patience: Span(HOUR) });
    let answer =
        |token| TurnAnswer { sticky: sticky.clone(), ..TurnAnswer::new(token, commands.clone()) };
    let activities = [ActivityId::from(id)].into();
    let eager = Eager { activities, worker: "sdk".into(), control: Default::default() };
    let along = Along { eager, answers: Vec::new() };
    let answered = engine.answer_turn_with(turn.token.as_slice(), answer, None, along).await;
    answered.expect("the answer is taken")
}

fn names(turn: &RemoteTurn) -> Vec<&'static str> {
    turn.events.iter().map(|event| event.kind.name()).collect()
}

/// A run of three activities, one after the other, with a poll that waits for each of its turns;
/// and its last turn.
async fn chain(world: &World, engine: &Engine) -> RemoteTurn {
    let poll = waiting(world, engine, QUEUE, CancellationToken::new()).await;
    let run = remote::start(engine, "chain").await;
    let mut turn = handed(poll).await;
    assert_eq!(turn.run, run);
    assert_eq!(names(&turn), ["WorkflowStarted", "TurnScheduled", "TurnStarted"]);
    for number in 0..3 {
        let own = waiting(world, engine, OWN, CancellationToken::new()).await;
        let answered = step(engine, &turn, &format!("a{number}")).await;
        assert_eq!(answered.verdict, TurnVerdict::Taken);
        let activity = answered.activities.first().expect("it has it at once");
        engine.end_activity(activity.token.as_slice(), Ending::Completed(None)).await.expect("ok");
        turn = handed(own).await;
        assert_eq!(turn.previous_started, EventId(3 + 6 * number));
        let new = ["ActivityCompleted", "TurnScheduled", "TurnStarted"];
        assert!(names(&turn).ends_with(&new), "{:?}", names(&turn));
    }
    turn
}

async fn a_chain_of_activities_goes_on_in_the_hands_of_one_worker(world: World) {
    let engine = world.builder().start().await.expect("starts");
    let turn = chain(&world, &engine).await;
    let close = vec![Command::Complete(None)];
    assert_eq!(remote::answer(&engine, &turn, close).await, TurnVerdict::Taken);
    let kinds = kinds(&engine, turn.run).await;
    let ended = kinds.iter().filter(|kind| **kind == "ActivityCompleted").count();
    assert_eq!((ended, kinds.len()), (3, 3 + 3 * 6 + 2), "{kinds:?}");
}

/// The start of a run is one call, the answer to a turn one, and the end of an activity one, which
/// hands the next turn out. Nothing is read, and the worker is shown only what it cannot know.
#[tokio::test]
async fn a_step_is_two_commits_and_nothing_is_read() {
    let world = World::memory();
    let engine = world.builder().start().await.expect("starts");
    let before = world.book.counts();
    let mut turn = chain(&world, &engine).await;
    let after = world.book.counts();
    let made = |call| after.of(call) - before.of(call);
    assert_eq!((made("post"), made("commit")), (1, 6), "{:?}", after.calls);
    assert_eq!((made("settle"), made("read")), (0, 0), "{:?}", after.calls);
    let first = turn.events.first().expect("it has events").id;
    assert_eq!(first, turn.previous_started.plus(1));
    engine.show_whole(&mut turn).await.expect("it is read");
    assert_eq!(names(&turn), kinds(&engine, turn.run).await);
}

/// A signal comes while an activity runs: what was known of the run is not all there is.
async fn an_end_beside_a_signal_is_taken_in_with_it(world: World) {
    let engine = world.builder().start().await.expect("starts");
    let run = remote::start(&engine, "told").await;
    let turn = remote::turn(&engine).await;
    let answered = step(&engine, &turn, "a").await;
    engine.signal(run, signal("beside")).await.expect("taken");
    let token = &answered.activities.first().expect("it has it").token;
    engine.end_activity(token.as_slice(), Ending::Completed(None)).await.expect("taken");
    crate::world::until(&engine, run, "ActivityCompleted").await;
    let own = waiting(&world, &engine, OWN, CancellationToken::new()).await;
    let turn = handed(own).await;
    assert!(names(&turn).contains(&"WorkflowSignalled"), "{:?}", names(&turn));
    let close = vec![Command::Complete(None)];
    assert_eq!(remote::answer(&engine, &turn, close).await, TurnVerdict::Taken);
}

/// A worker that has its next turn with each answer, as one does while a local activity runs: a
/// timer that rings while it has one is in the next.
async fn what_came_while_a_turn_was_out_comes_before_the_next(world: World) {
    const SECOND: Duration = Duration::from_secs(1);
    let engine = world.builder().start().await.expect("starts");
    let run = remote::start(&engine, "ringing").await;
    let turn = remote::turn(&engine).await;
    let next = async |turn: &RemoteTurn, commands: Vec<Asked>| {
        let answer = |token| TurnAnswer { again: true, ..TurnAnswer::new(token, commands.clone()) };
        let next = Some(StartTurn::default());
        let answered = engine.answer_turn(turn.token.as_slice(), answer, next).await;
        answered.expect("the answer is taken").next.expect("it has the next turn")
    };
    let timer = Command::StartTimer("t".into(), Span(SECOND));
    let turn = next(&turn, vec![timer.into()]).await;
    let inbox = async || engine.head(run).await.expect("it is there").inbox;
    let before = inbox().await;
    world.advance(SECOND);
    within("the timer to ring", async {
        while inbox().await == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let turn = next(&turn, Vec::new()).await;
    assert!(names(&turn).contains(&"TimerFired"), "{:?}", names(&turn));
}

/// A poll whose caller has gone is answered with nothing, and the turn waits for the next one.
async fn a_poll_that_has_left_is_handed_nothing(world: World) {
    let engine = world.builder().start().await.expect("starts");
    let gone = CancellationToken::new();
    let poll = waiting(&world, &engine, QUEUE, gone.clone()).await;
    gone.cancel();
    assert!(within("an answer", poll).await.expect("it lives").is_none());
    let aborted = waiting(&world, &engine, QUEUE, CancellationToken::new()).await;
    aborted.abort();
    assert!(within("its end", aborted).await.is_err());
    let run = remote::start(&engine, "later").await;
    assert_eq!(remote::turn(&engine).await.run, run);
}

/// A run is to begin, a poll is found for its first turn, and then the run does not begin, because
/// its workflow id is taken: the poll waits on, and has the next turn.
async fn a_poll_waits_on_when_what_it_was_to_have_comes_to_nothing(world: World) {
    let engine = world.builder().start().await.expect("starts");
    remote::start(&engine, "taken").await;
    remote::turn(&engine).await;
    let poll = waiting(&world, &engine, QUEUE, CancellationToken::new()).await;
    for _ in 0..2 {
        let mut options = StartOptions::new("remote", "taken", QUEUE, None);
        options.started.rules = Rules::REMOTE;
        let refused = engine.start(options).await.expect_err("it is there");
        assert_eq!(refused.code(), "id_taken");
        rest().await;
    }
    let run = remote::start(&engine, "free").await;
    assert_eq!(handed(poll).await.run, run);
}
