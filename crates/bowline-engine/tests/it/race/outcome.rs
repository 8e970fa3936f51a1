//! Result ‖ cancel ‖ abandon ‖ timeout, in each order: an activity has one outcome, the first that
//! gets to its row; whatever comes later is a late result, and the slot is freed once.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivityLive, ActivitySpec, End, EventKind, Failure, Ladder, Outcome, Payload, RunEnding,
    RunId, Span, Timeouts,
};
use bowline_engine::{Engine, worker::registry::ActivityCode};
use bowline_store::{
    Read, RunKey,
    memory::{Method, When},
};

use crate::{
    support::{
        flows::{Flows, any, cancelling, work},
        probe::Probe,
        stage::{self, Stage, settle_down, slots},
    },
    world::{Code, activity, ending, history, signal, start, text, until},
};

/// A workflow that cancels its activity when it hears `stop`, waits for the outcome, runs another
/// activity in the only slot that there is, and returns the first one's outcome as text.
async fn asks(stage: &Stage, spec: ActivitySpec, code: Arc<dyn ActivityCode>) -> (Engine, RunId) {
    let engine = stage
        .builder_with(slots(1))
        .flow("asks", move |ctx, _| {
            let spec = spec.clone();
            async move {
                let call = ctx.activity(spec).start();
                ctx.signals("stop").recv().await;
                let outcome = call.cancel().await;
                let next = ctx.activity(activity("next", "1")).await;
                assert!(matches!(next, Outcome::Completed(_)), "the slot is free: {next:?}");
                Ok(Some(Payload::json(told(&outcome))))
            }
        })
        .activity("work", code)
        .act("next", |_, _| async { Ok(None) })
        .up()
        .await;
    let run = start(&engine, "asks", "asks-1").await;
    (engine, run)
}

fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed(result) => format!("completed {}", text(result)),
        Outcome::Failed(failure) => format!("failed {}", failure.message),
        Outcome::TimedOut(timeout) => format!("timed out {timeout:?}"),
        Outcome::Cancelled(cause, rung, _) => format!("cancelled {:?} {rung:?}", cause.code),
        other => format!("{other:?}"),
    }
}

fn seven() -> Payload {
    Payload::json("7")
}

async fn stop(engine: &Engine, run: RunId) {
    engine.signal(run, signal("stop")).await.expect("the signal is taken");
}

async fn ends_as(engine: &Engine, run: RunId, said: &str) {
    let ending = ending(engine, run).await;
    let RunEnding::Completed(result) = &ending else { panic!("{ending:?}") };
    assert_eq!(text(result), said);
    // One outcome stands in history, and it is the one that the code saw.
    let events = history(engine, run).await;
    let outcomes = events.iter().filter(|event| {
        matches!(
            event.kind,
            EventKind::ActivityCompleted(_)
                | EventKind::ActivityFailed(_)
                | EventKind::ActivityTimedOut(_)
                | EventKind::ActivityCancelled(_)
        )
    });
    assert_eq!(outcomes.count(), 2, "one of each activity");
}

/// The row of the activity that has ended.
async fn row(engine: &Engine, run: RunId) -> ActivityLive {
    let read = Read { activities_max: 10, ..Read::head(RunKey::Run(run)) };
    let rows = engine.read(read).await.expect("the run is there").activities;
    let mut rows = rows.into_iter().map(|row| row.live).filter(|live| live.ended().is_some());
    rows.next().expect("its row is kept")
}

/// Its end.
async fn end(engine: &Engine, run: RunId) -> End {
    row(engine, run).await.ended().expect("it has ended").clone()
}

/// Waits until what came late stands on the row, and nothing of it runs any more.
async fn late(engine: &Engine, run: RunId) -> Option<Outcome> {
    for _ in 0..1_000 {
        let live = row(engine, run).await;
        let late = live.ended().and_then(|end| end.late.clone());
        if late.is_some() && !live.unseen.may_run() {
            return late;
        }
        settle_down(engine, run).await;
    }
    panic!("nothing came late: {:?}", end(engine, run).await);
}

