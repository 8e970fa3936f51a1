//! Runs that go on as other runs: continue-as-new, retries, and the limits of runs and chains.

use std::time::Duration;

use bowline_core::{
    Cause, ChildSpec, Code as CauseCode, ContinueAsNew, EventKind, Failure, Initiator, Payload,
    RetryPolicy, RetryState, RunEnding, RunId, Span, Status, Time, WorkflowStarted,
};
use bowline_engine::{Builder, Engine, Error, StartOptions};
use bowline_replay::Ended;
use bowline_store::Filter;

use crate::world::{
    Code, QUEUE, World, current, ending, history, idle, kinds, signal, start, text, until, within,
};

crate::world::on_every_store! {
    the_outcome_follows_a_chain_of_fifty_links,
    a_chain_without_its_last_run_has_no_outcome,
    a_signal_beside_continue_as_new_goes_on_with_the_chain,
    a_failed_run_is_tried_again_by_its_policy,
    a_run_timeout_closes_the_run,
    a_chain_timeout_counts_over_all_runs,
    n10_a_deadline_is_a_cancel_with_clean_up,
    a_delayed_start_waits_for_its_time,
    every_link_may_start_a_child_that_outlives_it,
    a_chain_outlives_its_first_runs,
    a_retry_hands_on_what_was_not_received,
}

const SECOND: Duration = Duration::from_secs(1);

fn with(options: StartOptions, change: impl FnOnce(&mut WorkflowStarted)) -> StartOptions {
    let mut options = options;
    change(&mut options.started);
    options
}

fn options(name: &str, id: &str, input: &str) -> StartOptions {
    StartOptions::new(name, id, QUEUE, Some(Payload::json(input)))
}

/// Counts down, one run per number.
fn countdown(builder: Builder) -> Builder {
    builder.flow("countdown", |ctx, input| async move {
        let left: u32 = text(&input).parse().expect("a number");
        if left == 0 {
            return Ok(Some(Payload::json("\"zero\"")));
        }
        let input = Some(Payload::json((left - 1).to_string()));
        match ctx.continue_as_new(ContinueAsNew { input, ..ContinueAsNew::default() }).await {}
    })
}

/// Every run of a chain, first to last.
async fn chain(engine: &Engine, first: RunId) -> Vec<RunId> {
    let mut runs = vec![first];
    while let Some(next) = engine.head(runs[runs.len() - 1]).await.expect("it is there").successor {
        runs.push(next);
    }
    runs
}

/// The outcome of a chain is that of its last run, and every link names the next.
async fn the_outcome_follows_a_chain_of_fifty_links(world: World) {
    let engine = countdown(world.builder()).start().await.expect("starts");
    let first = engine.start(options("countdown", "c-1", "50")).await.expect("starts");
    let (last, end) = engine.outcome(first).await.expect("it has an outcome");
    assert_eq!(end, RunEnding::Completed(Some(Payload::json("\"zero\""))));
    let runs = chain(&engine, first).await;
    assert_eq!((runs.len(), runs[50]), (51, last));
    for (run, next) in runs.iter().zip(&runs[1..]) {
        assert_eq!(engine.head(*run).await.expect("").status, Status::ContinuedAsNew);
        let events = history(&engine, *next).await;
        let EventKind::WorkflowStarted(started) = &events[0].kind else { panic!("no beginning") };
        assert_eq!((started.previous_run, started.first_run), (Some(*run), first));
        assert_eq!(started.initiator, Some(Initiator::Workflow));
        assert_eq!(started.workflow_id.as_str(), "c-1");
    }
    assert_eq!(engine.current("c-1").await.expect("it is there").run, last);
    let before = world.book.counts().of("read");
    assert_eq!(engine.outcome(first).await.expect("it has an outcome").0, last);
    let reads = world.book.counts().of("read") - before;
    assert!(reads < 10, "{reads} reads: the chain knows its newest run");
}

