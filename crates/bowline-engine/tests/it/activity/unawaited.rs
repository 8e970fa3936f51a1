//! Outcomes that nobody waits for: they are written down, and cost no turn of their own.

use bowline_core::{ChildSpec, RunEnding, RunId, Signal};
use bowline_engine::Engine;
use bowline_replay::Context;

use crate::{
    support::{
        flows::{Flows, work},
        probe::Probe,
        stage::{self, settle_down, slots},
    },
    world::{Code, activity, ending, history, start, until},
};

async fn count(engine: &Engine, run: RunId, name: &str) -> usize {
    history(engine, run).await.iter().filter(|event| event.kind.name() == name).count()
}

async fn turns(engine: &Engine, run: RunId) -> usize {
    count(engine, run, "TurnCompleted").await
}

async fn go(engine: &Engine, run: RunId) {
    let signal = Signal { name: "go".into(), ..Signal::default() };
    engine.signal(run, signal).await.expect("it is taken");
}

async fn gone(ctx: &Context) {
    ctx.signals("go").recv().await;
}

/// Detached, or cancelled and dropped: in history at once, in the code with the next turn.
#[tokio::test]
async fn an_outcome_that_nobody_awaits_costs_no_turn() {
    stage::each(async |stage| {
        let (kept, dropped) = (Probe::new(), Probe::new());
        let builder = stage.builder().flow("lets-go", |ctx: Context, _| async move {
            ctx.activity(activity("kept", "1")).start().detach();
            let held = ctx.activity(work(10, 5)).start();
            let late = ctx.activity(activity("kept", "2")).start();
            gone(&ctx).await;
            drop(held);
            gone(&ctx).await;
            assert!(matches!(late.await, bowline_core::Outcome::Completed(_)), "it rode along");
            Ok(None)
        });
        let builder = builder.activity("kept", kept.obeys()).activity("work", dropped.obeys());
        let engine = builder.up().await;
        let run = start(&engine, "lets-go", "lets-go-1").await;
        kept.has_begun(2).await;
        dropped.has_begun(1).await;
        go(&engine, run).await;
        kept.finish(2);
        // Two ends, of which each has a start of its own, and one cancel.
        while count(&engine, run, "ActivityStarted").await < 3 {
            tokio::task::yield_now().await;
        }
        settle_down(&engine, run).await;
        assert_eq!(count(&engine, run, "ActivityCompleted").await, 2);
        assert_eq!(turns(&engine, run).await, 2, "nobody waits for any of them");
        go(&engine, run).await;
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        assert_eq!(turns(&engine, run).await, 3, "what came in before rode along");
    })
    .await;
}

/// What was cancelled in its queue has no event: it stands beside the run until the next turn
/// notes it, and a crash in between forgets nothing.
#[tokio::test]
async fn what_never_started_and_nobody_awaits_waits_for_the_next_turn() {
    stage::each(async |stage| {
        let flow = |builder: bowline_engine::Builder| {
            builder.flow("drops", |ctx: Context, _| async move {
                let first = ctx.activity(activity("work", "1")).start();
                let second = ctx.activity(activity("work", "2")).start();
                gone(&ctx).await;
                drop(second);
                gone(&ctx).await;
                drop(first);
                Ok(None)
            })
        };
        let probe = Probe::new();
        let builder = flow(stage.builder_with(slots(1))).activity("work", probe.obeys());
        let first = stage.process(builder).await;
        let run = start(&first.engine, "drops", "drops-1").await;
        probe.has_begun(1).await;
        go(&first.engine, run).await;
        loop {
            let head = first.engine.head(run).await.expect("there");
            if head.record.skipped.is_some() && head.consumed == head.inbox {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(turns(&first.engine, run).await, 2, "the start, and the signal");
        first.kill();
        stage.reopen();
        let probe = Probe::new();
        let builder = flow(stage.builder_with(slots(1))).activity("work", probe.obeys());
        let second = stage.process(builder).await;
        go(&second.engine, run).await;
        assert_eq!(ending(&second.engine, run).await, RunEnding::Completed(None));
        let events = history(&second.engine, run).await;
        let skips = |note: &bowline_core::Note| matches!(note, bowline_core::Note::Skipped(_));
        let noted = events.iter().filter(|event| event.notes.iter().any(skips)).count();
        assert_eq!(noted, 1);
        assert_eq!(second.engine.head(run).await.expect("there").record.skipped, None);
    })
    .await;
}

/// That a child has begun is no news to anybody; its end is.
#[tokio::test]
async fn the_beginning_of_a_child_costs_no_turn() {
    stage::each(async |stage| {
        let builder = stage.builder().flow("child", |ctx: Context, _| async move {
            gone(&ctx).await;
            Ok(None)
        });
        let builder = builder.flow("parent", |ctx: Context, _| async move {
            let spec = ChildSpec {
                name: "child".into(),
                workflow_id: "child-1".into(),
                ..ChildSpec::default()
            };
            ctx.child(spec).await
        });
        let engine = builder.up().await;
        let run = start(&engine, "parent", "parent-1").await;
        until(&engine, run, "ChildStarted").await;
        settle_down(&engine, run).await;
        assert_eq!(turns(&engine, run).await, 1);
        let child = engine.current("child-1").await.expect("it is there").run;
        go(&engine, child).await;
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
        assert_eq!(turns(&engine, run).await, 2);
    })
    .await;
}

/// A scope that is to be over waits for what was dropped inside it, although no code does.
#[tokio::test]
async fn what_a_scope_waits_for_is_awaited() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().flow("scoped", |ctx: Context, _| async move {
            let scope = ctx.scope(async {
                let held = ctx.activity(work(10, 5)).start();
                gone(&ctx).await;
                drop(held);
                Ok(None)
            });
            Ok(scope.await?)
        });
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "scoped", "scoped-1").await;
        probe.has_begun(1).await;
        go(&engine, run).await;
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    })
    .await;
}