fn late_success() -> Option<Outcome> {
    Some(Outcome::Completed(Some(Payload::json("\"late\""))))
}

#[tokio::test]
async fn result_then_cancel_is_a_result() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let code = probe.answers(|_| Ok(Some(seven())));
        let (engine, run) = asks(&stage, work(10, 5), code).await;
        probe.finish(1);
        until(&engine, run, "ActivityCompleted").await;
        stop(&engine, run).await;
        ends_as(&engine, run, "completed 7").await;
        assert_eq!(stage.gates.cancels(), [], "nothing was left to be cancelled");
    })
    .await;
}

/// R66, R64: the code is done, its report is on the way, and the cancel is decided first. Whoever
/// waits for the outcome receives the late success.
#[tokio::test]
async fn r66_cancel_then_the_report_of_a_result_is_a_result() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let code = probe.speaks_and_answers(|_| Ok(Some(seven())));
        let (engine, run) = asks(&stage, work(10, 5), code).await;
        let settle = stage.gates.hold(Method::Settle, When::Before, any);
        probe.finish(1);
        settle.reached().await;
        let decided = stage.gates.hold(Method::Commit, When::After, cancelling);
        stop(&engine, run).await;
        decided.reached().await;
        decided.release();
        settle.release();
        ends_as(&engine, run, "completed 7").await;
    })
    .await;
}

/// R66: the outcome stands in the inbox, and nobody has read it, when the cancel is decided.
#[tokio::test]
async fn r66_cancel_after_the_outcome_was_enqueued_is_a_result() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let code = probe.speaks_and_answers(|_| Ok(Some(seven())));
        let (engine, run) = asks(&stage, work(10, 5), code).await;
        probe.has_begun(1).await;
        // The turn that hears `stop` is decided before the outcome comes, and written after.
        let commit = stage.gates.hold(Method::Commit, When::Before, cancelling);
        stop(&engine, run).await;
        commit.reached().await;
        let settled = stage.gates.hold(Method::Settle, When::After, any);
        probe.finish(1);
        settled.reached().await;
        settled.release();
        commit.release();
        ends_as(&engine, run, "completed 7").await;
    })
    .await;
}

/// R65: told, and done nevertheless: history holds the cancel and then the completion.
#[tokio::test]
async fn r65_cancel_then_result_is_a_late_success_for_who_waits() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = asks(&stage, work(10, 5), probe.completes_late()).await;
        probe.has_begun(1).await;
        stop(&engine, run).await;
        probe.was_told(1).await;
        probe.finish(1);
        ends_as(&engine, run, "completed \"late\"").await;
    })
    .await;
}

#[tokio::test]
async fn cancel_then_an_error_is_a_cancel() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = asks(&stage, work(10, 5), probe.obeys()).await;
        probe.has_begun(1).await;
        stop(&engine, run).await;
        ends_as(&engine, run, "cancelled Requested Signal").await;
    })
    .await;
}

/// Code that failed before it could know of the cancel failed for a reason of its own.
#[tokio::test]
async fn cancel_then_the_report_of_an_untold_failure_is_a_failure() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let code = probe.answers(|_| Err(Failure::new("no")));
        let (engine, run) = asks(&stage, work(10, 5), code).await;
        let settle = stage.gates.hold(Method::Settle, When::Before, any);
        probe.finish(1);
        settle.reached().await;
        let decided = stage.gates.hold(Method::Commit, When::After, cancelling);
        stop(&engine, run).await;
        decided.reached().await;
        decided.release();
        settle.release();
        ends_as(&engine, run, "failed no").await;
    })
    .await;
}

