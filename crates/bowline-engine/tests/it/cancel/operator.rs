//! An operator cancels one activity, one timer or one child: it reaches what runs, the workflow
//! sees an outcome, and goes on.

use std::time::Duration;

use bowline_core::{
    ActivitySpec, ChildSpec, EventId, Note, Outcome, Payload, RunEnding, RunId, Rung,
};
use bowline_engine::{CancelRequest, Engine};
use bowline_replay::{Context, Ended};
use bowline_store::{Read, RunKey};

use crate::{
    support::{
        flows::{Flows, all, work},
        probe::Probe,
        stage::{self, settle_down, slots},
    },
    world::{Code, activity, done, ending, history, kinds, signal, start, text, until, within},
};

/// The operator cancels one thing; what is over already is a success as well.
async fn cancel_one(engine: &Engine, run: RunId, target: EventId) {
    let cancelled = engine.cancel_one(run, target, CancelRequest::new("not this one", "ops")).await;
    cancelled.expect("it is taken");
}

/// The events of a kind, in order.
async fn targets(engine: &Engine, run: RunId, kind: &str) -> Vec<EventId> {
    let events = history(engine, run).await;
    events.iter().filter(|event| event.kind.name() == kind).map(|event| event.id).collect()
}

/// What the code was told, in its own words.
async fn said(engine: &Engine, run: RunId) -> String {
    let ending = ending(engine, run).await;
    let RunEnding::Completed(result) = &ending else { panic!("{ending:?}") };
    text(result)
}

fn short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed(_) => "completed".to_owned(),
        Outcome::Cancelled(cause, ..) => format!("cancelled by {}", cause.requested_by),
        other => format!("{other:?}"),
    }
}

/// Starts three of an activity, waits for all, and tells how each ended.
fn three(spec: ActivitySpec) -> impl Fn(Context, Option<Payload>) -> Told {
    move |ctx, _| {
        let spec = spec.clone();
        Box::pin(async move {
            let outcomes = all(ctx, spec, 3).await?;
            let told: Vec<_> = outcomes.iter().map(short).collect();
            Ok(Some(Payload::json(told.join(", "))))
        })
    }
}

type Told = std::pin::Pin<Box<dyn Future<Output = Result<Option<Payload>, Ended>>>>;

/// R84, R85, R86: one of three running activities is cancelled: its code is told by whom, the
/// others are left alone, and the workflow goes on with what it is told.
#[tokio::test]
async fn r86_an_operators_cancel_reaches_the_running_code_and_the_workflow_goes_on() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().flow("three", three(work(10, 5)));
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "three", "three-1").await;
        probe.has_begun(3).await;
        let scheduled = targets(&engine, run, "ActivityScheduled").await;
        cancel_one(&engine, run, scheduled[1]).await;
        probe.was_told(1).await;
        let cause = probe.causes().remove(0);
        let root = cause.root();
        assert_eq!((root.requested_by.as_str(), root.detail.as_str()), ("ops", "not this one"));
        until(&engine, run, "ActivityCancelled").await;
        assert_eq!((probe.running(), probe.causes().len()), (2, 1), "the others are left alone");
        let row = Read { activities_max: 9, ..Read::head(RunKey::Run(run)) };
        let rows = engine.read(row).await.expect("it is there").activities;
        let ended = rows.iter().find(|row| row.activity == scheduled[1]).expect("it is kept");
        let ended = ended.live.ended().expect("it is over");
        let is_cancelled = matches!(&ended.outcome, Outcome::Cancelled(_, Rung::Signal, _));
        assert!(is_cancelled, "R85: a status of its own: {ended:?}");
        probe.finish(2);
        assert_eq!(said(&engine, run).await, "completed, cancelled by ops, completed");
    })
    .await;
}

/// Waits until history says that something never started.
async fn skipped(engine: &Engine, run: RunId) {
    loop {
        let events = history(engine, run).await;
        let mut notes = events.iter().flat_map(|event| &event.notes);
        if notes.any(|note| matches!(note, Note::Skipped(_))) {
            return;
        }
        let next = EventId(events.len() as u64 + 1);
        within("a note", engine.grown(run, next)).await.expect("the run is there");
    }
}

/// K4, R84: one that waits in its queue never starts; the workflow is woken all the same.
#[tokio::test]
async fn k4_a_queued_activity_that_an_operator_cancels_never_starts() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder_with(slots(1)).flow("three", three(work(10, 5)));
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "three", "three-1").await;
        probe.has_begun(1).await;
        let scheduled = targets(&engine, run, "ActivityScheduled").await;
        cancel_one(&engine, run, scheduled[2]).await;
        skipped(&engine, run).await;
        probe.finish(2);
        assert_eq!(said(&engine, run).await, "completed, completed, cancelled by ops");
        assert_eq!((probe.begun(), probe.causes().len()), (2, 0));
    })
    .await;
}