/// The last run of a chain was deleted: the chain has no outcome any more, and whoever asks is
/// told.
async fn a_chain_without_its_last_run_has_no_outcome(world: World) {
    let engine = countdown(world.builder()).start().await.expect("starts");
    let first = engine.start(options("countdown", "c-1", "2")).await.expect("starts");
    let (last, _) = engine.outcome(first).await.expect("it has an outcome");
    engine.delete(last, Cause::requested("tidy", "alice")).await.expect("deleted");
    within("its row to go", async {
        while engine.head(last).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let outcome = within("an answer", engine.outcome(first)).await;
    assert!(matches!(outcome, Err(Error::NotFound("run"))), "{outcome:?}");
}

/// A signal that comes beside the closing turn is not lost. The turn is decided again and takes it
/// in; the code has gone on by then, so the signal goes on with it.
async fn a_signal_beside_continue_as_new_goes_on_with_the_chain(world: World) {
    let engine = world
        .builder()
        .flow("loop", |ctx, input| async move {
            let mut got: u32 = text(&input).parse().expect("a number");
            ctx.timer(SECOND).await.expect("it rings");
            while ctx.signals("s").try_recv().is_some() {
                got += 1;
            }
            if got >= 1 {
                return Ok(Some(Payload::json(got.to_string())));
            }
            let input = Some(Payload::json(got.to_string()));
            match ctx.continue_as_new(ContinueAsNew { input, ..ContinueAsNew::default() }).await {}
        })
        .start()
        .await
        .expect("starts");
    let first = engine.start(options("loop", "l-1", "0")).await.expect("starts");
    until(&engine, first, "TimerStarted").await;
    world.book.hold(bowline_store::memory::Method::Commit);
    let commits = world.book.counts().of("commit");
    world.advance(SECOND);
    within("the closing turn", async {
        while world.book.counts().of("commit") == commits {
            tokio::task::yield_now().await;
        }
    })
    .await;
    engine.signal(first, signal("s")).await.expect("the run is still open");
    world.book.release(bowline_store::memory::Method::Commit);
    until(&engine, first, "WorkflowContinuedAsNew").await;
    assert!(kinds(&engine, first).await.contains(&"WorkflowSignalled"), "it was acknowledged");
    let second = engine.current("l-1").await.expect("it is there").run;
    until(&engine, second, "TimerStarted").await;
    assert_eq!(kinds(&engine, second).await[..2], ["WorkflowStarted", "WorkflowSignalled"]);
    world.advance(SECOND);
    assert_eq!(ending(&engine, first).await, RunEnding::Completed(Some(Payload::json("1"))));
}

/// A workflow with a retry policy is tried again after its pauses, under new run ids; the failure
/// of the try before is known, and the last one counts.
async fn a_failed_run_is_tried_again_by_its_policy(world: World) {
    let engine = world
        .builder()
        .flow("flaky", |ctx, _| async move {
            let attempt = ctx.info().attempt;
            let before = ctx.info().last_failure.as_ref().map(|failure| failure.message.clone());
            let wanted = (attempt > 1).then(|| format!("try {}", attempt - 1));
            assert_eq!(before, wanted);
            Err(Ended::Failed(Failure::new(format!("try {attempt}"))))
        })
        .start()
        .await
        .expect("starts");
    let retry = RetryPolicy { attempts_max: 3, ..RetryPolicy::default() };
    let options = with(options("flaky", "f-1", "0"), |started| started.retry = Some(retry));
    let first = engine.start(options).await.expect("starts");
    until(&engine, first, "WorkflowFailed").await;
    let second = engine.current("f-1").await.expect("it is there").run;
    assert_ne!(second, first);
    assert_eq!(kinds(&engine, second).await, ["WorkflowStarted"], "it pauses");
    world.advance(SECOND - Duration::from_millis(1));
    assert_eq!(kinds(&engine, second).await, ["WorkflowStarted"], "not yet");
    world.advance(Duration::from_millis(1));
    until(&engine, second, "WorkflowFailed").await;
    let third = engine.current("f-1").await.expect("it is there").run;
    world.advance(2 * SECOND);
    until(&engine, third, "WorkflowFailed").await;
    let (last, end) = engine.outcome(first).await.expect("it has an outcome");
    assert_eq!(last, third);
    let RunEnding::Failed(failure, state) = end else { panic!("{end:?}") };
    assert_eq!((failure.message.as_str(), state), ("try 3", RetryState::AttemptsUsed));
}

/// A run that takes too long closes by itself; its code is not asked.
async fn a_run_timeout_closes_the_run(world: World) {
    let engine = sleeper(world.builder()).start().await.expect("starts");
    let options = with(options("sleeper", "s-1", "0"), |started| {
        started.run_timeout = Some(Span(60 * SECOND));
    });
    let run = engine.start(options).await.expect("starts");
    until(&engine, run, "TimerStarted").await;
    world.advance(60 * SECOND);
    assert_eq!(ending(&engine, run).await, RunEnding::TimedOut(RetryState::NoPolicy));
    assert_eq!(engine.head(run).await.expect("").status, Status::TimedOut);
}

/// The chain's limit counts over all its runs, and ends their retries.
async fn a_chain_timeout_counts_over_all_runs(world: World) {
    let engine = world
        .builder()
        .flow("again", |ctx, _| async move {
            ctx.timer(40 * SECOND).await.expect("it rings");
            match ctx.continue_as_new(ContinueAsNew::default()).await {}
        })
        .start()
        .await
        .expect("starts");
    let options = with(options("again", "a-1", "0"), |started| {
        started.chain_timeout = Some(Span(100 * SECOND));
        started.retry = Some(RetryPolicy::default());
    });
    let first = engine.start(options).await.expect("starts");
    for _ in 0..2 {
        let run = engine.current("a-1").await.expect("").run;
        until(&engine, run, "TimerStarted").await;
        world.advance(40 * SECOND);
        until(&engine, run, "WorkflowContinuedAsNew").await;
    }
    let third = engine.current("a-1").await.expect("").run;
    until(&engine, third, "TimerStarted").await;
    world.advance(20 * SECOND);
    let (last, end) = engine.outcome(first).await.expect("it has an outcome");
    assert_eq!((last, end), (third, RunEnding::TimedOut(RetryState::Timeout)));
}

/// A deadline is a cancel: the code is told why, and may clean up.
async fn n10_a_deadline_is_a_cancel_with_clean_up(world: World) {
    let engine = world
        .builder()
        .flow("late", |ctx, _| async move {
            let body = async { Ok(ctx.signals("never").recv().await) };
            let scope = ctx.scope(body).cleanup(async |ctx, _| {
                ctx.timer(SECOND).await.expect("clean-up is not disturbed");
                Ok(())
            });
            scope.await.map(|_| None).map_err(|stopped| stopped.why)
        })
        .start()
        .await
        .expect("starts");
    let due = engine.now().after(30 * SECOND);
    let options = with(options("late", "late-1", "0"), |started| started.deadline = Some(due));
    let run = engine.start(options).await.expect("starts");
    until(&engine, run, "TurnCompleted").await;
    world.advance(30 * SECOND);
    until(&engine, run, "TimerStarted").await;
    assert_eq!(engine.head(run).await.expect("").status, Status::Cancelling);
    world.advance(SECOND);
    let end = ending(&engine, run).await;
    let RunEnding::Cancelled(_, Some(cause)) = end else { panic!("{end:?}") };
    assert_eq!(cause.root().code, CauseCode::Deadline);
}

/// A delayed start has no turn before its time; a signal waits with it.
async fn a_delayed_start_waits_for_its_time(world: World) {
    let engine = world
        .builder()
        .flow("late", |ctx, _| async move {
            ctx.signals("go").recv().await;
            Ok(Some(Payload::json(format!("{}", ctx.now().since(Time(0)).as_secs()))))
        })
        .start()
        .await
        .expect("starts");
    let options =
        with(options("late", "d-1", "0"), |started| started.delay = Some(Span(10 * SECOND)));
    let run = engine.start(options).await.expect("starts");
    engine.signal(current("d-1"), signal("go")).await.expect("taken");
    world.advance(9 * SECOND);
    let beside = start(&engine, "late", "d-2").await;
    engine.signal(beside, signal("go")).await.expect("taken");
    ending(&engine, beside).await;
    assert!(!kinds(&engine, run).await.contains(&"TurnScheduled"));
    world.advance(SECOND);
    assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("10"))));
    idle(&engine, run).await;
}