/// K5: code that was given up completes after all. The outcome stands; the result is kept beside
/// it, for people; and the slot, which was freed when it was given up, is not freed again.
#[tokio::test]
async fn k5_abandon_then_result_is_a_late_result() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = asks(&stage, detached(), probe.completes_late()).await;
        probe.has_begun(1).await;
        stop(&engine, run).await;
        probe.was_told(1).await;
        stage.passes(10).await;
        ends_as(&engine, run, "cancelled Requested Abandon").await;
        probe.finish(1);
        assert_eq!(late(&engine, run).await, late_success());
    })
    .await;
}

/// The two reports of one attempt come to the store in the order in which they happened.
#[tokio::test]
async fn abandon_beside_result_keeps_the_order() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = asks(&stage, detached(), probe.completes_late()).await;
        probe.has_begun(1).await;
        stop(&engine, run).await;
        probe.was_told(1).await;
        let settle = stage.gates.hold(Method::Settle, When::Before, any);
        stage.passes(10).await;
        settle.reached().await;
        probe.finish(1);
        probe.has_ended(1).await;
        settle_down(&engine, run).await;
        settle.release();
        ends_as(&engine, run, "cancelled Requested Abandon").await;
        assert_eq!(late(&engine, run).await, late_success());
    })
    .await;
}

/// A limit passes; the result that comes afterwards is late.
#[tokio::test]
async fn timeout_then_result_is_a_late_result() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = asks(&stage, limited(), probe.completes_late()).await;
        probe.has_begun(1).await;
        stage.passes(5).await;
        until(&engine, run, "ActivityTimedOut").await;
        assert!(row(&engine, run).await.unseen.may_run(), "its code is known to run on");
        probe.finish(1);
        stop(&engine, run).await;
        ends_as(&engine, run, "timed out StartToClose").await;
        assert_eq!(late(&engine, run).await, late_success());
    })
    .await;
}

/// A limit has passed, and its report is on the way when the cancel is decided.
#[tokio::test]
async fn cancel_then_the_report_of_a_timeout_is_a_timeout() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = asks(&stage, limited(), probe.obeys()).await;
        probe.has_begun(1).await;
        let settle = stage.gates.hold(Method::Settle, When::Before, any);
        stage.passes(5).await;
        settle.reached().await;
        let decided = stage.gates.hold(Method::Commit, When::After, cancelling);
        stop(&engine, run).await;
        decided.reached().await;
        decided.release();
        settle.release();
        ends_as(&engine, run, "timed out StartToClose").await;
    })
    .await;
}

/// Code that was told has its ladder; its limits do not count any more.
#[tokio::test]
async fn cancel_then_a_limit_that_passes_is_a_cancel() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = asks(&stage, limited(), probe.ignores()).await;
        probe.has_begun(1).await;
        let decided = stage.gates.hold(Method::Commit, When::After, cancelling);
        stop(&engine, run).await;
        decided.reached().await;
        decided.release();
        stage.passes(10).await;
        ends_as(&engine, run, "cancelled Requested Abort").await;
    })
    .await;
}

/// R33: a panic in the grace period is a stop like any other.
#[tokio::test]
async fn r33_a_panic_in_the_grace_period_is_a_cancel() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = asks(&stage, work(10, 5), probe.panics()).await;
        probe.has_begun(1).await;
        stop(&engine, run).await;
        ends_as(&engine, run, "cancelled Requested Signal").await;
    })
    .await;
}

/// Given up when its grace period is over, and neither aborted nor killed.
fn detached() -> ActivitySpec {
    let ladder = Ladder { detach: true, ..work(10, 5).ladder };
    ActivitySpec { ladder, ..work(10, 5) }
}

/// Five seconds for an attempt, ten to stop.
fn limited() -> ActivitySpec {
    let start_to_close = Some(Span(Duration::from_secs(5)));
    ActivitySpec { timeouts: Timeouts { start_to_close, ..Timeouts::default() }, ..work(10, 5) }
}
