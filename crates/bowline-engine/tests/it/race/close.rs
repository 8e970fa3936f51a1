//! Release ‖ message, close ‖ message, continue-as-new ‖ message: nothing that was acknowledged is
//! lost, in whichever order the two get to the store.

use bowline_core::{ContinueAsNew, Name, Note, Payload, RunEnding, RunId, Signal, Status};
use bowline_engine::{Engine, Error};
use bowline_store::memory::{Method, When};

use crate::{
    support::{
        flows::{Flows, closing, releasing},
        gate::Call,
        stage::{self, Stage, cancel, comes_clean},
    },
    world::{Code, current, ending, history, kinds, signal, start, until},
};

/// A run that is let go of, because there is room for one only, and its release at the gate.
async fn evicted(stage: &Stage, when: When) -> (Engine, RunId, crate::support::gate::Held) {
    let engine = stage
        .builder()
        .threads(1)
        .cached_runs(1)
        .flow("hear", |ctx, _| async move {
            let heard = ctx.signals("word").recv().await;
            Ok(heard.input)
        })
        .up()
        .await;
    let release = stage.gates.hold(Method::Commit, when, releasing);
    let run = start(&engine, "hear", "hear-1").await;
    until(&engine, run, "TurnCompleted").await;
    // Another one needs its place, and does not get it before the release is done.
    start(&engine, "hear", "hear-2").await;
    release.reached().await;
    (engine, run, release)
}

fn word(text: &str) -> Signal {
    Signal { input: Some(Payload::json(text)), ..signal("word") }
}

async fn is_told(engine: &Engine, run: RunId) {
    let ending = ending(engine, run).await;
    assert_eq!(ending, RunEnding::Completed(Some(Payload::json("1"))));
}

/// The message comes while the run is still held, and its holder is about to let go.
#[tokio::test]
async fn a_message_before_the_release_wakes_the_run() {
    stage::each(async |stage| {
        let (engine, run, release) = evicted(&stage, When::Before).await;
        engine.signal(run, word("1")).await.expect("the signal is taken");
        release.release();
        is_told(&engine, run).await;
    })
    .await;
}

/// The message comes when the store has let go, and the holder does not know yet.
#[tokio::test]
async fn a_message_after_the_release_wakes_the_run() {
    stage::each(async |stage| {
        let (engine, run, release) = evicted(&stage, When::After).await;
        engine.signal(run, word("1")).await.expect("the signal is taken");
        release.release();
        is_told(&engine, run).await;
    })
    .await;
}

/// A cancel in the same two places.
#[tokio::test]
async fn a_cancel_beside_the_release_is_heard() {
    for when in [When::Before, When::After] {
        stage::each(async |stage| {
            let (engine, run, release) = evicted(&stage, when).await;
            let receipt = cancel(&engine, run).await;
            release.release();
            comes_clean(&engine, receipt).await;
            assert_eq!(engine.head(run).await.expect("it is there").status, Status::Cancelled);
        })
        .await;
    }
}

/// A run that has heard `go` and is about to close, or to go on as a new one.
async fn about_to_close(
    stage: &Stage,
    next: Option<&'static str>,
) -> (Engine, RunId, crate::support::gate::Held) {
    let engine = stage
        .builder()
        .flow("ends", move |ctx, _| async move {
            ctx.signals("go").recv().await;
            if let Some(next) = next {
                let name = Some(Name::from(next));
                let next = ContinueAsNew { name, ..ContinueAsNew::default() };
                match ctx.continue_as_new(next).await {}
            }
            Ok(None)
        })
        .flow("goes on", |ctx, _| async move { Ok(ctx.signals("word").recv().await.input) })
        .up()
        .await;
    let close = stage.gates.hold(Method::Commit, When::Before, closing);
    let run = start(&engine, "ends", "ends-1").await;
    engine.signal(run, signal("go")).await.expect("the signal is taken");
    close.reached().await;
    (engine, run, close)
}

/// The closing commit is decided when a signal is acknowledged: it stands in history, before the
/// closing event.
#[tokio::test]
async fn a_signal_that_is_acknowledged_beside_a_close_stands_in_history() {
    stage::each(async |stage| {
        let (engine, run, close) = about_to_close(&stage, None).await;
        engine.signal(run, word("1")).await.expect("the signal is taken");
        close.release();
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        let kinds = kinds(&engine, run).await;
        assert_eq!(kinds.iter().filter(|kind| **kind == "WorkflowSignalled").count(), 2);
        // And one that comes afterwards is refused, not lost in silence.
        let refused = engine.signal(run, word("2")).await.unwrap_err();
        assert!(matches!(refused, Error::Closed { status: Status::Completed, .. }), "{refused}");
    })
    .await;
}

/// A cancel that is acknowledged beside a close is a success too: its receipt is clean, and the
/// run has closed as its code wanted, or as cancelled; never both, never neither.
#[tokio::test]
async fn a_cancel_that_is_acknowledged_beside_a_close_ends_clean() {
    stage::each(async |stage| {
        let (engine, run, close) = about_to_close(&stage, None).await;
        let receipt = cancel(&engine, run).await;
        close.release();
        comes_clean(&engine, receipt).await;
        let events = history(&engine, run).await;
        let kinds: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
        assert!(kinds.contains(&"WorkflowCancelRequested"), "{kinds:?}");
        // The body had returned before it could be asked.
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    })
    .await;
}