fn sleeper(builder: Builder) -> Builder {
    builder.flow("sleeper", |ctx, _| async move {
        ctx.timer(1_000_000 * SECOND).await.expect("it rings");
        Ok(None)
    })
}

/// Once, the default id of a child was made of its parent's workflow id and its number there: the
/// child that the second run of a chain let go of was refused, because that of the first had it.
async fn every_link_may_start_a_child_that_outlives_it(world: World) {
    let engine = world
        .builder()
        .flow("loop", |ctx, input| async move {
            let left: u32 = text(&input).parse().expect("a number");
            let child = ctx.child(ChildSpec { name: "child".into(), ..ChildSpec::default() });
            child.start().detach();
            if left == 0 {
                return Ok(None);
            }
            let input = Some(Payload::json((left - 1).to_string()));
            match ctx.continue_as_new(ContinueAsNew { input, ..ContinueAsNew::default() }).await {}
        })
        .flow("child", |ctx, _| async move {
            ctx.signals("end").recv().await;
            Ok(None)
        })
        .start()
        .await
        .expect("starts");
    let first = engine.start(options("loop", "l-1", "2")).await.expect("starts");
    let (last, end) = engine.outcome(first).await.expect("it has an outcome");
    assert_eq!(end, RunEnding::Completed(None));
    let mut ids = Vec::new();
    for run in chain(&engine, first).await {
        let children = Filter { parent: Some(run), limit: 9, ..Filter::default() };
        let found = engine.find(children).await.expect("lists").runs;
        assert!(found.iter().all(|child| child.status.is_open()), "of {run}: {found:?}");
        ids.extend(found.iter().map(|child| child.workflow_id.to_string()));
    }
    assert_eq!(ids, ["l-1/5", "l-1/2.5", "l-1/3.5"], "one for each run up to {last}");
}

