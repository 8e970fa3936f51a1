//! Others have given this process up, and it lives. Its code is told to stop, what it still writes
//! changes nothing, and then it enters again as somebody new and goes on: nobody restarts it.

use std::{sync::Arc, time::Duration};

use bowline_core::{
    ActivitySpec, Cause, Code as CauseCode, EventKind, Payload, Queue, RunEnding, RunId, Span,
    StartTurn, Timeouts,
};
use bowline_engine::{Engine, Taken, worker::registry::ActivityCode};
use bowline_store::{
    Phase,
    memory::{Method, When},
};

use crate::{
    support::{
        flows::{any, claimed, work},
        probe::Probe,
        remote,
        stage::{self, Process, Stage, cancel, comes_clean},
    },
    world::{Code, ending, history, signal, start, until, within},
};

/// A process whose workflow runs one activity and then waits for `go`.
async fn process(stage: &Stage, spec: ActivitySpec, code: Arc<dyn ActivityCode>) -> Process {
    let builder = stage
        .builder()
        .flow("one", move |ctx, _| {
            let spec = spec.clone();
            async move {
                let said = crate::world::done(ctx.activity(spec).await)?;
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

fn said(text: &str) -> RunEnding {
    RunEnding::Completed(Some(Payload::json(text)))
}

/// Which attempt ended the activity, and how many ends there are.
async fn winner(engine: &Engine, run: RunId) -> (u32, usize) {
    let events = history(engine, run).await;
    let attempt = events.iter().find_map(|event| match &event.kind {
        EventKind::ActivityStarted(started) => Some(started.attempt),
        _ => None,
    });
    let ends = events.iter().filter(|event| event.kind.name() == "ActivityCompleted");
    (attempt.expect("it has begun"), ends.count())
}

/// Waits until an engine has entered again so often.
async fn has_entered_again(engine: &Engine, times: u64) {
    within("the engine to enter again", async {
        while engine.metrics().rejoins < times {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The whole of it: told, stopped, in again, and tried again, by the same engine. Whoever waited
/// for the run at this engine is not disturbed.
#[tokio::test]
async fn whoever_was_given_up_stops_its_code_and_enters_again() {
    stage::each_shared(async |stage| {
        let probe = Probe::new();
        let only = process(&stage, work(10, 5), probe.obeys()).await;
        let engine = only.engine.clone();
        let run = start(&engine, "one", "one-1").await;
        probe.has_begun(1).await;
        let waits = tokio::spawn({
            let engine = engine.clone();
            async move { engine.outcome(run).await }
        });
        stage.give_up();
        probe.was_told(1).await;
        assert_eq!(probe.causes()[0].code, CauseCode::LeaseLost);
        probe.has_begun(2).await;
        assert_eq!((probe.running(), probe.attempts().len()), (1, 2), "one after the other");
        assert_eq!(engine.metrics().rejoins, 1);
        probe.finish(1);
        until(&engine, run, "ActivityCompleted").await;
        go(&engine, run).await;
        let ended = within("whoever waited", waits).await.expect("no panic").expect("an end");
        assert_eq!(ended.1, said("\"done\""));
        assert_eq!(winner(&engine, run).await, (2, 1));
        within("the engine to close", engine.close(Duration::ZERO)).await.expect("it closes");
    })
    .await;
}

/// No code of the new epoch runs beside code of the old one: it waits for the end of the ladder.
#[tokio::test]
async fn nobody_enters_again_beside_code_that_still_runs() {
    stage::each_shared(async |stage| {
        let probe = Probe::new();
        let only = process(&stage, work(10, 5), probe.completes_late()).await;
        let engine = &only.engine;
        let run = start(engine, "one", "one-1").await;
        probe.has_begun(1).await;
        stage.give_up();
        probe.was_told(1).await;
        stage::settle_down(engine, run).await;
        assert_eq!((engine.metrics().rejoins, probe.begun()), (0, 1), "its code has not ended");
        // It completes after all: too late, since the attempt is not its own any more.
        probe.finish(1);
        has_entered_again(engine, 1).await;
        probe.has_begun(2).await;
        let receipt = cancel(engine, run).await;
        probe.finish(1);
        comes_clean(engine, receipt).await;
        assert!(probe.attempts().len() == 2, "{:?}", probe.attempts());
    })
    .await;
}

/// A turn was decided under the old epoch and is written under the new one: it changes nothing,
/// and its answer is not taken for that of the turn which was had instead.
#[tokio::test]
async fn a_turn_of_the_lost_epoch_changes_nothing() {
    stage::each_shared(async |stage| {
        let probe = Probe::new();
        let only = process(&stage, work(10, 5), probe.obeys()).await;
        let engine = &only.engine;
        let run = start(engine, "one", "one-1").await;
        probe.finish(1);
        until(engine, run, "ActivityCompleted").await;
        let commit = stage.gates.hold(Method::Commit, When::Before, any);
        go(engine, run).await;
        commit.reached().await;
        stage.give_up();
        assert_eq!(ending(engine, run).await, said("\"done\""));
        let (events, head) = (history(engine, run).await, engine.head(run).await.expect("a row"));
        commit.release();
        stage::settle_down(engine, run).await;
        assert_eq!(history(engine, run).await, events);
        let after = engine.head(run).await.expect("a row");
        assert_eq!((after.version, after.last_commit), (head.version, head.last_commit));
        assert_eq!((engine.metrics().rejoins, probe.begun()), (1, 1));
    })
    .await;
}

/// A claim was done before the member was given up, and is answered after it has entered again:
/// what it took belongs to others by then, and its code is never polled.
#[tokio::test]
async fn what_was_claimed_by_the_lost_epoch_never_begins() {
    stage::each_shared(async |stage| {
        let probe = Probe::new();
        let claim = stage.gates.hold(Method::ClaimActivities, When::After, claimed);
        // While a claim is out, commits start nothing: so this one takes it.
        let resting = stage.gates.hold(Method::ClaimActivities, When::Before, any);
        let only = process(&stage, work(10, 5), probe.obeys()).await;
        let engine = &only.engine;
        resting.reached().await;
        let run = start(engine, "one", "one-1").await;
        until(engine, run, "ActivityScheduled").await;
        resting.release();
        claim.reached().await;
        stage.give_up();
        has_entered_again(engine, 1).await;
        claim.release();
        probe.has_begun(1).await;
        assert_eq!(probe.attempts(), ["attempt 2"]);
        probe.finish(1);
        until(engine, run, "ActivityCompleted").await;
        go(engine, run).await;
        ending(engine, run).await;
        assert_eq!(winner(engine, run).await, (2, 1));
    })
    .await;
}

/// A remote worker that waits at this process for work, or comes for it meanwhile, hears nothing of
/// all that.
#[tokio::test]
async fn remote_workers_wait_through_it() {
    stage::each_shared(async |stage| {
        let only = stage.process(stage.builder()).await;
        let engine = only.engine.clone();
        let poll = {
            let engine = engine.clone();
            let (queue, until) = (Queue::from(remote::QUEUE), stage.after(3_600));
            async move { engine.poll_turn(&queue, StartTurn::default(), until).await }
        };
        let poll = tokio::spawn(poll);
        stage.give_up();
        has_entered_again(&engine, 1).await;
        let run = remote::start(&engine, "remote-1").await;
        let turn = within("the turn", poll).await.expect("no panic").expect("it is answered");
        assert_eq!(turn.and_then(Taken::turn).map(|turn| turn.run), Some(run));
    })
    .await;
}

/// Given up again and again: each time it is somebody new, and what it holds is its own.
#[tokio::test]
async fn it_can_be_given_up_any_number_of_times() {
    stage::each_shared(async |stage| {
        let probe = Probe::new();
        let only = process(&stage, work(10, 5), probe.obeys()).await;
        let engine = &only.engine;
        let run = start(engine, "one", "one-1").await;
        for times in 1..=4 {
            probe.has_begun(times).await;
            stage.give_up();
            probe.was_told(times).await;
            has_entered_again(engine, times as u64).await;
        }
        probe.has_begun(5).await;
        probe.finish(1);
        until(engine, run, "ActivityCompleted").await;
        go(engine, run).await;
        assert_eq!(ending(engine, run).await, said("\"done\""));
        assert_eq!(winner(engine, run).await, (5, 1));
    })
    .await;
}

/// An attempt passed its limit: it was over for its run, and its code had its grace. Then its
/// process was given up, entered again at once, and with that said that nothing of its old name
/// ran any more; and the receipt said clean. Now it enters when that code has ended.
#[tokio::test]
async fn nobody_enters_again_beside_code_that_is_past_its_limit() {
    stage::each_shared(async |stage| {
        let probe = Probe::new();
        let start_to_close = Some(Span(Duration::from_secs(7)));
        let timeouts = Timeouts { start_to_close, ..Timeouts::default() };
        let spec = ActivitySpec { timeouts, ..work(1_000, 5) };
        let only = process(&stage, spec, probe.completes_late()).await;
        let engine = &only.engine;
        let run = start(engine, "one", "one-1").await;
        probe.has_begun(1).await;
        stage.passes(7).await;
        probe.was_told(1).await;
        until(engine, run, "WorkflowFailed").await;
        stage.give_up();
        let receipt = engine.terminate(run, Cause::new(CauseCode::Requested)).await;
        let receipt = receipt.expect("a receipt");
        stage::settle_down(engine, run).await;
        let left = engine.receipt(receipt).await.expect("it is there");
        assert_eq!((probe.running(), left.phase()), (1, Phase::Settled), "{left:#?}");
        assert_eq!(engine.metrics().rejoins, 0, "its code has not ended");
        probe.finish(1);
        has_entered_again(engine, 1).await;
        comes_clean(engine, receipt).await;
    })
    .await;
}

/// A process that was given up closed without having entered again: nobody ever heard that its code
/// had ended, and receipts waited for word of it.
#[tokio::test]
async fn whoever_closes_after_it_was_given_up_says_that_its_code_has_ended() {
    stage::each_shared(async |stage| {
        let probe = Probe::new();
        let first = process(&stage, work(10, 5), probe.obeys()).await;
        let run = start(&first.engine, "one", "one-1").await;
        probe.has_begun(1).await;
        let join = stage.gates.hold(Method::Join, When::Before, any);
        stage.give_up();
        probe.has_ended(1).await;
        join.reached().await;
        within("the engine to close", first.engine.close(Duration::from_secs(1)))
            .await
            .expect("it closes");
        join.release();
        stage.reopen();
        let second = process(&stage, work(10, 5), probe.obeys()).await;
        let receipt = cancel(&second.engine, run).await;
        comes_clean(&second.engine, receipt).await;
    })
    .await;
}
