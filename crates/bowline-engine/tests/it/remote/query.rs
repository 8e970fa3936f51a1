//! Questions to runs whose code is at a remote worker: each is given to one worker at a time, and
//! is answered, whatever happens meanwhile.

use std::time::Duration;

use bowline_core::{AskId, Payload, Queue, RunId, StartTurn, TurnAnswer};
use bowline_engine::{Along, Engine, QueryAnswer, Question, RemoteAsk, RemoteTurn, Result, Taken};
use bowline_store::memory::{Method, When};
use tokio::task::JoinHandle;

use crate::{
    support::{
        flows::Flows,
        gate::Call,
        remote::{self, QUEUE},
        stage::{self, Stage},
    },
    world::within,
};

const HOUR: Duration = Duration::from_secs(3_600);

fn value(text: &str) -> QueryAnswer {
    QueryAnswer::Value(Some(Payload::json(text)))
}

/// Asks, on a task of its own.
fn ask(engine: &Engine, run: RunId) -> JoinHandle<Result<QueryAnswer>> {
    let (engine, until) = (engine.clone(), engine.now().after(HOUR));
    let question = Question { name: "count".into(), ..Question::default() };
    tokio::spawn(async move { engine.query_remote(run, question, until).await })
}

/// What a worker finds that does not wait.
async fn look(engine: &Engine) -> Option<Taken> {
    let polled = engine.poll_turn(&Queue::from(QUEUE), StartTurn::default(), engine.now()).await;
    polled.expect("a poll is answered")
}

/// The next question that comes alone.
async fn next_ask(engine: &Engine) -> RemoteAsk {
    let (queue, until) = (Queue::from(QUEUE), engine.now().after(HOUR));
    let polled = within("a question", engine.poll_turn(&queue, StartTurn::default(), until)).await;
    match polled.expect("a poll is answered") {
        Some(Taken::Ask(ask)) => *ask,
        other => panic!("not a question: {other:?}"),
    }
}

/// The first turn of a run, which takes a question along.
async fn ridden(
    stage: &Stage,
    engine: &Engine,
    run: RunId,
) -> (RemoteTurn, AskId, JoinHandle<Result<QueryAnswer>>) {
    let before = reads(stage);
    let asked = ask(engine, run);
    within("the question to be there", async {
        while reads(stage) == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let turn = remote::turn(engine).await;
    let [query] = &turn.queries[..] else { panic!("not one question: {:?}", turn.queries) };
    let id = query.id;
    (turn, id, asked)
}

/// Works until a question is answered, however it comes.
async fn work(engine: &Engine, run: RunId, text: &str) {
    let (queue, until) = (Queue::from(QUEUE), engine.now().after(HOUR));
    loop {
        let polled = engine.poll_turn(&queue, StartTurn::default(), until);
        match within("work", polled).await.expect("a poll is answered").expect("there is some") {
            Taken::Ask(ask) => {
                assert!(engine.answer_query(run, ask.query.id, value(text)).await);
                return;
            }
            Taken::Turn(turn) => match &turn.queries[..] {
                [query] => {
                    return answers(engine, &turn, query.id, text).await.expect("it is taken");
                }
                _ => drop(remote::answer(engine, &turn, Vec::new()).await),
            },
        }
    }
}

async fn answers(engine: &Engine, turn: &RemoteTurn, id: AskId, text: &str) -> Result<()> {
    let along = Along { answers: vec![(id, value(text))], ..Along::default() };
    let answer = |token| TurnAnswer::new(token, Vec::new());
    engine.answer_turn_with(turn.token.as_slice(), answer, None, along).await.map(drop)
}

fn reads(stage: &Stage) -> usize {
    stage.gates.calls().iter().filter(|call| **call == Method::Read).count()
}

/// Whether somebody has read since the newest commit was made.
fn is_read_since_commit(stage: &Stage) -> bool {
    let calls = stage.gates.calls();
    let commit = calls.iter().rposition(|call| *call == Method::Commit);
    commit.is_some_and(|at| calls[at..].contains(&Method::Read))
}

/// The commit that ends a turn is done, and the answers that came with it are not given yet.
/// Whoever looks at the run then sees it at rest: the question must not go out once more.
#[tokio::test]
async fn a_question_whose_answer_is_on_its_way_is_not_given_to_another_worker() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let run = remote::start(&engine, "r-1").await;
        let (turn, id, asked) = ridden(&stage, &engine, run).await;
        let held = stage.gates.hold(
            Method::Commit,
            When::After,
            move |call| matches!(call, Call::Commit(commit) if commit.run == run),
        );
        let answering = tokio::spawn({
            let (engine, turn) = (engine.clone(), turn.clone());
            async move { answers(&engine, &turn, id, "1").await }
        });
        held.reached().await;
        // Whoever follows the question reads after the commit. How often the run was read before
        // it depends on when hints came.
        within("the question to be looked after", async {
            while !is_read_since_commit(&stage) {
                tokio::task::yield_now().await;
            }
        })
        .await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let found = look(&engine).await;
        assert!(found.is_none(), "it was given out twice: {found:?}");
        held.release();
        within("the answer", answering).await.expect("no panic").expect("it is taken");
        let answer = within("the question", asked).await.expect("no panic");
        assert_eq!(answer.expect("it is answered"), value("1"));
        assert!(look(&engine).await.is_none(), "nothing is left of it");
    })
    .await;
}

