//! Claim ‖ cancel, and retry ‖ cancel: no user code is first polled after its cancel was
//! acknowledged, whether that is a record on its row or a mark on its run.

use bowline_core::{Failure, Note, RunId, Rung, Status};
use bowline_engine::Engine;
use bowline_store::{
    Phase,
    memory::{Method, When},
};

use crate::{
    support::{
        flows::{Flows, any, claimed, claimed_attempt, retried, starting, work},
        probe::Probe,
        stage::{self, Stage, cancel, comes_clean, reaches, settle_down, slots},
    },
    world::{QUEUE, history, kinds, start, until},
};

/// So many activities wait in their queue, because nobody has a slot for them.
async fn queued(stage: &Stage, probe: &Probe, count: usize) -> (Engine, RunId) {
    let builder = stage.builder_with(slots(0)).fan(work(10, 5), count);
    let engine = builder.activity("work", probe.obeys()).up().await;
    let run = start(&engine, "fan", "fan-1").await;
    until(&engine, run, "ActivityScheduled").await;
    (engine, run)
}

fn open(engine: &Engine, count: usize) {
    engine.configure(QUEUE, slots(count)).expect("the queue is known");
}

/// The store has started it, and the worker has not heard so yet when the cancel is decided. Its
/// code is never polled, and the attempt ends as one that never ran.
#[tokio::test]
async fn r66_what_is_claimed_and_cancelled_before_its_first_poll_never_runs() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = queued(&stage, &probe, 1).await;
        let claim = stage.gates.hold(Method::ClaimActivities, When::After, claimed);
        open(&engine, 1);
        claim.reached().await;
        let receipt = cancel(&engine, run).await;
        let left = reaches(&engine, receipt, Phase::Decided).await;
        assert_eq!(left.attempts.len(), 1, "the store has started it");
        settle_down(&engine, run).await;
        claim.release();
        comes_clean(&engine, receipt).await;
        assert_eq!(probe.begun(), 0);
        let events = history(&engine, run).await;
        let ended = events.iter().find(|event| event.kind.name() == "ActivityCancelled");
        let notes = &ended.expect("the outcome stands in history").notes;
        assert!(notes.contains(&Note::Rung(Rung::NeverStarted)), "{notes:?}");
    })
    .await;
}

/// The claim comes when the cancel is already decided: there is nothing to be claimed.
#[tokio::test]
async fn r103_what_is_cancelled_before_the_claim_never_starts() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = queued(&stage, &probe, 1).await;
        let claim = stage.gates.hold(Method::ClaimActivities, When::Before, any);
        open(&engine, 1);
        claim.reached().await;
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Decided).await;
        claim.release();
        let left = comes_clean(&engine, receipt).await;
        assert_eq!((probe.begun(), left.never_started, left.attempts.len()), (0, 1, 0));
        assert!(!kinds(&engine, run).await.contains(&"ActivityStarted"));
    })
    .await;
}

/// The same with a mark: of a hundred activities ten are claimed when all are cancelled by one
/// range. Not one of them runs.
#[tokio::test]
async fn marked_activities_that_are_claimed_before_the_mark_are_not_polled_after_it() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = queued(&stage, &probe, 100).await;
        let claim = stage.gates.hold(Method::ClaimActivities, When::After, claimed);
        open(&engine, 10);
        claim.reached().await;
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Decided).await;
        settle_down(&engine, run).await;
        claim.release();
        let left = comes_clean(&engine, receipt).await;
        assert_eq!((probe.begun(), left.never_started), (0, 90));
        assert_eq!(stage.gates.cancels().len(), 1, "one commit has decided it");
        assert_eq!(stage.gates.cancels()[0].ranges, 1);
    })
    .await;
}

#[tokio::test]
async fn marked_activities_are_skipped_by_a_claim_that_comes_after_the_mark() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run) = queued(&stage, &probe, 100).await;
        let claim = stage.gates.hold(Method::ClaimActivities, When::Before, any);
        open(&engine, 10);
        claim.reached().await;
        let sweep = stage.gates.hold(Method::Sweep, When::Before, any);
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Decided).await;
        // The rows are still there: only the mark keeps them from being claimed.
        sweep.reached().await;
        claim.release();
        settle_down(&engine, run).await;
        assert_eq!(probe.begun(), 0);
        sweep.release();
        let left = comes_clean(&engine, receipt).await;
        assert_eq!((probe.begun(), left.never_started), (0, 100));
    })
    .await;
}

