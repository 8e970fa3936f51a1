//! Done, but an error was seen: whatever the store did once is done once, however often it is
//! asked again.

use std::time::Duration;

use bowline_core::{Cause, ChildSpec, CommitId, Ending, Failure, Fence, Payload, RunEnding, Step};
use bowline_engine::{Engine, StartOptions};
use bowline_store::{
    Commit, Phase, Proof, Read, RunKey, Settle,
    memory::{Method, When},
};

use crate::{
    support::{
        flows::{Flows, any, cancelling, closing, rang, retried, starting, work},
        gate::Call,
        probe::Probe,
        stage::{self, Stage, cancel, comes_clean, settle_down},
    },
    world::{Code, QUEUE, ending, kinds, signal, start, until, within},
};

async fn fan(stage: &Stage, probe: &Probe) -> Engine {
    let builder = stage.builder().fan(work(10, 5), 1);
    let engine = builder.activity("work", probe.obeys()).up().await;
    stage.rests().await;
    engine
}

/// A turn that is written together with the end of an attempt.
fn ending_one(call: &Call<'_>) -> bool {
    matches!(call, Call::Commit(commit) if !commit.ended.is_empty())
}

/// Lets the outcome of a call be unknown, twice; waits for both, and for the pauses after them.
async fn unknown_twice(
    stage: &Stage,
    method: Method,
    which: fn(&Call<'_>) -> bool,
    asks: impl Future<Output = ()>,
) {
    stage.gates.fail(method, When::After, which);
    stage.gates.fail(method, When::After, which);
    asks.await;
    stage.pauses(20).await;
    stage.pauses(40).await;
    assert_eq!(stage.gates.failures_left(), 0);
}

/// A turn that starts an activity: its code runs once.
#[tokio::test]
async fn a_commit_that_starts_an_attempt_starts_it_once() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let engine = fan(&stage, &probe).await;
        unknown_twice(&stage, Method::Commit, starting, async {
            start(&engine, "fan", "fan-1").await;
        })
        .await;
        let run = engine.current("fan-1").await.expect("it is there").run;
        probe.has_begun(1).await;
        probe.finish(1);
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        assert_eq!(probe.attempts(), ["attempt 1"]);
    })
    .await;
}

/// A turn that cancels: the answer that names the attempt is lost, and yet its code is told.
#[tokio::test]
async fn a_commit_that_cancels_reaches_the_code() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let engine = fan(&stage, &probe).await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        stage.gates.fail(Method::Commit, When::After, cancelling);
        let receipt = cancel(&engine, run).await;
        stage.pauses(20).await;
        comes_clean(&engine, receipt).await;
        assert_eq!(probe.causes().len(), 1);
    })
    .await;
}

/// A turn that closes: there is one closing event, and its parent hears once.
#[tokio::test]
async fn a_commit_that_closes_closes_once() {
    stage::each(async |stage| {
        let engine = stage
            .builder()
            .flow("parent", |ctx, _| async move {
                let child = ChildSpec { name: "child".into(), ..Default::default() };
                ctx.child(child).await
            })
            .flow("child", |_, _| async { Ok(Some(Payload::json("7"))) })
            .up()
            .await;
        let tells_its_parent = |call: &Call<'_>| {
            closing(call) && matches!(call, Call::Commit(commit) if !commit.posts.is_empty())
        };
        unknown_twice(&stage, Method::Commit, tells_its_parent, async {
            start(&engine, "parent", "parent-1").await;
        })
        .await;
        let run = engine.current("parent-1").await.expect("it is there").run;
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("7"))));
        let kinds = kinds(&engine, run).await;
        assert_eq!(kinds.iter().filter(|kind| **kind == "ChildCompleted").count(), 1);
    })
    .await;
}

/// A start without a request id of the caller's own.
#[tokio::test]
async fn a_start_starts_once() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let engine = fan(&stage, &probe).await;
        let options = StartOptions::new("fan", "fan-1", QUEUE, None);
        let starting = tokio::spawn({
            let engine = engine.clone();
            async move { engine.start(options).await }
        });
        unknown_twice(&stage, Method::Post, any, async {}).await;
        let started = within("the start", starting).await.expect("it does not panic");
        let run = started.expect("its own run does not stand in its way");
        assert_eq!(engine.current("fan-1").await.expect("it is there").run, run);
        probe.finish(1);
        ending(&engine, run).await;
        assert_eq!(probe.begun(), 1);
    })
    .await;
}

/// A signal without a request id of the sender's own is heard once.
#[tokio::test]
async fn a_signal_is_heard_once() {
    stage::each(async |stage| {
        let engine = stage
            .builder()
            .flow("hears", |ctx, _| async move {
                ctx.signals("end").recv().await;
                Ok(Some(Payload::json(ctx.signals("word").waiting().to_string())))
            })
            .up()
            .await;
        let run = start(&engine, "hears", "hears-1").await;
        until(&engine, run, "TurnCompleted").await;
        let sending = tokio::spawn({
            let engine = engine.clone();
            async move { engine.signal(run, signal("word")).await }
        });
        unknown_twice(&stage, Method::Post, any, async {}).await;
        within("the signal", sending).await.expect("no panic").expect("the signal is taken");
        // Two signals that only look alike are two.
        engine.signal(run, signal("word")).await.expect("the signal is taken");
        engine.signal(run, signal("end")).await.expect("the signal is taken");
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("2"))));
    })
    .await;
}

