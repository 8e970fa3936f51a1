//! Receipts: a time for every hop, a phase for every wait, and no proof where something is left.

use std::{sync::mpsc::sync_channel, time::Duration};

use bowline_core::{Failure, RunEnding, RunId, Rung, Status};
use bowline_engine::{CancelRequest, Engine, Error};
use bowline_replay::Context;
use bowline_store::{
    Phase,
    memory::{Method, When},
};

use crate::{
    support::{
        code::{block_thread, once},
        flows::{Flows, cancelling, work},
        gate::Call,
        probe::Probe,
        stage::{self, Stage, cancel, comes_clean, reaches, settle_down},
    },
    world::{Code, ending, kinds, signal, start, until, within},
};

async fn fan(stage: &Stage, probe: &Probe) -> (Engine, RunId) {
    let builder = stage.builder().fan(work(60, 30), 1);
    let engine = builder.activity("work", probe.completes_late()).up().await;
    let run = start(&engine, "fan", "fan-1").await;
    probe.has_begun(1).await;
    (engine, run)
}

fn sightings(call: &Call<'_>) -> bool {
    matches!(call, Call::Renew(renewal) if !renewal.sightings.is_empty())
}

/// N1: a second passes between any two hops, and the receipt has each of them: requested, decided,
/// delivered and observed, stopped. Somebody waits for every phase, and is told when it comes.
#[tokio::test]
async fn n1_a_receipt_has_a_time_for_every_hop() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = fan(&stage, &probe).await;
        let begins = stage.after(0);
        let commit = stage.gates.hold(Method::Commit, When::Before, cancelling);
        let receipt = cancel(&engine, run).await;
        commit.reached().await;
        assert_eq!(engine.receipt(receipt).await.expect("it is there").phase(), Phase::Requested);
        stage.advance(1);
        commit.release();
        probe.was_told(1).await;
        reaches(&engine, receipt, Phase::Observed).await;
        stage.advance(1);
        probe.finish(1);
        let left = comes_clean(&engine, receipt).await;
        let after = |seconds| Some(begins.after(Duration::from_secs(seconds)));
        let row = left.receipt.as_ref().expect("the receipt itself");
        assert_eq!((Some(row.requested_at), row.cause.requested_by.as_str()), (after(0), "alice"));
        let line = &left.attempts[0];
        assert_eq!(line.decided_at, after(0), "the turn was decided before the second passed");
        assert_eq!((line.delivered_at, line.observed_at), (after(1), after(1)));
        assert_eq!((line.stopped_at, line.rung), (after(2), Some(Rung::Signal)));
        let run_line = left.runs[0].cancel.as_ref().expect("the run was cancelled");
        assert_eq!((Some(run_line.requested_at), run_line.decided_at), (after(0), after(0)));
        assert_eq!((left.runs[0].closed_at, left.runs[0].status), (after(2), Status::Cancelled));
    })
    .await;
}

/// Until so many have heard, at least.
async fn hear(count: usize, told: impl Fn() -> usize) {
    let enough = async {
        while told() < count {
            tokio::task::yield_now().await;
        }
    };
    within("those who wait", enough).await;
}

/// N1, K21: whoever waits for a phase is woken by it, one after the other.
#[tokio::test]
async fn n1_each_phase_can_be_waited_for() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = fan(&stage, &probe).await;
        let commit = stage.gates.hold(Method::Commit, When::Before, cancelling);
        let receipt = cancel(&engine, run).await;
        commit.reached().await;
        let mut waits = Vec::new();
        for phase in [
            Phase::Requested,
            Phase::Decided,
            Phase::Delivered,
            Phase::Observed,
            Phase::Stopped,
            Phase::Settled,
            Phase::Clean,
        ] {
            let engine = engine.clone();
            waits.push(tokio::spawn(async move { engine.wait(receipt, phase).await }));
        }
        let told = |waits: &[tokio::task::JoinHandle<_>]| {
            waits.iter().filter(|wait| wait.is_finished()).count()
        };
        hear(1, || told(&waits)).await;
        settle_down(&engine, run).await;
        assert_eq!(told(&waits), 1, "only that it was requested");
        let renew = stage.gates.hold(Method::Renew, When::Before, sightings);
        commit.release();
        renew.reached().await;
        hear(2, || told(&waits)).await;
        settle_down(&engine, run).await;
        assert_eq!(told(&waits), 2, "it is decided, and the code may know; the store does not");
        renew.release();
        reaches(&engine, receipt, Phase::Observed).await;
        hear(4, || told(&waits)).await;
        settle_down(&engine, run).await;
        assert_eq!(told(&waits), 4, "its code still runs");
        probe.finish(1);
        for wait in waits {
            let left = within("each phase", wait).await.expect("no panic");
            left.expect("the receipt is there");
        }
    })
    .await;
}

