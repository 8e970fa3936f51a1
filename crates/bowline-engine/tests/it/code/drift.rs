//! Decisions are recorded in order, and replay compares the order: code that drifted is found, its
//! run is parked untouched, and goes on when the code is right again.

use bowline_core::{Cancelled, Note, Payload, RunEnding, RunId, ScopeStep};
use bowline_engine::{Builder, Engine};
use bowline_replay::{Context, Either, either};

use crate::{
    support::{
        probe::Probe,
        stage::{self, Process, Stage, cancel, comes_clean},
    },
    world::{Code, activity, done, ending, history, signal, start, until, within},
};

/// Which of two activities loses, and in which scope, is all that differs.
fn races(builder: Builder, drops_upper: bool) -> Builder {
    builder.flow("races", move |ctx: Context, _| async move {
        let inside = ctx.scope(async {
            let upper = ctx.activity(activity("work", "1")).start();
            let lower = ctx.activity(activity("work", "2")).start();
            ctx.signals("go").recv().await;
            let (kept, lost) = if drops_upper { (lower, upper) } else { (upper, lower) };
            drop(lost);
            ctx.signals("more").recv().await;
            done(kept.cancel().await).ok();
            Ok(Some(Payload::json("\"right\"")))
        });
        Ok(inside.name("race").await?)
    })
}

async fn process(stage: &Stage, drops_upper: bool, probe: &Probe) -> Process {
    let builder = races(stage.builder(), drops_upper).activity("work", probe.obeys());
    stage.process(builder).await
}

async fn raced(stage: &Stage, probe: &Probe) -> (Process, RunId) {
    let process = process(stage, true, probe).await;
    let run = start(&process.engine, "races", "races-1").await;
    probe.has_begun(2).await;
    process.engine.signal(run, signal("go")).await.expect("the signal is taken");
    until(&process.engine, run, "ActivityCancelled").await;
    (process, run)
}

/// N7, R70, R74, R78: history alone says what was cancelled, in which scope, why, and in which
/// order; written in the turn that decided it.
#[tokio::test]
async fn n7_scopes_and_decisions_stand_in_history() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (process, run) = raced(&stage, &probe).await;
        let events = history(&process.engine, run).await;
        let notes = || events.iter().flat_map(|event| &event.notes);
        let steps = notes().filter_map(|note| match note {
            Note::Scopes(steps) => Some(steps.clone()),
            _ => None,
        });
        let steps: Vec<ScopeStep> = steps.flatten().collect();
        let [ScopeStep::Opened { scope, name, .. }] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!(name, "race");
        let decisions = notes().find_map(|note| match note {
            Note::Cancels(decisions) => Some(decisions.clone()),
            _ => None,
        });
        let decisions = decisions.expect("the drop was a decision");
        assert_eq!(decisions.len(), 1);
        assert_eq!((decisions[0].scope, decisions[0].what), (*scope, Cancelled::Activities));
        let first = events.iter().find(|event| event.kind.name() == "ActivityScheduled");
        let upper = first.expect("two were scheduled").id;
        assert!(decisions[0].targets.ids().eq([upper]));
        assert_eq!(decisions[0].cause.code, bowline_core::Code::FutureDropped);
    })
    .await;
}

