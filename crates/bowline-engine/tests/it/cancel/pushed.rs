//! Requests that bring ladders of their own, later ones that hasten, and what a request to cancel
//! one thing is answered.

use std::time::Duration;

use bowline_core::{EventId, Ladder, RunEnding, RunId, Rung, Span, Status};
use bowline_engine::{Builder, CancelRequest, CancelledOne, Engine, Error};
use bowline_replay::Context;
use bowline_store::Phase;

use crate::{
    support::{
        flows::{Flows, work},
        probe::Probe,
        stage::{self, cancel, comes_clean, reaches, settle_down},
    },
    world::{Code, activity, ending, history, start, until},
};

/// An hour, which nobody here waits for.
const LONG: u64 = 3_600;

fn ladder(grace: u64, step: u64) -> Ladder {
    let span = |seconds| Span(Duration::from_secs(seconds));
    Ladder { grace: span(grace), step: span(step), detach: false }
}

fn request(by: &str) -> CancelRequest {
    CancelRequest::new("enough", by)
}

async fn scheduled(engine: &Engine, run: RunId) -> EventId {
    let events = history(engine, run).await;
    let found = events.iter().find(|event| event.kind.name() == "ActivityScheduled");
    found.expect("it is scheduled").id
}

/// A run whose clean-up lasts until its activity is let go.
fn stays(builder: Builder) -> Builder {
    builder.flow("stays", |ctx: Context, _| async move {
        let scope = ctx.scope(async {
            ctx.signals("never").recv().await;
            Ok(None)
        });
        let undone = scope.cleanup(async |ctx, _| {
            ctx.activity(activity("undo", "1")).await;
            Ok(())
        });
        Ok(undone.await?)
    })
}

/// An activity that would have an hour is aborted as the request says.
#[tokio::test]
async fn n4_a_request_brings_a_ladder_for_activities() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(work(LONG, LONG), 1);
        let engine = builder.activity("work", probe.ignores()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let asked = request("alice").ladder(ladder(3, 1));
        let receipt = engine.cancel(run, asked).await.expect("taken");
        reaches(&engine, receipt, Phase::Delivered).await;
        stage.passes_until(2, 3).await;
        settle_down(&engine, run).await;
        assert_eq!(probe.running(), 1, "not a second too early");
        stage.advance(1);
        let left = comes_clean(&engine, receipt).await;
        assert_eq!(left.attempts[0].rung, Some(Rung::Abort));
    })
    .await;
}

/// A run that was started without a ladder is terminated as the request says, and a crash in
/// between forgets nothing.
#[tokio::test]
async fn n4_a_request_brings_a_ladder_for_runs_that_survives_a_crash() {
    stage::each(async |stage| {
        let (old, new) = (Probe::new(), Probe::new());
        let first = stage.process(stays(stage.builder()).activity("undo", old.obeys())).await;
        let run = start(&first.engine, "stays", "stays-1").await;
        until(&first.engine, run, "TurnCompleted").await;
        let asked = request("alice").terminate_after(Duration::from_secs(60));
        let receipt = first.engine.cancel(run, asked).await.expect("taken");
        old.has_begun(1).await;
        first.kill();
        stage.advance(20);
        stage.reopen();
        let second = stage.process(stays(stage.builder()).activity("undo", new.obeys())).await;
        new.has_begun(1).await;
        stage.passes(40).await;
        let ended = ending(&second.engine, run).await;
        let RunEnding::Terminated(cause) = &ended else { panic!("{ended:?}") };
        assert_eq!(cause.root().requested_by.as_str(), "alice");
        comes_clean(&second.engine, receipt).await;
    })
    .await;
}