/// A cancel and a termination, each with its receipt.
#[tokio::test]
async fn a_cancel_and_a_termination_count_once() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let engine = fan(&stage, &probe).await;
        for (number, id) in ["fan-1", "fan-2"].into_iter().enumerate() {
            let run = start(&engine, "fan", id).await;
            probe.has_begun(number + 1).await;
            let asking = tokio::spawn({
                let engine = engine.clone();
                async move {
                    match number {
                        0 => cancel(&engine, run).await,
                        _ => {
                            let cause = Cause::requested("enough", "alice");
                            engine.terminate(run, cause).await.expect("it is taken")
                        }
                    }
                }
            });
            unknown_twice(&stage, Method::Post, any, async {}).await;
            let receipt = within("the receipt", asking).await.expect("no panic");
            comes_clean(&engine, receipt).await;
            let closers = ["WorkflowCancelRequested", "WorkflowTerminated"];
            let kinds = kinds(&engine, run).await;
            assert_eq!(kinds.iter().filter(|kind| closers.contains(kind)).count(), 1);
        }
    })
    .await;
}

/// The report of a result: one outcome, and no late result beside it.
#[tokio::test]
async fn a_result_is_settled_once() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let engine = fan(&stage, &probe).await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        unknown_twice(&stage, Method::Commit, ending_one, async { probe.finish(1) }).await;
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        let kinds = kinds(&engine, run).await;
        assert_eq!(kinds.iter().filter(|kind| **kind == "ActivityCompleted").count(), 1);
    })
    .await;
}

/// The same, where the end is reported by itself.
#[tokio::test]
async fn a_result_that_is_reported_alone_is_settled_once() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(work(10, 5), 1);
        let code = probe.speaks_and_answers(|_| Ok(None));
        let engine = builder.activity("work", code).up().await;
        stage.rests().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        unknown_twice(&stage, Method::Settle, any, async { probe.finish(1) }).await;
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        let kinds = kinds(&engine, run).await;
        assert_eq!(kinds.iter().filter(|kind| **kind == "ActivityCompleted").count(), 1);
    })
    .await;
}

/// The report of a failure that is tried again counts as one attempt.
#[tokio::test]
async fn a_failure_is_counted_once() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let no = |_: &_| Err(Failure::new("no"));
        let builder = stage.builder().fan(retried(60, 2), 1);
        let engine = builder.activity("work", probe.answers(no)).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        unknown_twice(&stage, Method::Settle, any, async { probe.finish(1) }).await;
        settle_down(&engine, run).await;
        stage.advance(60);
        probe.has_begun(2).await;
        probe.finish(1);
        assert!(matches!(ending(&engine, run).await, RunEnding::Failed(..)));
        assert_eq!(probe.attempts(), ["attempt 1", "attempt 2"]);
    })
    .await;
}

/// The report of a stop after a cancel: its row tells of one end, and of nothing late.
#[tokio::test]
async fn a_stop_is_settled_once_and_is_not_late() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(work(10, 5), 1);
        let engine = builder.activity("work", probe.completes_late()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let receipt = cancel(&engine, run).await;
        probe.was_told(1).await;
        unknown_twice(&stage, Method::Settle, any, async { probe.finish(1) }).await;
        let left = comes_clean(&engine, receipt).await;
        assert!(!left.attempts[0].late, "its own report is not a late one: {left:#?}");
    })
    .await;
}

/// An alarm rings once.
#[tokio::test]
async fn a_timer_fires_once() {
    stage::each(async |stage| {
        let engine = stage
            .builder()
            .flow("sleeps", |ctx, _| async move {
                ctx.timer(Duration::from_secs(60)).await.expect("nobody cancels it");
                Ok(None)
            })
            .up()
            .await;
        let run = start(&engine, "sleeps", "sleeps-1").await;
        until(&engine, run, "TimerStarted").await;
        stage.gates.fail(Method::Fire, When::After, rang);
        stage.passes(60).await;
        stage.pauses(20).await;
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        let kinds = kinds(&engine, run).await;
        assert_eq!(kinds.iter().filter(|kind| **kind == "TimerFired").count(), 1);
    })
    .await;
}

