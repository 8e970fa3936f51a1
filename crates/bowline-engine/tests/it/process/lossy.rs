//! Losing every hint and every notice changes latency and nothing else; and where nothing happens,
//! nobody is woken.

use std::time::Duration;

use bowline_core::{ChildSpec, Payload, RunEnding, RunId};
use bowline_engine::{Builder, Engine};
use bowline_replay::Context;
use bowline_store::{Phase, ReceiptRow, memory::Method};

use crate::{
    support::{
        flows::{Flows, retried, work},
        gate::Lost,
        probe::Probe,
        stage::{self, Stage, cancel, comes_clean, settle_down, slots},
    },
    world::{Code, QUEUE, activity, done, signal, start, until, within},
};

const LEASE: Duration = Duration::from_secs(30);

/// Lets time pass, a third of a lease at a time, until something comes true.
async fn passes_until(stage: &Stage, what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let passes = async {
        while !is_true().await {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            stage.clock.advance(LEASE / 3);
        }
    };
    within(what, passes).await;
}

async fn is_closed(engine: &Engine, run: RunId) -> bool {
    !engine.head(run).await.expect("it is there").status.is_open()
}

/// I5, invariant 5: a run with a retried activity, a child, a timer and signals, deaf to every
/// hint: each step waits for the next look, and all of them come.
#[tokio::test]
async fn i5_a_deaf_engine_gets_everything_done() {
    stage::each(async |stage| {
        stage.gates.lose(Lost::Everything);
        let probe = Probe::new();
        let fails_once =
            |ctx: &bowline_engine::worker::activity::ActivityContext| match ctx.info().attempt {
                1 => Err(bowline_core::Failure::new("once")),
                _ => Ok(Some(Payload::json("7"))),
            };
        let all = |ctx: Context, _| async move {
            let said = done(ctx.activity(retried(1, 0)).await)?;
            let spec = ChildSpec { name: "kid".into(), ..ChildSpec::default() };
            let kid = ctx.child(spec).start();
            ctx.timer(Duration::from_secs(5)).await.expect("nobody cancels it");
            ctx.signals("go").recv().await;
            kid.await?;
            Ok(said)
        };
        let engine = stage
            .builder()
            .lease(LEASE)
            .flow("all", all)
            .flow("kid", |ctx, _| async move {
                ctx.timer(Duration::from_secs(7)).await.expect("nobody cancels it");
                Ok(None)
            })
            .activity("work", probe.answers(fails_once))
            .up()
            .await;
        probe.finish(2);
        let run = start(&engine, "all", "all-1").await;
        engine.signal(run, signal("go")).await.expect("the signal is taken");
        passes_until(&stage, "the run to close", async || is_closed(&engine, run).await).await;
        let ended = engine.outcome(run).await.expect("it is there").1;
        assert_eq!(ended, RunEnding::Completed(Some(Payload::json("7"))));
        assert_eq!(probe.attempts(), ["attempt 1", "attempt 2"]);
    })
    .await;
}

/// R1, R47, R103: neither hint nor push tells of the cancel: the running code learns of it from the
/// reply to the next renewal, and the rest of the way is the same.
#[tokio::test]
async fn i5_a_cancel_reaches_running_code_by_renewal_alone() {
    for lost in [Lost::Cancelled, Lost::Everything] {
        stage::each(async |stage| {
            let probe = Probe::new();
            let builder = stage.builder().lease(LEASE).fan(work(60, 30), 1);
            let engine = builder.activity("work", probe.obeys()).up().await;
            let run = start(&engine, "fan", "fan-1").await;
            probe.has_begun(1).await;
            stage.gates.lose(lost);
            stage.gates.drop_hits();
            let receipt = cancel(&engine, run).await;
            if lost == Lost::Cancelled {
                stage::reaches(&engine, receipt, Phase::Decided).await;
                settle_down(&engine, run).await;
                assert_eq!(probe.causes(), [], "nobody could tell it yet");
                // The next renewal, after a third of the lease.
                stage.passes(10).await;
                probe.was_told(1).await;
            }
            // Where the decision itself waits for a look, how long that takes is up to the threads.
            passes_until(&stage, "the code to be told", async || !probe.causes().is_empty()).await;
            passes_until(&stage, "the receipt to be clean", async || {
                engine.receipt(receipt).await.expect("it is there").clean()
            })
            .await;
        })
        .await;
    }
}

/// The same for a mark over very many, some of which run.
#[tokio::test]
async fn i5_a_mark_reaches_running_code_by_renewal_alone() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder_with(slots(5)).lease(LEASE).fan(work(60, 30), 300);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(5).await;
        stage.gates.lose(Lost::Everything);
        stage.gates.drop_hits();
        let receipt = cancel(&engine, run).await;
        passes_until(&stage, "the receipt to be clean", async || {
            engine.receipt(receipt).await.expect("it is there").clean()
        })
        .await;
        assert_eq!((probe.begun(), probe.causes().len()), (5, 5));
    })
    .await;
}

