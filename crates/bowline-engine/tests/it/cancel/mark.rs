//! Very many outstanding activities, cancelled at once: decided in one commit whose cost does not
//! grow with their number; what never started never starts; everything is swept.

use bowline_core::{RunId, Status};
use bowline_engine::Engine;
use bowline_store::{
    Commit, Phase,
    memory::{Method, When},
};

use crate::{
    support::{
        flows::{Flows, any, commit, work},
        probe::Probe,
        stage::{self, Stage, cancel, comes_clean, reaches, slots},
    },
    world::{history, start, within},
};

/// Starts a run with so many activities, ten of which run, and waits until the rest waits.
async fn outstanding(stage: &Stage, probe: &Probe, all: usize) -> (Engine, RunId) {
    let builder = stage.builder_with(slots(10)).fan(work(10, 5), all);
    let engine = builder.activity("work", probe.obeys()).up().await;
    let run = start(&engine, "fan", "fan-1").await;
    probe.has_begun(10).await;
    let waits = async {
        while engine.leftovers(run).await.expect("it is there").queued < (all - 10) as u64 {
            tokio::task::yield_now().await;
        }
    };
    within("the rest to wait", waits).await;
    (engine, run)
}

async fn is_cancelled_at_once(stage: &Stage, all: usize) {
    let probe = Probe::new();
    let (engine, run) = outstanding(stage, &probe, all).await;
    let receipt = cancel(&engine, run).await;
    let left = comes_clean(&engine, receipt).await;
    assert_eq!(left.runs[0].status, Status::Cancelled);
    assert_eq!(probe.begun(), 10, "what had not started never started");
    assert_eq!(probe.causes().len(), 10, "what ran was told");
    assert_eq!(left.never_started, (all - 10) as u64);
    let [decided] = &stage.gates.cancels()[..] else { panic!("one commit decides it") };
    assert_eq!((decided.activities, decided.ranges), (all as u64, 1));
    assert!(decided.bytes < 1_000, "a note of one range, and not one event each: {decided:?}");
}

/// H11, R53, R80: with 12,000 outstanding activities, where a shipped peer failed the run for an
/// infrastructure reason and left all of them queued.
#[tokio::test]
async fn h11_twelve_thousand_activities_are_cancelled_at_once() {
    stage::each(async |stage| is_cancelled_at_once(&stage, 12_000).await).await;
}

/// H11: with 100,000 of them, at the same price.
#[tokio::test]
async fn h11_a_hundred_thousand_activities_are_cancelled_at_once() {
    stage::each(async |stage| is_cancelled_at_once(&stage, 100_000).await).await;
}

/// R101: activities that are scheduled and cancelled in the same commit never start.
#[tokio::test]
async fn r101_what_is_scheduled_and_cancelled_in_one_commit_never_starts() {
    for count in [1, 2_500] {
        stage::each(async |stage| {
            let probe = Probe::new();
            let flow = move |ctx: bowline_replay::Context, _| async move {
                let calls = (0..count).map(|_| ctx.activity(work(10, 5)).start());
                drop(calls.collect::<Vec<_>>());
                ctx.signals("never").recv().await;
                Ok(None)
            };
            let builder = crate::world::Code::flow(stage.builder(), "drops", flow);
            let engine = builder.activity("work", probe.obeys()).up().await;
            let run = start(&engine, "drops", "drops-1").await;
            crate::world::until(&engine, run, "TurnCompleted").await;
            let receipt = cancel(&engine, run).await;
            comes_clean(&engine, receipt).await;
            assert_eq!(probe.begun(), 0);
        })
        .await;
    }
}

/// The process dies between the decision and the sweep: the next one sweeps, and nothing starts.
#[tokio::test]
async fn a_mark_survives_its_process() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let fan = |probe: &Probe, count| {
            let builder = stage.builder_with(slots(count)).fan(work(10, 5), 500);
            builder.activity("work", probe.obeys())
        };
        let first = stage.process(fan(&old, 0)).await;
        let run = start(&first.engine, "fan", "fan-1").await;
        crate::world::until(&first.engine, run, "ActivityScheduled").await;
        let sweep = stage.gates.hold(Method::Sweep, When::Before, any);
        let receipt = cancel(&first.engine, run).await;
        reaches(&first.engine, receipt, Phase::Decided).await;
        sweep.reached().await;
        first.kill();
        sweep.release();
        stage.reopen();
        let second = stage.process(fan(&new, 100)).await;
        let left = comes_clean(&second.engine, receipt).await;
        assert_eq!((old.begun(), new.begun(), left.never_started), (0, 0, 500));
        let events = history(&second.engine, run).await;
        assert!(events.len() < 520, "no event for each that never started: {}", events.len());
    })
    .await;
}

/// The code of a cancelled run may take its time to let go of very many activities. What was
/// decided holds meanwhile: nothing begins in the slots that become free, nor in the next process,
/// which finds the run decided and not let go of.
#[tokio::test]
async fn nothing_begins_while_the_code_lets_go() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let fan = |probe: &Probe, count| {
            let builder = stage.builder_with(slots(count)).fan(work(10, 5), 2_500);
            builder.activity("work", probe.obeys())
        };
        let first = stage.process(fan(&old, 10)).await;
        let run = start(&first.engine, "fan", "fan-1").await;
        old.has_begun(10).await;
        let lets_go = stage.gates.hold(Method::Commit, When::Before, commit(lets_go));
        let receipt = cancel(&first.engine, run).await;
        reaches(&first.engine, receipt, Phase::Decided).await;
        lets_go.reached().await;
        let [decided] = &stage.gates.cancels()[..] else { panic!("one commit decides it") };
        assert_eq!((decided.activities, decided.ranges), (2_500, 1));
        let events = history(&first.engine, run).await;
        let last = events.last().map(|event| event.kind.name());
        assert_eq!(last, Some("TurnCompleted"), "the turn that lets go is not written");
        first.kill();
        lets_go.release();
        stage.reopen();
        let second = stage.process(fan(&new, 100)).await;
        let left = comes_clean(&second.engine, receipt).await;
        assert_eq!((old.begun(), new.begun(), left.never_started), (10, 0, 2_490));
        assert_eq!(stage.gates.cancels().len(), 1, "no turn decides it again");
    })
    .await;
}

/// A turn of a run that was cancelled before.
fn lets_go(commit: &Commit) -> bool {
    commit.cancels.is_empty() && commit.batch.is_some()
}