/// Closed runs of a chain that lives go after their time; whoever knows it by its first run reaches
/// it all the same. Once, nothing of a living chain ever went.
async fn a_chain_outlives_its_first_runs(world: World) {
    const HOUR: Duration = Duration::from_secs(3_600);
    let engine = world
        .builder()
        .flow("loop", |ctx, input| async move {
            let left: u32 = text(&input).parse().expect("a number");
            if left == 0 {
                ctx.signals("end").recv().await;
                return Ok(Some(Payload::json("\"over\"")));
            }
            let input = Some(Payload::json((left - 1).to_string()));
            match ctx.continue_as_new(ContinueAsNew { input, ..ContinueAsNew::default() }).await {}
        })
        .retention(24 * HOUR)
        .start()
        .await
        .expect("starts");
    let first = engine.start(options("loop", "l-1", "3")).await.expect("starts");
    within("the last run", async {
        while engine.newest(first).await.expect("it is there").link < 4 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    within("the first run to expire", async {
        while engine.head(first).await.is_ok() {
            world.advance(HOUR);
            tokio::task::yield_now().await;
        }
    })
    .await;
    let last = engine.newest(first).await.expect("the chain lives");
    assert_eq!((last.first_run, last.link), (first, 4));
    engine.signal(bowline_core::Address::Chain(first), signal("end")).await.expect("it is open");
    let (run, end) = engine.outcome(first).await.expect("it has an outcome");
    assert_eq!((run, end), (last.run, RunEnding::Completed(Some(Payload::json("\"over\"")))));
}

/// Once, a run that was tried again had lost the signals that the one before it had been sent and
/// had not received: they were acknowledged, and gone.
async fn a_retry_hands_on_what_was_not_received(world: World) {
    let engine = world
        .builder()
        .flow("flaky", |ctx, _| async move {
            match ctx.info().attempt {
                1 => {
                    ctx.signals("go").recv().await;
                    Err(Ended::Failed(Failure::new("once")))
                }
                2 => {
                    // Its time is up before it looks.
                    ctx.timer(100 * SECOND).await.expect("it rings");
                    Ok(None)
                }
                _ => Ok(ctx.signals("kept").recv().await.input),
            }
        })
        .start()
        .await
        .expect("starts");
    let options = with(options("flaky", "f-1", "0"), |started| {
        started.retry = Some(RetryPolicy { attempts_max: 3, ..RetryPolicy::default() });
        started.run_timeout = Some(Span(10 * SECOND));
    });
    let first = engine.start(options).await.expect("starts");
    until(&engine, first, "TurnCompleted").await;
    let kept = bowline_core::Signal { input: Some(Payload::json("7")), ..signal("kept") };
    engine.signal(first, kept).await.expect("it is open");
    engine.signal(first, signal("go")).await.expect("it is open");
    until(&engine, first, "WorkflowFailed").await;
    let second = engine.current("f-1").await.expect("it is there").run;
    assert_eq!(kinds(&engine, second).await[..2], ["WorkflowStarted", "WorkflowSignalled"]);
    world.advance(SECOND);
    until(&engine, second, "TimerStarted").await;
    world.advance(10 * SECOND);
    until(&engine, second, "WorkflowTimedOut").await;
    world.advance(10 * SECOND);
    let third = engine.current("f-1").await.expect("it is there");
    assert_eq!((third.link, third.first_run), (3, first));
    assert_eq!(ending(&engine, first).await, RunEnding::Completed(Some(Payload::json("7"))));
    let events = history(&engine, third.run).await;
    let signalled = events.iter().filter(|e| matches!(e.kind, EventKind::WorkflowSignalled(_)));
    assert_eq!(signalled.count(), 1, "what was received is not sent again");
}
