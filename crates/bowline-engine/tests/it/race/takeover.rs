//! Takeover ‖ the old holder's commit, settle and heartbeat: a second process has opened the store,
//! and whatever the first one still says changes nothing. Its code is told to stop.

use bowline_core::{
    ActivitySpec, Code as CauseCode, EventKind, Failure, Payload, RetryPolicy, RunEnding, RunId,
};
use bowline_engine::{Engine, worker::registry::ActivityCode};
use bowline_store::{
    Read, RunKey,
    memory::{Method, When},
};
use std::sync::Arc;

use crate::{
    support::{
        flows::{any, claimed, starting, work},
        probe::Probe,
        stage::{self, Process, Stage, cancel, comes_clean},
    },
    world::{Code, ending, history, kinds, signal, start, until, within},
};

/// A process whose workflow runs one activity and then waits for `go`.
async fn process(stage: &Stage, spec: ActivitySpec, code: Arc<dyn ActivityCode>) -> Process {
    let builder = stage
        .builder()
        .flow("one", move |ctx, _| {
            let spec = spec.clone();
            async move {
                let outcome = ctx.activity(spec).await;
                let said = crate::world::done(outcome)?;
                ctx.signals("go").recv().await;
                Ok(said)
            }
        })
        .activity("work", code);
    stage.process(builder).await
}

async fn go(engine: &Engine, run: RunId) {
    engine.signal(run, signal("go")).await.expect("the signal is taken");
}

/// What the attempt says that ended the activity.
async fn winner(engine: &Engine, run: RunId) -> (u32, Option<Failure>) {
    let events = history(engine, run).await;
    let started = events.iter().find_map(|event| match &event.kind {
        EventKind::ActivityStarted(started) => Some(started.clone()),
        _ => None,
    });
    let started = started.expect("it has begun");
    (started.attempt, started.last_failure)
}

/// The old holder has decided a turn; the new one decides it too, and is faster.
#[tokio::test]
async fn the_old_holders_commit_changes_nothing() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let seven = |_: &_| Ok(Some(Payload::json("7")));
        let first = process(&stage, work(10, 5), old.answers(seven)).await;
        let run = start(&first.engine, "one", "one-1").await;
        old.finish(1);
        until(&first.engine, run, "ActivityCompleted").await;
        let commit = stage.gates.hold(Method::Commit, When::Before, any);
        go(&first.engine, run).await;
        commit.reached().await;
        stage.reopen();
        let second = process(&stage, work(10, 5), new.answers(seven)).await;
        let ended = RunEnding::Completed(Some(Payload::json("7")));
        assert_eq!(ending(&second.engine, run).await, ended);
        let before = second.engine.head(run).await.expect("it is there");
        let events = history(&second.engine, run).await;
        commit.release();
        // Its commit is refused, and so is its claim: it has stopped when its waiters are told.
        let waits = within("the old engine to stop", first.engine.outcome(run)).await;
        drop(waits);
        assert_eq!(history(&second.engine, run).await, events);
        let after = second.engine.head(run).await.expect("it is there");
        assert_eq!((after.version, after.last_commit), (before.version, before.last_commit));
        assert_eq!(new.begun(), 0, "what had completed is not run again");
    })
    .await;
}

