//! A cancel beside a drain, and beside a timer that fires: each order is forced, and each has its
//! one outcome.

use std::{sync::Arc, time::Duration};

use bowline_core::{Code as CauseCode, Failure, Outcome, Payload, RunEnding, RunId, Status};
use bowline_engine::{
    Engine,
    worker::registry::{ActivityCode, activity_fn},
};
use bowline_replay::{Context, Ended};
use bowline_store::{
    Read, RunKey,
    memory::{Method, When},
};
use tokio::sync::watch;

use crate::{
    support::{
        flows::{Flows, commit, rang, work},
        probe::Probe,
        stage::{self, Stage, cancel, comes_clean},
    },
    world::{Code, ending, kinds, signal, start, until, within},
};

const MINUTE: Duration = Duration::from_secs(60);

/// What code was told, in order.
#[derive(Clone)]
struct Told(watch::Sender<Vec<CauseCode>>);

impl Told {
    fn new() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }

    fn push(&self, code: CauseCode) {
        self.0.send_modify(|told| told.push(code));
    }

    async fn comes_to(&self, count: usize) -> Vec<CauseCode> {
        let mut told = self.0.subscribe();
        let enough = told.wait_for(|told| told.len() >= count);
        within("code to be told", enough).await.expect("it is there").clone()
    }

    /// Code that goes on when its worker is drained, and stops when it is cancelled.
    fn stays_until_cancelled(&self) -> Arc<dyn ActivityCode> {
        let told = self.clone();
        activity_fn(move |ctx, _| {
            let told = told.clone();
            async move {
                told.push(CauseCode::Other);
                told.push(ctx.stopping().await.code);
                told.push(ctx.cancelled().await.root().code);
                Err(Failure::new("stopped"))
            }
        })
    }
}

async fn outcome(engine: &Engine, run: RunId) -> Outcome {
    let read = Read { activities_max: 1, ..Read::head(RunKey::Run(run)) };
    let row = engine.read(read).await.expect("it is there").activities.remove(0);
    row.live.ended().expect("it is over").outcome.clone()
}