/// N7, R76, R105: the code now drops the other one. That is found before anything is written: the
/// run is parked with both sides named, its history untouched; and with the right code it goes on.
#[tokio::test]
async fn n7_a_changed_decision_parks_the_run_untouched_until_the_code_is_right() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (first, run) = raced(&stage, &probe).await;
        let before = history(&first.engine, run).await;
        first.kill();
        stage.reopen();
        let wrong = process(&stage, false, &probe).await;
        wrong.engine.signal(run, signal("more")).await.expect("the signal is taken");
        let reason = parked(&wrong.engine, run).await;
        let upper = before.iter().find(|event| event.kind.name() == "ActivityScheduled");
        let number = upper.expect("it was scheduled").id.to_string();
        assert!(reason.contains(&number), "it names what differs: {reason}");
        assert!(reason.contains("cancel"), "{reason}");
        assert_eq!(history(&wrong.engine, run).await, before, "nothing was written");
        // Trying again with the same code changes nothing.
        wrong.engine.retry(run).await.expect("it is there");
        parked(&wrong.engine, run).await;
        wrong.kill();
        stage.reopen();
        let right = process(&stage, true, &probe).await;
        let said = RunEnding::Completed(Some(Payload::json("\"right\"")));
        assert_eq!(ending(&right.engine, run).await, said);
        let after = history(&right.engine, run).await;
        assert_eq!(after[..before.len()], before[..]);
    })
    .await;
}

/// A run that is parked can still be cancelled by who has the right code, and terminated by
/// anybody.
#[tokio::test]
async fn a_parked_run_keeps_its_cancel_until_the_code_is_right() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (first, run) = raced(&stage, &probe).await;
        first.kill();
        stage.reopen();
        let wrong = process(&stage, false, &probe).await;
        let receipt = cancel(&wrong.engine, run).await;
        parked(&wrong.engine, run).await;
        wrong.kill();
        stage.reopen();
        let right = process(&stage, true, &probe).await;
        comes_clean(&right.engine, receipt).await;
        assert!(matches!(ending(&right.engine, run).await, RunEnding::Cancelled(..)));
    })
    .await;
}

/// R77: a drop that is decided for the first time, in a turn that nobody has written yet, is not
/// compared with anything: the same code may decide anew after a crash.
#[tokio::test]
async fn r77_only_turns_that_were_written_are_compared() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let first = process(&stage, true, &probe).await;
        let run = start(&first.engine, "races", "races-1").await;
        probe.has_begun(2).await;
        first.kill();
        stage.reopen();
        let other = process(&stage, false, &probe).await;
        other.engine.signal(run, signal("go")).await.expect("the signal is taken");
        other.engine.signal(run, signal("more")).await.expect("the signal is taken");
        let said = RunEnding::Completed(Some(Payload::json("\"right\"")));
        assert_eq!(ending(&other.engine, run).await, said);
    })
    .await;
}

/// R105: a race whose winner has changed, because the branches were put in another order.
#[tokio::test]
async fn r105_a_changed_winner_is_found() {
    fn order(builder: Builder, turned: bool) -> Builder {
        builder.flow("order", move |ctx: Context, _| async move {
            let (a, b) = (ctx.signals("a"), ctx.signals("b"));
            ctx.signals("go").recv().await;
            // Both have something to say: the upper one wins.
            let name = match (turned, either(a.recv(), b.recv()).await) {
                (false, Either::Left(_)) | (true, Either::Right(_)) => "work",
                _ => "other",
            };
            ctx.activity(activity(name, "1")).await;
            Ok(None)
        })
    }
    stage::each(async |stage| {
        let probe = Probe::new();
        let first = order(stage.builder(), false).activity("work", probe.obeys());
        let first = stage.process(first).await;
        let run = start(&first.engine, "order", "order-1").await;
        for name in ["a", "b", "go"] {
            first.engine.signal(run, signal(name)).await.expect("the signal is taken");
        }
        probe.has_begun(1).await;
        first.kill();
        stage.reopen();
        let turned = order(stage.builder(), true).activity("work", probe.obeys());
        let turned = stage.process(turned).await;
        probe.has_begun(2).await;
        probe.finish(1);
        let reason = parked(&turned.engine, run).await;
        assert!(reason.contains("work") && reason.contains("other"), "both sides: {reason}");
    })
    .await;
}

async fn parked(engine: &Engine, run: RunId) -> String {
    let parked = async {
        loop {
            let head = engine.head(run).await.expect("the run is there");
            if let Some(parked) = head.parked {
                return parked.reason;
            }
            tokio::task::yield_now().await;
        }
    };
    within("the run to be parked", parked).await
}