/// Somebody else asks again, and pushes harder: the activity has less time, and its cause stays.
/// Asking more gently gives nobody more time.
#[tokio::test]
async fn k7_a_later_request_hastens_a_running_activity() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().fan(work(LONG, LONG), 1);
        let engine = builder.activity("work", probe.ignores()).up().await;
        let run = start(&engine, "fan", "fan-1").await;
        probe.has_begun(1).await;
        let receipt = cancel(&engine, run).await;
        reaches(&engine, receipt, Phase::Delivered).await;
        engine.cancel(run, request("bob").ladder(ladder(3, 1))).await.expect("taken");
        let gently = request("carol").ladder(ladder(LONG, LONG));
        engine.cancel(run, gently).await.expect("taken");
        stage.passes(3).await;
        let left = comes_clean(&engine, receipt).await;
        let line = &left.attempts[0];
        assert_eq!(line.rung, Some(Rung::Abort));
        assert_eq!(line.cause.as_ref().unwrap().root().requested_by.as_str(), "alice");
    })
    .await;
}

#[tokio::test]
async fn k7_a_later_request_hastens_the_end_of_a_run() {
    stage::each(async |stage| {
        let undo = Probe::new();
        let engine = stays(stage.builder()).activity("undo", undo.obeys()).up().await;
        let run = start(&engine, "stays", "stays-1").await;
        until(&engine, run, "TurnCompleted").await;
        let receipt = cancel(&engine, run).await;
        undo.has_begun(1).await;
        let harder = request("bob").terminate_after(Duration::from_secs(5));
        engine.cancel(run, harder).await.expect("taken");
        stage.passes(5).await;
        let ended = ending(&engine, run).await;
        let RunEnding::Terminated(cause) = &ended else { panic!("{ended:?}") };
        assert_eq!(cause.root().requested_by.as_str(), "alice", "the first cause stays");
        comes_clean(&engine, receipt).await;
    })
    .await;
}

/// One activity, as its request says; again, and harder; and after it is over.
#[tokio::test]
async fn n4_one_activity_is_cancelled_with_a_ladder_and_the_answer_says_what_was_met() {
    stage::each(async |stage| {
        let probe = Probe::new();
        let builder = stage.builder().flow("one", |ctx: Context, _| async move {
            let outcome = ctx.activity(work(LONG, LONG)).await;
            assert!(matches!(outcome, bowline_core::Outcome::Cancelled(..)), "{outcome:?}");
            ctx.signals("go").recv().await;
            Ok(None)
        });
        let engine = builder.activity("work", probe.ignores()).up().await;
        let run = start(&engine, "one", "one-1").await;
        probe.has_begun(1).await;
        let target = scheduled(&engine, run).await;
        let one = async |request| engine.cancel_one(run, target, request).await.expect("taken");
        assert_eq!(one(request("ann").ladder(ladder(60, 60))).await, CancelledOne::Asked);
        stage.passes_until(1, 60).await;
        assert_eq!(one(request("bob").ladder(ladder(3, 1))).await, CancelledOne::Again);
        stage.passes(3).await;
        until(&engine, run, "ActivityCancelled").await;
        assert_eq!(one(request("bob")).await, CancelledOne::Over);
        let done = bowline_core::Signal { name: "go".into(), ..Default::default() };
        engine.signal(run, done).await.expect("taken");
        ending(&engine, run).await;
        assert_eq!(one(request("bob")).await, CancelledOne::Closed(Status::Completed));
        let unknown = engine.cancel_one(run, EventId(77), request("bob")).await;
        assert!(matches!(unknown, Err(Error::NoSuchTarget { .. })), "{unknown:?}");
    })
    .await;
}

#[tokio::test]
async fn n4_a_ladder_longer_than_any_span_is_refused() {
    stage::each(async |stage| {
        let engine = stays(stage.builder()).up().await;
        let run = start(&engine, "stays", "stays-1").await;
        let ages = Duration::from_secs(200 * 366 * 24 * 3600);
        let asked = [
            request("alice").terminate_after(ages),
            request("alice").ladder(Ladder { grace: Span(ages), ..ladder(1, 1) }),
            request("alice").ladder(Ladder { step: Span(ages), ..ladder(1, 1) }),
        ];
        for asked in asked {
            let refused = engine.cancel(run, asked).await.expect_err("too long");
            assert!(refused.to_string().contains("a hundred years"), "{refused}");
        }
        assert_eq!(engine.head(run).await.expect("there").cancel, None);
    })
    .await;
}