/// An answer that is not taken answers nothing: the question is asked again.
#[tokio::test]
async fn a_question_whose_turn_is_over_is_asked_again() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let run = remote::start(&engine, "r-1").await;
        let (turn, id, asked) = ridden(&stage, &engine, run).await;
        let fail = |token| bowline_core::FailTurn {
            token,
            worker: "sdk".into(),
            fault: bowline_core::TurnFault::default(),
            failure: None,
            wire: None,
            hopeless: None,
        };
        engine.fail_turn(turn.token.as_slice(), fail).await.expect("it is taken");
        let late = answers(&engine, &turn, id, "1").await.expect_err("it is too late");
        assert_eq!(late.code(), "no_such_turn");
        work(&engine, run, "2").await;
        let answer = within("the question", asked).await.expect("no panic");
        assert_eq!(answer.expect("it is answered"), value("2"));
    })
    .await;
}

/// A worker that has gone before it could be asked gives the question back at once.
#[tokio::test]
async fn a_question_that_could_not_be_handed_over_goes_to_somebody_else() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let run = remote::start(&engine, "r-1").await;
        let turn = remote::turn(&engine).await;
        remote::answer(&engine, &turn, Vec::new()).await;
        let asked = ask(&engine, run);
        let first = next_ask(&engine).await;
        assert!(look(&engine).await.is_none(), "one worker has it");
        engine.return_query(run, first.query.id);
        let second = next_ask(&engine).await;
        assert_eq!(second.query, first.query);
        assert!(engine.answer_query(run, second.query.id, value("1")).await);
        assert!(!engine.answer_query(run, second.query.id, value("2")).await, "nobody waits");
        assert_eq!(asked.await.expect("no panic").expect("it is answered"), value("1"));
    })
    .await;
}

/// Others have given this process up while a worker had a question, and it is somebody new now. No
/// answer to its old name would find its way from another member: it is asked again at once, and
/// whichever answer comes counts.
#[tokio::test]
async fn a_question_is_asked_again_by_a_process_that_entered_again() {
    for answers_the_first in [true, false] {
        stage::each_shared(async |stage| {
            let engine = stage.builder().up().await;
            let run = remote::start(&engine, "r-1").await;
            let turn = remote::turn(&engine).await;
            remote::answer(&engine, &turn, Vec::new()).await;
            let asked = ask(&engine, run);
            let first = next_ask(&engine).await;
            stage.give_up();
            within("the engine to enter again", async {
                while engine.metrics().rejoins < 1 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            let id = match answers_the_first {
                true => first.query.id,
                false => {
                    let again = next_ask(&engine).await;
                    assert_ne!(again.query.id, first.query.id, "its name says who asks");
                    assert_eq!(again.query.question, first.query.question);
                    again.query.id
                }
            };
            assert!(engine.answer_query(run, id, value("1")).await, "somebody waits for it");
            let answer = within("the question", asked).await.expect("no panic");
            assert_eq!(answer.expect("it is answered"), value("1"));
        })
        .await;
    }
}