/// A termination and a deletion, of which no hint tells.
#[tokio::test]
async fn i5_a_deaf_engine_closes_what_is_terminated() {
    stage::each(async |stage| {
        stage.gates.lose(Lost::Everything);
        let engine = stage.builder().lease(LEASE).up().await;
        let run = start(&engine, "unknown", "unknown-1").await;
        let why = bowline_core::Cause::requested("enough", "alice");
        let receipt = engine.terminate(run, why).await.expect("it is taken");
        passes_until(&stage, "the run to close", async || is_closed(&engine, run).await).await;
        let left = comes_clean(&engine, receipt).await;
        let ReceiptRow { run: named, .. } = left.receipt.expect("it is there");
        assert_eq!(named, run);
    })
    .await;
}

/// A running activity is told by a wake-up: no time passes between the cancel and the token, and
/// nobody has asked the store in between but for what the cancel itself needs.
#[tokio::test]
async fn a_cancel_reaches_running_code_without_any_time_passing() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().lease(LEASE).fan(work(60, 30), 1);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let before = stage.after(0);
        let receipt = cancel(&engine, run).await;
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(stage.after(0), before, "the clock stood still");
        let line = &left.attempts[0];
        assert_eq!((line.delivered_at, line.stopped_at), (Some(before), Some(before)));
    })
    .await;
}

/// An engine that has nothing to do: one run waits for a signal, one for a timer that is far away,
/// one is closed. Over a whole day nobody asks the store for anything.
#[tokio::test]
async fn an_idle_engine_asks_the_store_for_nothing() {
    stage::each(async |stage| {
        let engine = idle(stage.builder().lease(LEASE)).up().await;
        let waits = start(&engine, "waits", "waits-1").await;
        until(&engine, waits, "TurnCompleted").await;
        let sleeps = start(&engine, "sleeps", "sleeps-1").await;
        until(&engine, sleeps, "TimerStarted").await;
        let ends = start(&engine, "ends", "ends-1").await;
        until(&engine, ends, "WorkflowCompleted").await;
        // What follows the start of an engine, and the last look after the last write.
        let works = || {
            let calls = stage.gates.calls().into_iter();
            calls.filter(|call| !matches!(call, Method::Read)).count()
        };
        let (mut seen, mut quiet) = (works(), 0);
        within("the engine to be idle", async {
            while quiet < 10 {
                stage.clock.advance(LEASE / 3);
                settle_down(&engine, waits).await;
                quiet = if works() == seen { quiet + 1 } else { 0 };
                seen = works();
            }
        })
        .await;
        let before = stage.gates.calls().len();
        for _ in 0..24 * 60 {
            stage.advance(60);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        }
        let calls: Vec<Method> = stage.gates.calls()[before..].to_vec();
        assert_eq!(calls, [], "an idle engine was woken");
        // It is not asleep for good: the timer rings, and the signal is heard.
        engine.signal(waits, signal("go")).await.expect("the signal is taken");
        let ended = within("the run to close", engine.outcome(waits)).await;
        assert_eq!(ended.expect("it is there").1, RunEnding::Completed(None));
        stage.advance(365 * 24 * 3600);
        let ended = within("the run to close", engine.outcome(sleeps)).await;
        assert_eq!(ended.expect("it is there").1, RunEnding::Completed(None));
    })
    .await;
}

fn idle(builder: Builder) -> Builder {
    builder
        .queue(QUEUE, slots(4))
        .flow("waits", |ctx, _| async move {
            ctx.signals("go").recv().await;
            Ok(None)
        })
        .flow("sleeps", |ctx, _| async move {
            ctx.timer(Duration::from_secs(365 * 24 * 3600)).await.expect("nobody cancels it");
            Ok(None)
        })
        .flow("ends", |ctx, _| async move { done(ctx.activity(activity("quick", "1")).await) })
        .act("quick", |_, _| async { Ok(None) })
}

/// H5, H10: the store is out of reach for several renewals. The running code is not told anything,
/// and its result is there when the store is.
#[tokio::test]
async fn h10_an_outage_cancels_nothing_and_loses_no_result() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let engine = stage
            .builder()
            .lease(LEASE)
            .flow("one", |ctx, _| async move { done(ctx.activity(activity("work", "1")).await) })
            .activity("work", probe.obeys())
            .up()
            .await;
        let run = start(&engine, "one", "one-1").await;
        probe.has_begun(1).await;
        stage.gates.cut(true);
        for _ in 0..10 {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            stage.clock.advance(LEASE / 3);
        }
        assert_eq!((probe.running(), probe.causes()), (1, Vec::new()), "nobody told it to stop");
        stage.gates.cut(false);
        probe.finish(1);
        passes_until(&stage, "the run to close", async || is_closed(&engine, run).await).await;
        let (_, ending) = engine.outcome(run).await.expect("it has ended");
        assert!(matches!(ending, RunEnding::Completed(_)), "{ending:?}");
        assert_eq!(probe.begun(), 1, "it ran once");
    })
    .await;
}