/// A run is about to go on as a new one when a signal is acknowledged. Its code has not seen it,
/// so the new one does.
#[tokio::test]
async fn a_signal_beside_continue_as_new_is_not_lost() {
    stage::each(async |stage| {
        let (engine, run, close) = about_to_close(&stage, Some("goes on")).await;
        engine.signal(run, word("1")).await.expect("the signal is taken");
        close.release();
        is_told(&engine, run).await;
        let kinds = kinds(&engine, run).await;
        assert_eq!(kinds.iter().filter(|kind| **kind == "WorkflowSignalled").count(), 2);
    })
    .await;
}

/// A run is about to go on as a new one when its cancel is acknowledged. The whole chain stops.
#[tokio::test]
async fn n8_a_cancel_beside_continue_as_new_stops_the_chain() {
    stage::each(async |stage| {
        let (engine, run, close) = about_to_close(&stage, Some("goes on")).await;
        let receipt = cancel(&engine, run).await;
        close.release();
        let left = comes_clean(&engine, receipt).await;
        let last = left.runs.last().expect("the chain is listed");
        assert_eq!(last.status, Status::Cancelled, "{left:#?}");
    })
    .await;
}

/// The new run has begun, and its parent's answer is on the way, when the cancel comes for the
/// old one by its run id: it is closed, and that is a success; by its workflow id the cancel
/// finds the new one.
#[tokio::test]
async fn a_cancel_just_after_continue_as_new_finds_the_run_that_goes_on() {
    stage::each(async |stage| {
        let (engine, run, close) = about_to_close(&stage, Some("goes on")).await;
        let closed = stage.gates.hold(Method::Commit, When::After, closing);
        close.release();
        closed.reached().await;
        let request = bowline_engine::CancelRequest::new("enough", "alice");
        let receipt = engine.cancel(current("ends-1"), request).await.expect("it is taken");
        closed.release();
        let left = comes_clean(&engine, receipt).await;
        assert_ne!(left.runs[0].run, run);
        assert_eq!(left.runs[0].status, Status::Cancelled);
        let late = cancel(&engine, run).await;
        let left = comes_clean(&engine, late).await;
        assert_eq!(left.runs[0].status, Status::ContinuedAsNew);
    })
    .await;
}

/// R102: what the old run had outstanding is cancelled with cause `run_continued`, in the commit
/// that closes it, and nothing of it leaks into the new one.
#[tokio::test]
async fn r102_continue_as_new_cancels_what_the_old_run_left_behind() {
    stage::each(async |stage| {
        let probe = crate::support::probe::Probe::new();
        let engine =
            stage
                .builder()
                .flow("ends", |ctx, _| async move {
                    let _left = ctx.activity(crate::world::activity("work", "1")).start();
                    ctx.signals("go").recv().await;
                    let name = Some(Name::from("goes on"));
                    match ctx
                        .continue_as_new(ContinueAsNew { name, ..ContinueAsNew::default() })
                        .await {}
                })
                .flow("goes on", |_, _| async move { Ok(Some(Payload::json("1"))) })
                .activity("work", probe.obeys())
                .up()
                .await;
        let run = start(&engine, "ends", "ends-1").await;
        probe.has_begun(1).await;
        engine.signal(run, signal("go")).await.expect("the signal is taken");
        is_told(&engine, run).await;
        probe.has_ended(1).await;
        let codes: Vec<_> = probe.causes()[0].chain().map(|cause| cause.code).collect();
        assert!(codes.contains(&bowline_core::Code::RunContinued), "{codes:?}");
        let events = history(&engine, run).await;
        let closing = events.last().expect("it has events");
        assert_eq!(closing.kind.name(), "WorkflowContinuedAsNew");
        let told = events.iter().flat_map(|event| &event.notes).any(|note| match note {
            Note::Outstanding(left) => left.activities.count() == 1,
            Note::Cancels(all) => all.iter().any(|one| one.targets.count() == 1),
            _ => false,
        });
        assert!(told, "history says what became of it: {events:#?}");
    })
    .await;
}

/// R64, R65: the result of an activity arrives just after its run has closed. It changes nothing,
/// wakes nobody, and is not an orphan.
#[tokio::test]
async fn r64_a_result_that_arrives_after_the_close_changes_nothing() {
    stage::each(async |stage| {
        let probe = crate::support::probe::Probe::new();
        let engine = stage
            .builder()
            .flow("ends", |ctx, _| async move {
                let _left = ctx.activity(crate::world::activity("work", "1")).start();
                ctx.signals("go").recv().await;
                Ok(None)
            })
            .activity("work", probe.speaks_and_answers(|_| Ok(Some(Payload::json("7")))))
            .up()
            .await;
        let run = start(&engine, "ends", "ends-1").await;
        probe.has_begun(1).await;
        let settle =
            stage.gates.hold(Method::Settle, When::Before, |call| matches!(call, Call::Settle(_)));
        probe.finish(1);
        settle.reached().await;
        engine.signal(run, signal("go")).await.expect("the signal is taken");
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        let before = engine.head(run).await.expect("it is there");
        let receipt = cancel(&engine, run).await;
        settle.release();
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(engine.head(run).await.expect("it is there").version, before.version);
        assert!(left.attempts.iter().all(|line| !line.running), "{left:#?}");
    })
    .await;
}