/// K7: a second cancel changes neither the cause nor the clean-up; it has a receipt of its own,
/// which names who asked.
#[tokio::test]
async fn n8_a_second_cancel_has_its_own_receipt_and_disturbs_nothing() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = fan(&stage, &probe).await;
        let first = cancel(&engine, run).await;
        probe.was_told(1).await;
        let again = CancelRequest::new("me too", "bob");
        let second = engine.cancel(run, again).await.expect("it is taken");
        settle_down(&engine, run).await;
        probe.finish(1);
        let left = comes_clean(&engine, first).await;
        assert_eq!(left.receipt.expect("it is there").cause.requested_by.as_str(), "alice");
        let left = comes_clean(&engine, second).await;
        assert_eq!(left.receipt.expect("it is there").cause.requested_by.as_str(), "bob");
        let cause = left.attempts[0].cause.clone().expect("it was cancelled");
        assert_eq!(cause.root().requested_by.as_str(), "alice", "the first cause stays");
        assert_eq!(probe.causes().len(), 1, "the code is told once");
        let kinds = kinds(&engine, run).await;
        assert_eq!(kinds.iter().filter(|k| **k == "WorkflowCancelRequested").count(), 1);
        // R21: and one that comes when all is over is a success.
        let third = cancel(&engine, run).await;
        comes_clean(&engine, third).await;
    })
    .await;
}

/// The same request, sent twice, is one request.
#[tokio::test]
async fn a_cancel_that_is_sent_again_under_its_request_id_counts_once() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = fan(&stage, &probe).await;
        let request =
            CancelRequest { request_id: "r1".into(), ..CancelRequest::new("enough", "alice") };
        let receipts = [
            engine.cancel(run, request.clone()).await.expect("it is taken"),
            engine.cancel(run, request).await.expect("it is taken again"),
        ];
        probe.was_told(1).await;
        probe.finish(1);
        for receipt in receipts {
            comes_clean(&engine, receipt).await;
        }
    })
    .await;
}

/// N2, N3: a thread that cannot be stopped is given up: settled, and clean is refused, naming it,
/// until the thread has ended after all.
#[tokio::test]
async fn n3_a_leak_keeps_a_receipt_from_clean_until_it_ends() {
    stage::each(async |stage| {
        let (release, released) = sync_channel::<()>(0);
        let code = once(released, |ctx, released| async move {
            drop(block_thread(&ctx, released).await);
            ctx.heartbeat(None);
            ctx.cancelled().await;
            Err(Failure::new("gave up"))
        });
        let builder = stage.builder().fan(work(10, 5), 1);
        let engine = builder.activity("work", code).up().await;
        let beats =
            stage.gates.hold(Method::Renew, When::After, |call| matches!(call, Call::Other));
        let run = start(&engine, "fan", "fan-1").await;
        beats.reached().await;
        beats.release();
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Observed).await;
        stage.passes(10).await;
        stage.passes(5).await;
        let left = reaches(&engine, receipt, Phase::Settled).await;
        assert_eq!((left.phase(), left.remainder().leaked.len()), (Phase::Settled, 1));
        let line = &left.remainder().leaked[0];
        assert_eq!((line.rung, line.stopped_at), (Some(Rung::Abandon), None));
        assert!(!left.clean());
        assert!(engine.orphans().await.expect("they are listed").is_empty(), "N2");
        stage.advance(1);
        drop(release);
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(left.attempts[0].stopped_at, Some(stage.after(0)));
        assert!(matches!(ending(&engine, run).await, RunEnding::Cancelled(..)));
    })
    .await;
}

/// A workflow that swallows its cancel, here in a clean-up that waits for something else, is still
/// open: its receipt waits at decided, names it, and is neither settled nor clean.
#[tokio::test]
async fn a_swallowed_cancel_is_never_settled() {
    stage::each(async |stage| {
        let swallow = |ctx: Context, _| async move {
            let scope = ctx.scope(async {
                ctx.signals("never").recv().await;
                Ok(None)
            });
            let stays = scope.cleanup(async |ctx, _| {
                ctx.signals("enough").recv().await;
                Ok(())
            });
            Ok(stays.await?)
        };
        let engine = stage.builder().flow("swallow", swallow).up().await;
        let run = start(&engine, "swallow", "swallow-1").await;
        until(&engine, run, "TurnCompleted").await;
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Decided).await;
        stage.advance(20 * 24 * 3600);
        settle_down(&engine, run).await;
        let left = engine.receipt(receipt).await.expect("it is there");
        assert_eq!((left.phase(), left.settled(), left.clean()), (Phase::Decided, false, false));
        assert_eq!((left.runs[0].run, left.runs[0].status), (run, Status::Cancelling));
        engine.signal(run, signal("enough")).await.expect("the signal is taken");
        comes_clean(&engine, receipt).await;
    })
    .await;
}