/// The old holder's attempt has completed; the new one has started another. The first outcome that
/// gets to the row under a valid fence is the new one's.
#[tokio::test]
async fn the_old_holders_result_changes_nothing() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let says = |text: &'static str| move |_: &_| Ok(Some(Payload::json(text)));
        let first = process(&stage, work(10, 5), old.speaks_and_answers(says("\"old\""))).await;
        let run = start(&first.engine, "one", "one-1").await;
        old.has_begun(1).await;
        let settle = stage.gates.hold(Method::Settle, When::Before, any);
        old.finish(1);
        settle.reached().await;
        stage.reopen();
        let second = process(&stage, work(10, 5), new.speaks_and_answers(says("\"new\""))).await;
        new.has_begun(1).await;
        let settled = stage.gates.hold(Method::Settle, When::After, any);
        settle.release();
        settled.reached().await;
        settled.release();
        let read = Read { activities_max: 1, ..Read::head(RunKey::Run(run)) };
        let row = second.engine.read(read).await.expect("it is there").activities.remove(0);
        assert!(row.live.started().is_some(), "the new attempt is still out: {row:?}");
        new.finish(1);
        until(&second.engine, run, "ActivityCompleted").await;
        go(&second.engine, run).await;
        let ended = RunEnding::Completed(Some(Payload::json("\"new\"")));
        assert_eq!(ending(&second.engine, run).await, ended);
        let (attempt, lost) = winner(&second.engine, run).await;
        assert_eq!((attempt, lost.map(|lost| lost.kind)), (2, Some("worker_lost".to_owned())));
    })
    .await;
}

/// The old holder's heartbeat is refused; its code is told that the lease is lost, which is
/// neither a cancel nor a store out of reach, and its engine stops.
#[tokio::test]
async fn k1_the_old_holders_heartbeat_changes_nothing_and_its_code_is_told() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let first = process(&stage, work(10, 5), old.obeys()).await;
        let run = start(&first.engine, "one", "one-1").await;
        old.has_begun(1).await;
        stage.reopen();
        let second = process(&stage, work(10, 5), new.obeys()).await;
        new.has_begun(1).await;
        // A renewal that comes by time.
        stage.passes(10_000).await;
        old.was_told(1).await;
        assert_eq!(old.causes()[0].code, CauseCode::LeaseLost);
        old.has_ended(1).await;
        let stopped = within("the old engine to stop", first.engine.outcome(run)).await;
        assert!(stopped.is_err(), "{stopped:?}");
        assert_eq!((new.running(), new.causes().len()), (1, 0), "the new attempt is left alone");
        new.finish(1);
        until(&second.engine, run, "ActivityCompleted").await;
        go(&second.engine, run).await;
        ending(&second.engine, run).await;
        assert_eq!(winner(&second.engine, run).await.0, 2);
    })
    .await;
}

/// The commit that started the attempt is durable, and its process dies before the first poll:
/// the attempt ends as `worker_lost`, and is tried again.
#[tokio::test]
async fn a_started_attempt_whose_process_dies_before_its_first_poll_is_tried_again() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let commit = stage.gates.hold(Method::Commit, When::After, starting);
        let first = process(&stage, work(10, 5), old.obeys()).await;
        stage.rests().await;
        let run = start(&first.engine, "one", "one-1").await;
        commit.reached().await;
        first.kill();
        stage.reopen();
        let second = process(&stage, work(10, 5), new.obeys()).await;
        new.has_begun(1).await;
        new.finish(1);
        until(&second.engine, run, "ActivityCompleted").await;
        let (attempt, lost) = winner(&second.engine, run).await;
        assert_eq!((attempt, lost.map(|lost| lost.kind)), (2, Some("worker_lost".to_owned())));
        assert_eq!(old.begun(), 0);
        // The killed process never sees the answer.
        commit.release();
    })
    .await;
}