/// The commit that started an attempt was done, but before that is known somebody else has
/// written to the run: the turn is decided again, and the attempt, which nobody runs, goes back
/// into its queue.
#[tokio::test]
async fn an_attempt_whose_starting_commit_is_lost_in_a_conflict_is_not_stuck() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let engine = fan(&stage, &probe).await;
        stage.gates.fail(Method::Commit, When::After, starting);
        let run = start(&engine, "fan", "fan-1").await;
        until(&engine, run, "ActivityScheduled").await;
        let head = engine.head(run).await.expect("the run is there");
        let other = Commit::unchanged(&head, CommitId(77), stage.after(0));
        stage.store().commit(vec![other]).await.remove(0).expect("it is harmless");
        stage.pauses(20).await;
        probe.has_begun(1).await;
        probe.finish(1);
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        assert_eq!(probe.attempts(), ["attempt 2"], "the first one was never polled");
    })
    .await;
}

/// A claim was done, and its answer is lost: the runs and the activities that it took are not
/// stuck in the hands of somebody who does not know of them.
#[tokio::test]
async fn what_a_claim_took_whose_answer_was_lost_is_found_again() {
    stage::each(async |stage| {
        let probe = Probe::new();
        // Nobody but a claim takes a child: what is started from outside is held at once.
        let builder = stage.builder_with(stage::slots(0)).fan(work(10, 5), 3);
        let builder = builder.flow("parent", |ctx, _| async move {
            let (name, workflow_id, queue) = ("fan".into(), "fan-1".into(), QUEUE.into());
            let child = ChildSpec { name, workflow_id, queue, ..ChildSpec::default() };
            ctx.child(child).await.expect("it completes");
            Ok(None)
        });
        let engine = builder.activity("work", probe.obeys()).up().await;
        let some_runs = |call: &Call<'_>| matches!(call, Call::Runs([_, ..]));
        stage.gates.fail(Method::ClaimRuns, When::After, some_runs);
        start(&engine, "parent", "parent-1").await;
        stage.pauses(20).await;
        let run = engine.current("fan-1").await.expect("it was claimed, so it is there").run;
        until(&engine, run, "ActivityScheduled").await;
        stage.gates.fail(Method::ClaimActivities, When::After, crate::support::flows::claimed);
        engine.configure(QUEUE, stage::slots(2)).expect("the queue is known");
        stage.pauses(20).await;
        probe.has_begun(2).await;
        probe.finish(3);
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        assert_eq!(probe.begun(), 3, "each was polled once");
    })
    .await;
}

/// The same, and the run is closed before anybody looks: it is on no list of open runs any more,
/// and what the claim has taken ends all the same.
#[tokio::test]
async fn what_a_lost_claim_took_ends_although_its_run_has_closed() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder_with(stage::slots(0)).fan(work(10, 5), 3);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        until(&engine, run, "ActivityScheduled").await;
        stage.gates.fail(Method::ClaimActivities, When::After, crate::support::flows::claimed);
        engine.configure(QUEUE, stage::slots(2)).expect("the queue is known");
        stage.sleeps(20).await;
        let terminated = engine.terminate(run, Cause::requested("now", "bob")).await;
        let receipt = terminated.expect("it is open");
        until(&engine, run, "WorkflowTerminated").await;
        stage.pauses(20).await;
        comes_clean(&engine, receipt).await;
        assert_eq!(probe.begun(), 0, "nobody was told to begin");
    })
    .await;
}

/// The same with detached work of a run that has closed: nothing was cancelled with it, so nothing
/// speaks of it but its own row. It is done all the same.
#[tokio::test]
async fn what_a_lost_claim_took_of_detached_work_is_found_again() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder_with(stage::slots(0)).flow("parent", |ctx, _| async move {
            ctx.activity(work(10, 5)).detach();
            Ok(None)
        });
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "parent", "parent-1").await;
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        stage.gates.fail(Method::ClaimActivities, When::After, crate::support::flows::claimed);
        engine.configure(QUEUE, stage::slots(2)).expect("the queue is known");
        stage.pauses(20).await;
        probe.has_begun(1).await;
        probe.finish(1);
        within("everything to end", async {
            while engine.leftovers(run).await.expect("it is there").phase() < Phase::Clean {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(probe.begun(), 1, "it was polled once");
    })
    .await;
}

/// A report about an attempt that is over changes nothing, whoever sends it.
#[tokio::test]
async fn a_report_of_an_earlier_fence_changes_nothing() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let engine = fan(&stage, &probe).await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let read = Read { activities_max: 1, ..Read::head(RunKey::Run(run)) };
        let row = engine.read(read.clone()).await.expect("it is there").activities.remove(0);
        let stale = Settle {
            run,
            activity: row.activity,
            attempt: row.live.attempt,
            proof: Proof::Native(Fence::default()),
            ending: Ending::Completed(None),
            rung: None,
            delivered_at: None,
            observed_at: None,
            now: stage.after(0),
        };
        let mut settled = stage.store().settle(vec![stale]).await;
        let settled = settled.remove(0).expect("it is answered");
        assert_eq!((settled.step, settled.message), (Step::Stale, None));
        let after = engine.read(read).await.expect("it is there").activities.remove(0);
        assert_eq!(after.live, row.live);
        probe.finish(1);
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    })
    .await;
}
