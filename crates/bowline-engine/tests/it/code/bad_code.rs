//! Bad input that comes from code: what a workflow asks for, what an activity answers, and tokens
//! that were not handed out for what they are shown for. Each has a typed answer, and wedges
//! nobody.

use std::time::Duration;

use bowline_core::{
    ActivitySpec, ChildSpec, Ending, EventId, Failure, Outcome, Payload, RetryPolicy, RunEnding,
    RunId, Span, Timeouts, Token, limits,
};
use bowline_engine::Engine;
use bowline_replay::{Context, Ended};

use crate::{
    support::{
        flows::Flows,
        remote,
        stage::{self, Stage},
    },
    world::{Code, activity, done, ending, history, kinds, options, start, text, within},
};

fn large() -> Option<Payload> {
    Some(Payload::json("x".repeat(limits::PAYLOAD_MAX + 1)))
}

async fn still_works(engine: &Engine) {
    let run = start(engine, "quick", "after").await;
    let ended = within("a healthy run", ending(engine, run)).await;
    assert_eq!(ended, RunEnding::Completed(None));
}

/// Waits until a run is closed, or parked: then the reason is the error. Time passes.
async fn fate(stage: &Stage, engine: &Engine, run: RunId) -> Result<RunEnding, String> {
    within("the run to close or to be parked", async {
        loop {
            let head = engine.head(run).await.expect("the run is there");
            if let Some(parked) = head.parked {
                return Err(parked.reason);
            }
            if !head.status.is_open() {
                return Ok(ending(engine, run).await);
            }
            stage.clock.advance(Duration::from_millis(100));
            tokio::task::yield_now().await;
        }
    })
    .await
}

fn spec(change: impl FnOnce(&mut ActivitySpec)) -> ActivitySpec {
    let mut spec = activity("work", "1");
    change(&mut spec);
    spec
}

/// What a workflow must not ask for, and what the reason says then.
fn unacceptable() -> Vec<(&'static str, ActivitySpec)> {
    let century = Some(Span(limits::SPAN_MAX + Duration::from_secs(1)));
    let limit = Timeouts { start_to_close: century, ..Timeouts::default() };
    let policy = RetryPolicy { coefficient: -1.0, ..RetryPolicy::default() };
    vec![
        ("more than 2 MiB", spec(|spec| spec.input = large())),
        ("has no name", spec(|spec| spec.name = "".into())),
        ("too long", spec(|spec| spec.queue = "q".repeat(limits::TEXT_MAX + 1).into())),
        ("a hundred years", spec(|spec| spec.timeouts = limit)),
        ("coefficient", spec(|spec| spec.retry = Some(policy))),
    ]
}

/// A workflow asks for what is not acceptable: nothing is written, the run is parked with a reason
/// that names what was wrong, and everybody else goes on.
#[tokio::test]
async fn h9_what_a_workflow_must_not_ask_for_parks_it_by_name() {
    stage::each(async |stage| {
        let mut builder = stage.builder().flow("quick", |_, _| async { Ok(None) });
        let mut reasons = vec!["the timer is longer", "2 MiB: child", "2 MiB: result"];
        builder = builder
            .flow(reasons[0], |ctx, _| async move {
                ctx.timer(Duration::MAX).await.map_err(Ended::Cancelled)?;
                Ok(None)
            })
            .flow(reasons[1], |ctx, _| async move {
                let (name, input) = ("quick".into(), large());
                ctx.child(ChildSpec { name, input, ..ChildSpec::default() }).await
            })
            .flow(reasons[2], |_, _| async { Ok(large()) })
            .act("work", |_, _| async { Ok(None) });
        for (reason, spec) in unacceptable() {
            reasons.push(reason);
            builder = builder.flow(reason, move |ctx: Context, _| {
                let spec = spec.clone();
                async move { done(ctx.activity(spec).await) }
            });
        }
        let engine = builder.up().await;
        for reason in reasons {
            let run = start(&engine, reason, reason).await;
            let parked = fate(&stage, &engine, run).await.expect_err("it cannot go on");
            let says = reason.split(':').next().expect("there is a first part");
            assert!(parked.contains(says), "{parked} says {says}");
            assert_eq!(kinds(&engine, run).await, ["WorkflowStarted"], "nothing was written");
        }
        still_works(&engine).await;
    })
    .await;
}

