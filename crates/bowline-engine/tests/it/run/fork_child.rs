//! Children of a run that is forked: those that were open at the cut are the fork's from then on.

use bowline_core::{
    Cause, ChildSpec, Code as CauseCode, EventId, EventKind, ParentClose, Payload, RunEnding,
    RunId, Signal, Status,
};
use bowline_engine::{Builder, Engine};
use bowline_replay::Ended;
use bowline_store::Phase;

use crate::{
    support::{
        flows::Flows,
        stage::{self, cancel, comes_clean},
    },
    world::{Code, ending, history, idle, kinds, signal, start, text, until, within},
};

fn spec(id: &str, close: ParentClose) -> ChildSpec {
    ChildSpec { name: "child".into(), workflow_id: id.into(), close, ..ChildSpec::default() }
}

/// A parent that starts one child, another one when it is told to, and tells how the first ended.
/// The children end when they are told to.
fn family(builder: Builder, close: ParentClose) -> Builder {
    builder
        .flow("parent", move |ctx, _| async move {
            let first = ctx.child(spec("first", close)).start();
            ctx.signals("more").recv().await;
            let second = ctx.child(spec("second", close)).start();
            let told = match first.await {
                Ok(result) => format!("ok {}", text(&result)),
                Err(Ended::Cancelled(cause)) => return Err(Ended::Cancelled(cause)),
                Err(other) => format!("{other}"),
            };
            drop(second);
            Ok(Some(Payload::json(told)))
        })
        .flow("child", |ctx, _| async move { Ok(ctx.signals("end").recv().await.input) })
}

fn end(json: &str) -> Signal {
    Signal { input: Some(Payload::json(json)), ..signal("end") }
}

fn because() -> Cause {
    Cause::requested("a bad deploy", "alice")
}

async fn newest(engine: &Engine, id: &str) -> RunId {
    engine.current(id).await.expect("there is such a run").run
}

/// Starts the parent, and gives the turn that follows the beginning of its first child.
async fn begun(engine: &Engine) -> (RunId, EventId) {
    let run = start(engine, "parent", "p-1").await;
    until(engine, run, "ChildStarted").await;
    engine.signal(run, signal("more")).await.expect("taken");
    within("the second child", async {
        while kinds(engine, run).await.iter().filter(|kind| **kind == "ChildStarted").count() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    idle(engine, run).await;
    let events = history(engine, run).await;
    let asked = |event: &&bowline_core::Event| match &event.kind {
        EventKind::ChildInitiated(child) => child.spec.workflow_id.as_str() == "second",
        _ => false,
    };
    let second = events.iter().find(asked).expect("it was asked for").id;
    let mut turns = events.iter().filter(|event| event.kind.name() == "TurnStarted");
    let cut = turns.rfind(|event| event.id < second).expect("a turn asked for it");
    (run, cut.id)
}

async fn told(engine: &Engine, run: RunId) -> String {
    match ending(engine, run).await {
        RunEnding::Completed(said) => text(&said),
        other => panic!("{other:?}"),
    }
}

/// The first child, open at the cut, goes on and tells the fork how it ended, after a restart too.
/// The second one, which the fork has yet to ask for, is told to stop.
#[tokio::test]
async fn a_fork_is_told_the_end_of_the_child_that_it_inherited() {
    stage::each(async |stage| {
        let process = stage.process(family(stage.builder(), ParentClose::Cancel)).await;
        let (run, cut) = begun(&process.engine).await;
        let first = newest(&process.engine, "first").await;
        let second = newest(&process.engine, "second").await;
        let fork = process.engine.fork(run, cut, because()).await.expect("it forks");
        let ended = ending(&process.engine, second).await;
        let RunEnding::Cancelled(_, Some(cause)) = &ended else { panic!("{ended:?}") };
        assert_eq!(cause.code, CauseCode::ParentClosed);
        assert_eq!(process.engine.head(first).await.expect("").status, Status::Running);
        let orphans = process.engine.orphans().await.expect("listed");
        assert!(orphans.is_empty(), "{orphans:#?}");
        process.kill();
        stage.reopen();
        let engine = family(stage.builder(), ParentClose::Cancel).up().await;
        engine.signal(first, end("7")).await.expect("taken");
        assert_eq!(told(&engine, fork).await, "ok 7");
        let orphans = engine.orphans().await.expect("listed");
        assert!(orphans.is_empty(), "{orphans:#?}");
    })
    .await;
}

/// Its end is in the old run's history, behind the cut: it comes along.
#[tokio::test]
async fn a_fork_knows_the_end_of_a_child_that_came_before_it() {
    stage::each(async |stage| {
        let engine = family(stage.builder(), ParentClose::Cancel).up().await;
        let (run, cut) = begun(&engine).await;
        let first = newest(&engine, "first").await;
        engine.signal(first, end("7")).await.expect("taken");
        assert_eq!(told(&engine, run).await, "ok 7");
        within("the second child to stop", async {
            while engine.current("second").await.expect("").status.is_open() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let fork = engine.fork(run, cut, because()).await.expect("it forks");
        assert_eq!(told(&engine, fork).await, "ok 7");
    })
    .await;
}

/// The old run was closed and left its child alone: whether that ends before the fork, unheard, or
/// after it, the fork is told.
#[tokio::test]
async fn a_fork_of_a_closed_run_is_told_the_end_of_the_child_that_was_left() {
    for before in [true, false] {
        stage::each(async |stage| {
            let engine = family(stage.builder(), ParentClose::Abandon).up().await;
            let (run, cut) = begun(&engine).await;
            let first = newest(&engine, "first").await;
            engine.terminate(run, because()).await.expect("taken");
            ending(&engine, run).await;
            let second = newest(&engine, "second").await;
            engine.signal(second, end("0")).await.expect("taken");
            ending(&engine, second).await;
            if before {
                engine.signal(first, end("7")).await.expect("taken");
                ending(&engine, first).await;
            }
            let fork = engine.fork(run, cut, because()).await.expect("it forks");
            if !before {
                engine.signal(first, end("7")).await.expect("taken");
            }
            assert_eq!(told(&engine, fork).await, "ok 7", "before: {before}");
        })
        .await;
    }
}

/// A cancel of the fork reaches what it inherited, and its receipt waits for that.
#[tokio::test]
async fn a_cancel_of_a_fork_reaches_the_child_that_it_inherited() {
    stage::each(async |stage| {
        let engine = family(stage.builder(), ParentClose::Cancel).up().await;
        let (run, cut) = begun(&engine).await;
        let first = newest(&engine, "first").await;
        let fork = engine.fork(run, cut, because()).await.expect("it forks");
        until(&engine, fork, "TurnCompleted").await;
        let below = engine.leftovers(fork).await.expect("they are listed");
        let line = below.runs.iter().find(|line| line.run == first).expect("it is the fork's");
        assert_eq!(line.parent.map(|(parent, ..)| parent), Some(fork));
        assert!(below.remainder().left.is_empty(), "{below:#?}");
        let receipt = cancel(&engine, fork).await;
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(left.phase(), Phase::Clean);
        assert!(left.runs.iter().any(|line| line.run == first), "{left:#?}");
        let ended = ending(&engine, first).await;
        let RunEnding::Cancelled(_, Some(cause)) = &ended else { panic!("{ended:?}") };
        assert_eq!(cause.root().requested_by.as_str(), "alice");
        assert!(matches!(ending(&engine, fork).await, RunEnding::Cancelled(..)));
    })
    .await;
}
