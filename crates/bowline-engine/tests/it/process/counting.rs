//! What the engine counts, and the bounds that it names when they are reached.

use bowline_core::{Message, Rules, Signal, limits::SIGNALS_MAX};
use bowline_engine::StartOptions;
use bowline_store::{Phase, Posting};

use crate::{
    support::{
        flows::{Flows, work},
        probe::Probe,
        stage::{self, cancel, comes_clean, reaches, slots},
    },
    world::start,
};

/// R17: a cancel is counted on its way: sent, delivered, observed, with how long each took.
#[tokio::test]
async fn r17_a_cancel_is_counted_on_its_way() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(work(10, 5), 3);
        let engine = builder.activity("work", probe.obeys()).up().await;
        assert_eq!(engine.metrics(), Default::default(), "nothing has happened");
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(3).await;
        let before = engine.metrics();
        assert_eq!((before.turns_committed, before.attempts_started), (1, 3));
        assert_eq!(before.cancel_delivery.count(), 0);
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Observed).await;
        comes_clean(&engine, receipt).await;
        let after = engine.metrics();
        assert!(after.turns_committed > before.turns_committed, "{after:?}");
        assert!(after.notices_sent >= 3, "{after:?}");
        assert_eq!((after.cancel_delivery.count(), after.cancel_observation.count()), (3, 3));
        assert_eq!(after.cancel_delivery.sum.as_secs(), 0, "the clock did not move");
        assert_eq!((after.attempts_started, after.notices_failed), (3, 0));
    })
    .await;
}

/// N1: under load too, every cancel is counted once in each histogram, whoever was faster.
#[tokio::test]
async fn n1_every_cancel_of_many_is_counted_in_both_histograms() {
    const RUNS: usize = 60;
    const EACH: usize = 5;
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder_with(slots(RUNS * EACH)).fan(work(10, 5), EACH);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let mut runs = Vec::new();
        for n in 0..RUNS {
            runs.push(start(&engine, "fan", &format!("fan-{n}")).await);
        }
        probe.has_begun(RUNS * EACH).await;
        let mut receipts = Vec::new();
        for run in runs {
            receipts.push(cancel(&engine, run).await);
        }
        for receipt in receipts {
            comes_clean(&engine, receipt).await;
        }
        let seen = engine.metrics();
        let all = (RUNS * EACH) as u64;
        assert_eq!((seen.cancel_delivery.count(), seen.cancel_observation.count()), (all, all));
        assert_eq!((seen.attempts_started, seen.notices_failed), (all, 0));
        assert!(seen.notices_sent >= all, "{seen:?}");
    })
    .await;
}

/// A remote run takes so many signals, and the refusal names the bound.
#[tokio::test]
async fn a_remote_run_takes_only_so_many_signals() {
    stage::each(async |stage| {
        let engine = stage.builder().up().await;
        let mut options = StartOptions::new("remote", "r-1", "sdk", None);
        options.started.rules = Rules::REMOTE;
        let run = engine.start(options).await.expect("the run starts");
        let signal = |n: u64| {
            let request_id = n.to_string().into();
            Signal { name: "go".into(), request_id, ..Signal::default() }
        };
        let posting = |n| Posting::Message {
            to: run.into(),
            message: Message::Signal(Box::new(signal(n))),
            now: engine.now(),
            receipt: None,
        };
        let posted = stage.store().post((1..SIGNALS_MAX).map(posting).collect()).await;
        assert!(posted.iter().all(Result::is_ok));
        engine.signal_counted(run, signal(SIGNALS_MAX)).await.expect("there is room for one");
        let refused = engine.signal_counted(run, signal(0)).await.expect_err("one too many");
        assert_eq!(refused.code(), "too_many_signals");
        assert!(refused.to_string().contains("10000"), "{refused}");
        let mut options = StartOptions::new("remote", "r-1", "sdk", None);
        options.started.rules = Rules::REMOTE;
        options.signal = Some(signal(0));
        let refused = engine.start(options).await.expect_err("a signal that comes with a start");
        assert_eq!(refused.code(), "too_many_signals");
    })
    .await;
}