/// An activity without a queue of its own waits in its run's.
#[tokio::test]
async fn an_activity_without_a_queue_waits_in_that_of_its_run() {
    stage::each(async |stage| {
        let flow = |ctx: Context, _| async move {
            done(ctx.activity(spec(|spec| spec.queue = "".into())).await)
        };
        let builder = stage.builder().flow("one", flow);
        let engine = builder.act("work", |_, _| async { Ok(None) }).up().await;
        let run = start(&engine, "one", "one-1").await;
        assert_eq!(ending(&engine, run).await, RunEnding::Completed(None));
    })
    .await;
}

/// An activity answers with more than anybody would store: that is its failure, which names the
/// size, is not tried again, and lets the workflow go on.
#[tokio::test]
async fn h9_an_activity_that_answers_too_much_has_failed() {
    Box::pin(stage::each(async |stage| {
        let asks = |ctx: Context, input: Option<Payload>| async move {
            let policy = Some(RetryPolicy::default());
            let call = ActivitySpec { retry: policy, ..activity(&text(&input), "1") };
            let Outcome::Failed(failure) = ctx.activity(call).await else { panic!("it fails") };
            Ok(Some(Payload::json(failure.to_string())))
        };
        let engine = stage
            .builder()
            .flow("quick", |_, _| async { Ok(None) })
            .flow("asks", asks)
            .act("result", |_, _| async { Ok(large()) })
            .act("failure", |_, _| async {
                Err(Failure { details: large(), ..Failure::new("much is wrong") })
            })
            .up()
            .await;
        for name in ["result", "failure"] {
            let mut options = options("asks", name);
            options.started.input = Some(Payload::json(name));
            let run = engine.start(options).await.expect("it starts");
            let told = fate(&stage, &engine, run).await.expect("it goes on");
            let RunEnding::Completed(said) = &told else { panic!("{told:?}") };
            let said = text(said);
            assert!(said.starts_with("TooLarge") && said.contains("more than 2 MiB"), "{said}");
        }
        still_works(&engine).await;
    }))
    .await;
}

/// A token that was made for another run, another activity or another attempt is refused, and
/// changes nothing of either run.
#[tokio::test]
async fn h9_a_token_of_another_run_is_refused_and_changes_neither() {
    stage::each(async |stage| {
        let engine = stage.builder().flow("quick", |_, _| async { Ok(None) }).up().await;
        let (one, two) = (
            remote::scheduled(&engine, "r-1", 1).await,
            remote::scheduled(&engine, "r-2", 1).await,
        );
        let own = remote::activity(&engine, "").await;
        let other = if own.run == one { two } else { one };
        let before = (history(&engine, one).await, history(&engine, two).await);
        let nobody = RunId { uuid: 99, ..one };
        for token in [
            Token::activity(other, own.activity, 1),
            Token::activity(nobody, own.activity, 1),
            Token::activity(own.run, EventId(own.activity.0 + 1), 1),
            Token::activity(own.run, own.activity, 2),
        ] {
            let done = Ending::Completed(None);
            let refused = engine.end_activity(token.to_blob().as_slice(), done).await;
            assert_eq!(refused.expect_err("not its own").code(), "bad_token");
            let beat = engine.heartbeat(token.to_blob().as_slice(), None).await;
            assert_eq!(beat.expect("answered"), bowline_engine::RemoteHeartbeat::Gone);
        }
        assert_eq!((history(&engine, one).await, history(&engine, two).await), before);
        let own = engine.end_activity(own.token.as_slice(), Ending::Completed(None)).await;
        own.expect("its own counts");
        still_works(&engine).await;
    })
    .await;
}