/// R87: a cancelled timer tells its code so at once, stands in history, and does not ring when its
/// time comes; its neighbour does.
#[tokio::test]
async fn r87_a_timer_that_an_operator_cancels_tells_its_code_and_does_not_ring() {
    stage::each(async |stage| {
        let timers = |ctx: Context, _| async move {
            let long = ctx.timer(Duration::from_secs(3_600)).start();
            let short = ctx.timer(Duration::from_secs(3_600)).start();
            let told = match long.await {
                Ok(()) => "it rang".to_owned(),
                Err(cause) => format!("cancelled by {}", cause.root().requested_by),
            };
            short.await.map_err(Ended::Cancelled)?;
            Ok(Some(Payload::json(told)))
        };
        let engine = stage.builder().flow("timers", timers).up().await;
        let run = start(&engine, "timers", "timers-1").await;
        until(&engine, run, "TimerStarted").await;
        let timer = targets(&engine, run, "TimerStarted").await[0];
        cancel_one(&engine, run, timer).await;
        until(&engine, run, "TimerCancelled").await;
        stage.passes(3_600).await;
        assert_eq!(said(&engine, run).await, "cancelled by ops");
        let kinds = kinds(&engine, run).await;
        let count = |kind: &str| kinds.iter().filter(|k| **k == kind).count();
        assert_eq!((count("TimerCancelled"), count("TimerFired")), (1, 1));
    })
    .await;
}

/// R88, R89: one child of two is cancelled: the code that it runs is told, it ends cancelled, and
/// its parent sees that and goes on.
#[tokio::test]
async fn r89_a_child_that_an_operator_cancels_ends_cancelled_and_its_parent_goes_on() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let parent = |ctx: Context, _| async move {
            let kid = |id: &str| {
                let (name, workflow_id) = ("kid".into(), id.into());
                ctx.child(ChildSpec { name, workflow_id, ..ChildSpec::default() }).start()
            };
            let (one, two) = (kid("kid-1"), kid("kid-2"));
            let told = match one.await {
                Err(Ended::Cancelled(cause)) => cause.root().requested_by.clone(),
                other => panic!("{other:?}"),
            };
            two.await?;
            Ok(Some(Payload::json(told.as_str())))
        };
        let kid = |ctx: Context, _| async move { done(ctx.activity(activity("work", "1")).await) };
        let builder = stage.builder().flow("parent", parent).flow("kid", kid);
        let engine = builder.activity("work", probe.obeys()).up().await;
        let run = start(&engine, "parent", "parent-1").await;
        probe.has_begun(2).await;
        let initiated = targets(&engine, run, "ChildInitiated").await;
        cancel_one(&engine, run, initiated[0]).await;
        probe.was_told(1).await;
        until(&engine, run, "ChildCancelled").await;
        let cancelled = engine.current("kid-1").await.expect("it is there").run;
        let ended = ending(&engine, cancelled).await;
        assert!(matches!(ended, RunEnding::Cancelled(..)), "{ended:?}");
        assert_eq!((probe.running(), probe.causes().len()), (1, 1), "the other is left alone");
        probe.finish(1);
        assert_eq!(said(&engine, run).await, "ops");
    })
    .await;
}

/// R83, R21: what is over, or cancelled already, can be cancelled again: a success that changes
/// nothing.
#[tokio::test]
async fn r83_what_is_over_can_be_cancelled_again_and_nothing_changes() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let flow = |ctx: Context, _| async move {
            let outcome = ctx.activity(work(10, 5)).await;
            ctx.signals("end").recv().await;
            Ok(Some(Payload::json(short(&outcome))))
        };
        let builder = stage.builder().flow("one", flow);
        let engine = builder.activity("work", probe.completes_late()).up().await;
        let run = start(&engine, "one", "one-1").await;
        probe.has_begun(1).await;
        let target = targets(&engine, run, "ActivityScheduled").await[0];
        cancel_one(&engine, run, target).await;
        probe.was_told(1).await;
        cancel_one(&engine, run, target).await;
        settle_down(&engine, run).await;
        assert_eq!(probe.causes().len(), 1, "the first cause stays");
        probe.finish(1);
        until(&engine, run, "ActivityCompleted").await;
        within("the turn", until(&engine, run, "TurnCompleted")).await;
        cancel_one(&engine, run, target).await;
        settle_down(&engine, run).await;
        engine.signal(run, signal("end")).await.expect("it goes on");
        assert_eq!(said(&engine, run).await, "completed", "a late success is a success");
        let kinds = kinds(&engine, run).await;
        let cancels = kinds.iter().filter(|kind| kind.starts_with("ActivityCancel")).count();
        assert!(cancels <= 1, "nothing was decided twice: {kinds:?}");
    })
    .await;
}
