//! Start child ‖ cancel child ‖ parent closes ‖ child continues: messages follow the chain, keep
//! their order, and nobody is left behind who should have been told.

use bowline_core::{
    ChildSpec, Code as CauseCode, ContinueAsNew, Name, ParentClose, Payload, RunEnding, RunId,
    Status,
};
use bowline_engine::{Builder, Engine};
use bowline_replay::{Context, Ended};
use bowline_store::{
    Phase,
    memory::{Method, When},
};

use crate::{
    support::{
        flows::{Flows, commit},
        gate::Held,
        probe::Probe,
        stage::{self, Stage, cancel, comes_clean, reaches},
    },
    world::{Code, activity, current, done, ending, kinds, signal, start, until},
};

fn child(name: &str, close: ParentClose) -> ChildSpec {
    let workflow_id = format!("{name}-1").into();
    ChildSpec { name: name.into(), workflow_id, close, ..ChildSpec::default() }
}

/// A workflow that runs one activity.
trait Works {
    fn works(self, name: &str, probe: &Probe) -> Self;
}

impl Works for Builder {
    fn works(self, name: &str, probe: &Probe) -> Self {
        let one = |ctx: Context, _| async move { done(ctx.activity(activity("work", "1")).await) };
        self.flow(name, one).activity("work", probe.obeys())
    }
}

async fn run_of(engine: &Engine, id: &str) -> RunId {
    engine.current(id).await.expect("it is there").run
}

/// R88, R105: the parent starts a child and drops it in the same turn: one commit holds the birth
/// and the cancel, in that order. The child never gets to its activity.
#[tokio::test]
async fn r105_a_child_that_is_started_and_dropped_in_one_turn_ends_cancelled() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let parent = |ctx: Context, _| async move {
            drop(ctx.child(child("child", ParentClose::Cancel)).start());
            ctx.signals("end").recv().await;
            Ok(None)
        };
        let engine = stage.builder().flow("parent", parent).works("child", &probe).up().await;
        let run = start(&engine, "parent", "parent-1").await;
        until(&engine, run, "ChildCancelled").await;
        engine.signal(run, signal("end")).await.expect("the signal is taken");
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        let ended = ending(&engine, run_of(&engine, "child-1").await).await;
        let RunEnding::Cancelled(_, Some(cause)) = &ended else { panic!("{ended:?}") };
        assert_eq!(cause.code, CauseCode::ParentCancelled);
        assert_eq!(cause.root().code, CauseCode::FutureDropped);
        assert_eq!(probe.begun(), 0, "no code of it was polled after the cancel");
    })
    .await;
}

/// A parent that waits for its child, and a child that runs an activity.
async fn family(stage: &Stage, close: ParentClose, probe: &Probe) -> (Engine, RunId, RunId) {
    let parent = move |ctx: Context, _| async move {
        let call = ctx.child(child("child", close)).start();
        ctx.signals("end").recv().await;
        let _still = call;
        Ok(None)
    };
    let engine = stage.builder().flow("parent", parent).works("child", probe).up().await;
    let run = start(&engine, "parent", "parent-1").await;
    probe.has_begun(1).await;
    let child = run_of(&engine, "child-1").await;
    (engine, run, child)
}

/// R29, R106: the parent is cancelled: so is the child, and the parent closes after it. The cause
/// chain reaches the grandchild's code, up to who asked.
#[tokio::test]
async fn r106_a_cancel_goes_down_the_tree_and_comes_back_up() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run, child) = family(&stage, ParentClose::Cancel, &probe).await;
        let receipt = cancel(&engine, run).await;
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(left.runs.len(), 2);
        assert!(left.runs.iter().all(|line| line.status == Status::Cancelled), "{left:#?}");
        let closed: Vec<_> = [run, child].map(|id| left.runs.iter().find(|l| l.run == id)).into();
        assert!(closed[0].unwrap().closed_at >= closed[1].unwrap().closed_at);
        assert!(kinds(&engine, run).await.contains(&"ChildCancelled"), "R91, K12: its own kind");
        let told: Vec<_> = probe.causes()[0].chain().map(|cause| cause.code).collect();
        assert_eq!(told.last(), Some(&CauseCode::Requested));
        assert!(told.contains(&CauseCode::ParentCancelled), "{told:?}");
        assert_eq!(probe.causes()[0].root().requested_by.as_str(), "alice");
    })
    .await;
}