/// Nobody has the code of this workflow: the cancel is durable, its receipt names the run and
/// waits, nobody else is held up, and a termination ends it.
#[tokio::test]
async fn a_cancel_of_a_run_that_nobody_can_run_waits_and_a_termination_ends_it() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(work(10, 5), 1);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "unknown", "unknown-1").await;
        let receipt = cancel(&engine, run).await;
        let healthy = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        probe.finish(1);
        assert_eq!(ending(&engine, healthy).await, RunEnding::Completed(None));
        let left = engine.receipt(receipt).await.expect("it is there");
        assert_eq!((left.phase(), left.runs[0].run), (Phase::Requested, run));
        let why = bowline_core::Cause::requested("for good", "alice");
        engine.terminate(run, why).await.expect("it is taken");
        comes_clean(&engine, receipt).await;
        assert!(matches!(ending(&engine, run).await, RunEnding::Terminated(_)));
    })
    .await;
}

/// The cancel waits for the process that has the code.
#[tokio::test]
async fn a_cancel_of_a_run_that_nobody_can_run_is_heard_by_who_can() {
    stage::each(async |stage| {
        let without = stage.process(stage.builder()).await;
        let run = start(&without.engine, "late", "late-1").await;
        let receipt = cancel(&without.engine, run).await;
        without.kill();
        stage.reopen();
        let code = |ctx: Context, _| async move {
            ctx.signals("never").recv().await;
            Ok(None)
        };
        let with = stage.process(stage.builder().flow("late", code)).await;
        comes_clean(&with.engine, receipt).await;
        assert!(matches!(ending(&with.engine, run).await, RunEnding::Cancelled(..)));
    })
    .await;
}

/// H9: a cancel, a signal or a termination for a run that does not exist is an error, and nobody
/// is held up by it; nor is one for a run that is closed.
#[tokio::test]
async fn h9_a_cancel_of_a_run_that_does_not_exist_is_an_error_and_wedges_nobody() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(work(10, 5), 1);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let nobody = RunId { uuid: 77, ..start(&engine, "fan", "fan-0").await };
        let request = CancelRequest::new("enough", "alice");
        let why = bowline_core::Cause::requested("enough", "alice");
        let refused = [
            engine.cancel(nobody, request.clone()).await.map(drop).unwrap_err(),
            engine.cancel(crate::world::current("nobody"), request).await.map(drop).unwrap_err(),
            engine.signal(nobody, signal("go")).await.map(drop).unwrap_err(),
            engine.terminate(nobody, why).await.map(drop).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, Error::NotFound("run")), "{error}");
        }
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(2).await;
        probe.finish(2);
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        let missing = engine.receipt(bowline_core::ReceiptId(77)).await.unwrap_err();
        assert!(matches!(missing, Error::NotFound("receipt")), "{missing}");
    })
    .await;
}

/// N8, delete: a run that is deleted while it works is terminated with cause `deleted`; its code
/// is told, and its rows go when nothing of it is left and no receipt wants them.
#[tokio::test]
async fn n8_a_deleted_run_stops_and_then_its_rows_go() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(work(10, 5), 1);
        let engine = builder
            .receipts_kept(Duration::from_secs(60))
            .activity("work", probe.obeys())
            .up()
            .await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let why = bowline_core::Cause::requested("tidy up", "alice");
        let receipt = engine.delete(run, why).await.expect("it is taken").expect("it was open");
        probe.was_told(1).await;
        let codes: Vec<_> = probe.causes()[0].chain().map(|cause| cause.code).collect();
        assert_eq!(codes.last(), Some(&bowline_core::Code::Deleted), "{codes:?}");
        let ended = ending(&engine, run).await;
        assert!(matches!(ended, RunEnding::Terminated(_)), "{ended:?}");
        comes_clean(&engine, receipt).await;
        stage.passes(60).await;
        let gone = async {
            while engine.head(run).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        within("its rows to go", gone).await;
        let reused = start(&engine, "fan", "fan-1").await;
        assert_ne!(reused, run);
    })
    .await;
}