/// A worker is drained, and then the run is cancelled: the cancel replaces the stop. The attempt is
/// over for good instead of going back into its queue, and nobody runs it again.
#[tokio::test]
async fn n8_a_cancel_after_a_drain_is_final() {
    stage::each(async |stage| {
        let (told, next) = (Told::new(), Probe::new());
        let builder = stage.builder().fan(work(10, 5), 1);
        let engine = builder.activity("work", told.stays_until_cancelled()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        told.comes_to(1).await;
        let draining = tokio::spawn({
            let engine = engine.clone();
            async move { engine.drain(MINUTE).await }
        });
        assert_eq!(told.comes_to(2).await[1], CauseCode::WorkerDrain);
        let receipt = cancel(&engine, run).await;
        assert_eq!(told.comes_to(3).await[2], CauseCode::Requested);
        within("the drain", draining).await.expect("no panic").expect("it drains");
        engine.close(MINUTE).await.expect("it closes");
        stage.reopen();
        let builder = stage.builder().fan(work(10, 5), 1);
        let engine = builder.activity("work", next.obeys()).up().await;
        comes_clean(&engine, receipt).await;
        let outcome = outcome(&engine, run).await;
        assert!(matches!(outcome, Outcome::Cancelled(..)), "{outcome:?}");
        assert_eq!(next.begun(), 0, "nobody runs it again");
    })
    .await;
}

/// The run is cancelled, and then its worker is drained: the attempt ends cancelled, and is not
/// given back.
#[tokio::test]
async fn n8_a_drain_after_a_cancel_gives_nothing_back() {
    stage::each(async |stage| {
        let (probe, next) = (Probe::new(), Probe::new());
        let builder = stage.builder().fan(work(600, 600), 1);
        let engine = builder.activity("work", probe.completes_late()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let receipt = cancel(&engine, run).await;
        probe.was_told(1).await;
        let draining = tokio::spawn({
            let engine = engine.clone();
            async move { engine.close(MINUTE).await }
        });
        // The drain's own moment is the next at which anybody is due.
        let due = stage.clock.until_next_due(stage.after(60));
        within("the drain to begin", due).await;
        stage.advance(60);
        within("the drain", draining).await.expect("no panic").expect("it drains");
        stage.reopen();
        let builder = stage.builder().fan(work(600, 600), 1);
        let engine = builder.activity("work", next.obeys()).up().await;
        comes_clean(&engine, receipt).await;
        let outcome = outcome(&engine, run).await;
        assert!(matches!(outcome, Outcome::Cancelled(..)), "{outcome:?}");
        assert_eq!(next.begun(), 0, "nobody runs it again");
    })
    .await;
}

/// Sleeps for a minute, and then waits for somebody.
async fn sleeper(stage: &Stage) -> (Engine, RunId) {
    let sleeps = |ctx: Context, _| async move {
        ctx.timer(MINUTE).await.map_err(Ended::Cancelled)?;
        ctx.signals("go").recv().await;
        Ok(Some(Payload::json("1")))
    };
    let engine = stage.builder().flow("sleeps", sleeps).up().await;
    let run = start(&engine, "sleeps", "sleeps-1").await;
    until(&engine, run, "TimerStarted").await;
    (engine, run)
}

/// The timer has fired in the store, and the engine does not know it yet when the cancel is
/// acknowledged: both are in the inbox, and are heard in that order.
#[tokio::test]
async fn n8_a_timer_that_has_fired_is_heard_before_the_cancel() {
    stage::each(async |stage| {
        let (engine, run) = sleeper(&stage).await;
        let fire = stage.gates.hold(Method::Fire, When::After, rang);
        stage.passes(60).await;
        fire.reached().await;
        let receipt = cancel(&engine, run).await;
        fire.release();
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(left.runs[0].status, Status::Cancelled);
        let kinds = kinds(&engine, run).await;
        let at = |kind: &str| kinds.iter().position(|k| *k == kind);
        assert!(at("TimerFired").is_some() && at("TimerFired") < at("WorkflowCancelRequested"));
        assert_eq!(at("TimerCancelled"), None, "{kinds:?}");
    })
    .await;
}

/// Holds the commit that unsets the timer, lets the timer fire in the meantime, and lets go.
async fn fires_beside(stage: &Stage, asks: impl Future<Output = ()>) {
    let unsets = commit(|commit| !commit.disarm.is_empty());
    let unset = stage.gates.hold(Method::Commit, When::Before, unsets);
    asks.await;
    unset.reached().await;
    let fire = stage.gates.hold(Method::Fire, When::After, rang);
    stage.passes(60).await;
    fire.reached().await;
    fire.release();
    unset.release();
}

async fn count(engine: &Engine, run: RunId, kind: &str) -> usize {
    kinds(engine, run).await.iter().filter(|k| **k == kind).count()
}

/// The cancel closes the run, and the timer fires before that is written: the close is decided
/// again with the timer in its inbox, so the timer stands as fired and nothing is unread.
#[tokio::test]
async fn n8_a_timer_that_fires_beside_a_close_is_in_its_history() {
    stage::each(async |stage| {
        let (engine, run) = sleeper(&stage).await;
        let mut receipt = None;
        fires_beside(&stage, async { receipt = Some(cancel(&engine, run).await) }).await;
        let left = comes_clean(&engine, receipt.expect("it was asked for")).await;
        assert_eq!((left.runs[0].status, left.unread), (Status::Cancelled, 0));
        assert_eq!(count(&engine, run, "TimerFired").await, 1);
        assert_eq!(count(&engine, run, "TimerCancelled").await, 0);
    })
    .await;
}

/// The code unsets its timer and goes on, and the timer fires before that is written: it stands as
/// cancelled, and its ringing is dropped.
#[tokio::test]
async fn n8_a_timer_that_fires_beside_its_unsetting_is_cancelled() {
    stage::each(async |stage| {
        let sleeps = |ctx: Context, _| async move {
            let timer = ctx.timer(MINUTE).start();
            ctx.signals("unset").recv().await;
            drop(timer);
            ctx.signals("go").recv().await;
            Ok(None)
        };
        let engine = stage.builder().flow("sleeps", sleeps).up().await;
        let run = start(&engine, "sleeps", "sleeps-1").await;
        until(&engine, run, "TimerStarted").await;
        fires_beside(&stage, async {
            engine.signal(run, signal("unset")).await.expect("it is taken");
        })
        .await;
        until(&engine, run, "TimerCancelled").await;
        engine.signal(run, signal("go")).await.expect("it goes on");
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        assert_eq!(count(&engine, run, "TimerFired").await, 0);
    })
    .await;
}