/// Ten times in a row: then the activity ends as `worker_lost`. With a policy of its own, as often
/// as that says.
#[tokio::test]
async fn a_lost_worker_is_tried_ten_times_or_as_the_policy_says() {
    let policy = |attempts_max| RetryPolicy { attempts_max, ..RetryPolicy::default() };
    for (retry, tries) in [(None, 10), (Some(policy(3)), 3)] {
        let spec = ActivitySpec { retry, ..work(10, 5) };
        stage::each(async |stage| {
            let mut run = None;
            for _ in 0..tries {
                let probe = Probe::new();
                let by_claim = stage.gates.hold(Method::ClaimActivities, When::After, claimed);
                let by_commit = stage.gates.hold(Method::Commit, When::After, starting);
                let process = process(&stage, spec.clone(), probe.obeys()).await;
                match run {
                    None => {
                        stage.rests().await;
                        run = Some(start(&process.engine, "one", "one-1").await);
                        by_commit.reached().await;
                    }
                    // The pause of the policy, if there is one.
                    Some(_) => {
                        let waits = by_claim.reached();
                        let passes = async {
                            loop {
                                tokio::task::yield_now().await;
                                stage.advance(60);
                            }
                        };
                        tokio::select! { () = waits => {}, () = passes => {} }
                    }
                }
                process.kill();
                assert_eq!(probe.begun(), 0);
                stage.reopen();
            }
            let run = run.expect("it was started");
            let last = process(&stage, spec.clone(), Probe::new().obeys()).await;
            let ended = ending(&last.engine, run).await;
            let RunEnding::Failed(failure, _) = ended else { panic!("{ended:?}") };
            assert_eq!(failure.kind, "worker_lost");
            assert_eq!(winner(&last.engine, run).await.0, tries);
        })
        .await;
    }
}

/// N8, worker lost: a cancel is decided, and the process that runs the code dies before it could
/// hear. Nobody retries it; the receipt is clean, because the code died with its process.
#[tokio::test]
async fn n8_a_cancelled_attempt_whose_process_dies_is_over() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        stage.gates.drop_hits();
        stage.gates.lose(crate::support::gate::Lost::Cancelled);
        let first = process(&stage, work(10, 5), old.ignores()).await;
        let run = start(&first.engine, "one", "one-1").await;
        old.has_begun(1).await;
        let receipt = cancel(&first.engine, run).await;
        stage::reaches(&first.engine, receipt, bowline_store::Phase::Decided).await;
        first.kill();
        stage.reopen();
        let second = process(&stage, work(10, 5), new.obeys()).await;
        let left = comes_clean(&second.engine, receipt).await;
        assert_eq!(new.begun(), 0, "a cancelled activity is not tried again");
        let line = &left.attempts[0];
        assert_eq!((line.delivered_at, line.lost, line.running), (None, false, false));
        assert_eq!(line.rung, Some(bowline_core::Rung::Died));
    })
    .await;
}

/// A cancel is acknowledged, and the process dies before any turn could see it.
#[tokio::test]
async fn an_acknowledged_cancel_survives_its_process() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let first = process(&stage, work(10, 5), old.obeys()).await;
        let run = start(&first.engine, "one", "one-1").await;
        old.has_begun(1).await;
        let commit = stage.gates.hold(Method::Commit, When::Before, any);
        let receipt = cancel(&first.engine, run).await;
        commit.reached().await;
        first.kill();
        commit.release();
        stage.reopen();
        let second = process(&stage, work(10, 5), new.obeys()).await;
        comes_clean(&second.engine, receipt).await;
        assert!(kinds(&second.engine, run).await.contains(&"WorkflowCancelled"));
    })
    .await;
}

/// H14: what an engine lets go of when it closes is really let go of: nobody waits for a lease to
/// expire, and what it ran is handed back untried.
#[tokio::test]
async fn h14_an_engine_that_closes_lets_go_of_everything() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let first = process(&stage, work(1, 1), old.obeys()).await;
        let run = start(&first.engine, "one", "one-1").await;
        old.has_begun(1).await;
        // A look that is on its way would find what is handed back, and hand it back again.
        stage.rests().await;
        let close = first.engine.close(std::time::Duration::ZERO);
        within("the engine to close", close).await.expect("it closes");
        let store = stage.store();
        let head = store.read(Read::head(RunKey::Run(run))).await.expect("it reads");
        assert_eq!(head.expect("it is there").head.holder, None);
        let second = process(&stage, work(1, 1), new.obeys()).await;
        new.has_begun(1).await;
        new.finish(1);
        until(&second.engine, run, "ActivityCompleted").await;
        let (attempt, lost) = winner(&second.engine, run).await;
        assert_eq!((attempt, lost), (2, None), "nothing was lost");
    })
    .await;
}