/// The parent closes while its child runs: by default the child is asked to cancel.
#[tokio::test]
async fn a_parent_that_closes_asks_its_child_to_cancel() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run, child) = family(&stage, ParentClose::Cancel, &probe).await;
        engine.signal(run, signal("end")).await.expect("the signal is taken");
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        let ended = ending(&engine, child).await;
        let RunEnding::Cancelled(_, Some(cause)) = &ended else { panic!("{ended:?}") };
        let codes: Vec<_> = cause.chain().map(|cause| cause.code).collect();
        assert!(codes.contains(&CauseCode::RunCompleted), "{codes:?}");
        let receipt = cancel(&engine, run).await;
        comes_clean(&engine, receipt).await;
    })
    .await;
}

/// The other two policies, and the terminated parent: what is left alone is named, and never
/// called clean.
#[tokio::test]
async fn the_policy_of_a_child_decides_what_a_terminated_parent_leaves() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run, child) = family(&stage, ParentClose::Terminate, &probe).await;
        let why = bowline_core::Cause::requested("enough", "alice");
        let receipt = engine.terminate(run, why).await.expect("it is taken");
        comes_clean(&engine, receipt).await;
        let status = engine.head(child).await.expect("it is there").status;
        assert_eq!((status, probe.causes().len()), (Status::Terminated, 1));
    })
    .await;
    stage::each(async |stage| {
        let probe = Probe::new();
        let (engine, run, child) = family(&stage, ParentClose::Abandon, &probe).await;
        let why = bowline_core::Cause::requested("enough", "alice");
        let receipt = engine.terminate(run, why).await.expect("it is taken");
        let left = reaches(&engine, receipt, Phase::Settled).await;
        assert_eq!(left.phase(), Phase::Settled, "something was left, by policy");
        let named: Vec<_> = left.remainder().left.iter().map(|line| line.run).collect();
        assert_eq!(named, [child]);
        assert_eq!((probe.running(), probe.causes().len()), (1, 0), "it goes on");
        assert!(engine.orphans().await.expect("they are listed").is_empty());
        probe.finish(1);
        ending(&engine, child).await;
        comes_clean(&engine, receipt).await;
    })
    .await;
}

/// A child that is about to continue as new, with that commit at the gate, and its parent.
async fn continues(stage: &Stage, when: When) -> (Engine, RunId, RunId, Held) {
    let parent = |ctx: Context, _| async move {
        let call = ctx.child(child("child", ParentClose::Cancel)).start();
        ctx.signals("stop").recv().await;
        match call.cancel().await {
            Err(Ended::Cancelled(_)) => Ok(Some(Payload::json("\"cancelled\""))),
            other => Ok(Some(Payload::json(format!("{other:?}")))),
        }
    };
    let once = |ctx: Context, _| async move {
        ctx.signals("go").recv().await;
        let name = Some(Name::from("next"));
        match ctx.continue_as_new(ContinueAsNew { name, ..ContinueAsNew::default() }).await {}
    };
    let next = |ctx: Context, _| async move {
        ctx.signals("never").recv().await;
        Ok(None)
    };
    let builder = stage.builder().flow("parent", parent).flow("child", once).flow("next", next);
    let engine = builder.up().await;
    let run = start(&engine, "parent", "parent-1").await;
    until(&engine, run, "ChildStarted").await;
    let child = run_of(&engine, "child-1").await;
    let continuing = move |c: &bowline_store::Commit| c.run == child && c.close.is_some();
    let gate = stage.gates.hold(Method::Commit, when, commit(continuing));
    engine.signal(child, signal("go")).await.expect("the signal is taken");
    gate.reached().await;
    (engine, run, child, gate)
}