/// The commit that schedules the activity also starts it, and its answer is on the way when the
/// run is terminated: the code is not polled any more.
#[tokio::test]
async fn what_a_commit_started_is_not_polled_after_its_run_was_terminated() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(work(10, 5), 1);
        let engine = builder.activity("work", probe.obeys()).up().await;
        stage.rests().await;
        let commit = stage.gates.hold(Method::Commit, When::After, starting);
        let run = start(&engine, "fan", "fan-1").await;
        commit.reached().await;
        let cause = bowline_core::Cause::requested("enough", "alice");
        let receipt = engine.terminate(run, cause).await.expect("the termination is taken");
        reaches(&engine, receipt, Phase::Decided).await;
        settle_down(&engine, run).await;
        commit.release();
        let left = comes_clean(&engine, receipt).await;
        assert_eq!((probe.begun(), left.runs[0].status), (0, Status::Terminated));
    })
    .await;
}

/// The attempt has failed, and its report is on the way when the cancel is decided: it is not
/// tried again.
#[tokio::test]
async fn a_failure_that_is_reported_after_the_cancel_is_not_retried() {
    stage::each(async |stage| {
        let (probe, engine, run) = failing(&stage).await;
        let settle = stage.gates.hold(Method::Settle, When::Before, any);
        probe.finish(1);
        settle.reached().await;
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Decided).await;
        settle.release();
        comes_clean(&engine, receipt).await;
        stage.advance(3600);
        settle_down(&engine, run).await;
        assert_eq!(probe.attempts(), ["attempt 1"]);
    })
    .await;
}

/// The attempt waits for its next try when the cancel is decided: it never comes.
#[tokio::test]
async fn a_retry_that_waits_when_the_cancel_is_decided_never_comes() {
    stage::each(async |stage| {
        let (probe, engine, run) = failing(&stage).await;
        let settled = stage.gates.hold(Method::Settle, When::After, any);
        probe.finish(1);
        settled.reached().await;
        settled.release();
        let receipt = cancel(&engine, run).await;
        comes_clean(&engine, receipt).await;
        stage.advance(3600);
        settle_down(&engine, run).await;
        assert_eq!(probe.attempts(), ["attempt 1"]);
    })
    .await;
}

/// The next try is claimed and not yet polled when the cancel is decided.
#[tokio::test]
async fn a_retry_that_is_claimed_when_the_cancel_is_decided_is_never_polled() {
    stage::each(async |stage| {
        let (probe, engine, run) = failing(&stage).await;
        let settled = stage.gates.hold(Method::Settle, When::After, any);
        let claim = stage.gates.hold(Method::ClaimActivities, When::After, claimed_attempt(2));
        probe.finish(1);
        settled.reached().await;
        settled.release();
        settle_down(&engine, run).await;
        stage.advance(60);
        claim.reached().await;
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Decided).await;
        settle_down(&engine, run).await;
        claim.release();
        comes_clean(&engine, receipt).await;
        assert_eq!(probe.attempts(), ["attempt 1"]);
    })
    .await;
}

/// A hundred activities wait for their second try when a mark covers them: none is tried again,
/// swept or not.
#[tokio::test]
async fn retries_that_wait_under_a_mark_never_come() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let no = |_: &_| Err(Failure::new("no"));
        let builder = stage.builder().fan(retried(60, 0), 100);
        let engine = builder.activity("work", probe.answers(no)).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(100).await;
        probe.finish(100);
        probe.has_ended(100).await;
        // Every end stands on its row when nothing of the run is in a worker's hands.
        while engine.leftovers(run).await.expect("it is there").queued < 100 {
            settle_down(&engine, run).await;
        }
        let sweep = stage.gates.hold(Method::Sweep, When::Before, any);
        let receipt = cancel(&engine, run).await;
        sweep.reached().await;
        reaches(&engine, receipt, Phase::Decided).await;
        stage.advance(60);
        settle_down(&engine, run).await;
        sweep.release();
        comes_clean(&engine, receipt).await;
        assert_eq!(probe.begun(), 100);
    })
    .await;
}

/// A run with one activity that runs, will fail when it is let go, and would be tried again a
/// minute later.
async fn failing(stage: &Stage) -> (Probe, Engine, RunId) {
    let probe = Probe::new();
    let no = |_: &_| Err(Failure::new("no"));
    let builder = stage.builder().fan(retried(60, 0), 1);
    let engine = builder.activity("work", probe.answers(no)).up().await;
    let run = start(&engine, "fan", "fan-1").await;
    probe.has_begun(1).await;
    (probe, engine, run)
}
