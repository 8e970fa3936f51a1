//! Whoever has started a run waits for its end, from before its beginning.

use bowline_core::{Conflict, ContinueAsNew, Failure, Payload, RunEnding, Signal};
use bowline_engine::{Builder, Engine, StartOptions};
use bowline_replay::Ended;
use bowline_store::memory::{Method, When};

use crate::{
    support::{
        flows::{Flows, any},
        stage,
    },
    world::{Code, QUEUE, signal, text, until, within},
};

/// Waits for a signal, and ends as it says.
fn waiter(builder: Builder) -> Builder {
    builder.flow("waiter", |ctx, _| async move {
        let how = ctx.signals("end").recv().await.input;
        match text(&how).as_str() {
            "\"fail\"" => Err(Ended::Failed(Failure::new("as told"))),
            "\"again\"" => match ctx.continue_as_new(ContinueAsNew::default()).await {},
            _ => Ok(how),
        }
    })
}

fn options(id: &str) -> StartOptions {
    StartOptions::new("waiter", id, QUEUE, None)
}

fn how(json: &str) -> Signal {
    Signal { input: Some(Payload::json(json)), ..signal("end") }
}

/// The answer of a run that completes here is handed over, although it came before anybody waited.
#[tokio::test]
async fn an_answer_that_was_given_here_is_not_read() {
    stage::each(async |stage| {
        let engine = waiter(stage.builder()).up().await;
        let (run, end) = engine.start_followed(options("followed")).await.expect("it starts");
        let end = end.expect("it is a new one");
        engine.signal(run, how("7")).await.expect("taken");
        until(&engine, run, "WorkflowCompleted").await;
        // Nobody can read from here on.
        let reads = stage.gates.hold(Method::Read, When::Before, any);
        let ended = within("the end", engine.ended(end)).await.expect("it has ended");
        assert_eq!(ended, (run, RunEnding::Completed(Some(Payload::json("7")))));
        reads.release();
    })
    .await;
}

/// Another end than an answer is read, and so is that of the run that goes on in the first one's
/// place.
#[tokio::test]
async fn every_other_end_is_found_out() {
    stage::each(async |stage| {
        let engine = waiter(stage.builder()).up().await;
        let end = |engine: Engine, id, first: &'static str| async move {
            let (run, end) = engine.start_followed(options(id)).await.expect("it starts");
            engine.signal(run, how(first)).await.expect("taken");
            (run, end.expect("it is a new one"))
        };
        let (run, failed) = end(engine.clone(), "failed", "\"fail\"").await;
        let failed = within("the end", engine.ended(failed)).await.expect("it has ended");
        assert!(failed.0 == run && matches!(failed.1, RunEnding::Failed(..)), "{failed:?}");
        let (run, chain) = end(engine.clone(), "chain", "\"again\"").await;
        until(&engine, run, "WorkflowContinuedAsNew").await;
        engine
            .signal(engine.current("chain").await.expect("it goes on").run, how("8"))
            .await
            .expect("taken");
        let (last, ending) = within("the end", engine.ended(chain)).await.expect("it has ended");
        assert_eq!(ending, RunEnding::Completed(Some(Payload::json("8"))));
        assert_ne!(last, run);
    })
    .await;
}

/// A run that was there already may have ended before anybody followed it.
#[tokio::test]
async fn a_run_that_was_there_already_is_not_followed() {
    stage::each(async |stage| {
        let engine = waiter(stage.builder()).up().await;
        let first = engine.start_followed(options("taken").request("one")).await;
        let (run, end) = first.expect("it starts");
        assert!(end.is_some());
        let attach = StartOptions { conflict: Conflict::UseExisting, ..options("taken") };
        for again in [attach, options("taken").request("one")] {
            let (same, end) = engine.start_followed(again).await.expect("it serves");
            assert!(same == run && end.is_none());
        }
    })
    .await;
}