/// The parent cancels its child while the child goes on as a new run: before the old run is
/// closed, or just after. The cancel stops the chain, and the parent hears of its end once.
#[tokio::test]
async fn a_cancel_finds_a_child_that_continues_as_new() {
    for when in [When::Before, When::After] {
        stage::each(async |stage| {
            let (engine, run, child, gate) = continues(&stage, when).await;
            engine.signal(run, signal("stop")).await.expect("the signal is taken");
            // The parent's cancel is durable; the child's commit is decided again, or was done.
            until(&engine, run, "ExternalCancelRequested").await;
            gate.release();
            let said = RunEnding::Completed(Some(Payload::json("\"cancelled\"")));
            assert_eq!(ending(&engine, run).await, said);
            let chain = ending(&engine, child).await;
            assert!(matches!(chain, RunEnding::Cancelled(..)), "{chain:?}");
            let kinds = kinds(&engine, run).await;
            assert_eq!(kinds.iter().filter(|kind| **kind == "ChildCancelled").count(), 1);
            assert!(engine.orphans().await.expect("they are listed").is_empty());
        })
        .await;
    }
}

/// The parent closes while its child goes on as a new run.
#[tokio::test]
async fn a_parent_that_closes_finds_a_child_that_continues_as_new() {
    for when in [When::Before, When::After] {
        stage::each(async |stage| {
            let (engine, run, child, gate) = continues(&stage, when).await;
            let why = bowline_core::Cause::requested("enough", "alice");
            let receipt = engine.terminate(run, why).await.expect("it is taken");
            until(&engine, run, "WorkflowTerminated").await;
            gate.release();
            let left = comes_clean(&engine, receipt).await;
            assert_eq!(left.runs[0].status, Status::Terminated);
            let chain = ending(&engine, child).await;
            assert!(matches!(chain, RunEnding::Cancelled(..)), "{chain:?}");
        })
        .await;
    }
}

/// R90, R21: the cancel of a child that is over already is no error, and its outcome stands.
#[tokio::test]
async fn r90_the_cancel_of_a_child_that_is_over_changes_nothing() {
    stage::each(async |stage| {
        let parent = |ctx: Context, _| async move {
            let call = ctx.child(child("child", ParentClose::Cancel)).start();
            ctx.signals("stop").recv().await;
            call.cancel().await
        };
        let seven = |_, _| async { Ok(Some(Payload::json("7"))) };
        let engine = stage.builder().flow("parent", parent).flow("child", seven).up().await;
        let run = start(&engine, "parent", "parent-1").await;
        until(&engine, run, "ChildCompleted").await;
        engine.signal(run, signal("stop")).await.expect("the signal is taken");
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(Some(Payload::json("7"))));
        let request = bowline_engine::CancelRequest::new("late", "bob");
        let receipt = engine.cancel(current("child-1"), request).await.expect("a success");
        assert_eq!(comes_clean(&engine, receipt).await.runs[0].status, Status::Completed);
    })
    .await;
}

/// R102: a fan of children, cancelled together, each with an activity that runs.
#[tokio::test]
async fn many_children_are_told_and_none_is_left() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let parent = |ctx: Context, _| async move {
            let calls: Vec<_> = (0..20)
                .map(|number| {
                    let workflow_id = format!("child-{number}").into();
                    let spec = child("child", ParentClose::Cancel);
                    ctx.child(ChildSpec { workflow_id, ..spec }).start()
                })
                .collect();
            bowline_replay::join_all(calls).await;
            Ok(None)
        };
        let engine = stage.builder().flow("parent", parent).works("child", &probe).up().await;
        let run = start(&engine, "parent", "parent-1").await;
        probe.has_begun(20).await;
        let receipt = cancel(&engine, run).await;
        let left = comes_clean(&engine, receipt).await;
        assert_eq!((left.runs.len(), probe.causes().len()), (21, 20));
        assert_eq!(left.attempts.len(), 20);
    })
    .await;
}
