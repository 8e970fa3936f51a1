//! Panics of user code: what they say and where they happened comes with the failure.

use bowline_core::{Failure, Outcome, Payload};
use bowline_engine::worker::registry::activity_fn;
use bowline_replay::Context;

use crate::{
    support::{flows::Flows, stage},
    world::{Code, activity, ending, signal, start, text, until},
};

fn here(line: u32) -> String {
    format!("{}:{line}:", file!())
}

/// An activity that panics: its workflow is told the message and the place.
#[tokio::test]
async fn a_panic_of_an_activity_has_its_place() {
    stage::each(async |stage| {
        let place = here(line!() + 2);
        let builder =
            stage.builder().activity("work", activity_fn(|_, _| async { panic!("out of luck") }));
        let builder = builder.flow("asks", |ctx: Context, _| async move {
            let outcome = ctx.activity(activity("work", "1")).await;
            let Outcome::Failed(Failure { message, kind, trace, .. }) = outcome else {
                panic!("{outcome:?}")
            };
            Ok(Some(Payload::json(format!("{kind} {message} {trace}"))))
        });
        let engine = builder.up().await;
        let run = start(&engine, "asks", "asks-1").await;
        let bowline_core::RunEnding::Completed(said) = ending(&engine, run).await else {
            panic!("it completes")
        };
        let said = text(&said);
        assert!(said.starts_with(&format!("panic out of luck {place}")), "{said} / {place}");
    })
    .await;
}

/// A workflow that panics is parked, and the reason names the place; a query that panics says so.
#[tokio::test]
async fn a_panic_of_a_workflow_has_its_place() {
    stage::each(async |stage| {
        let place = here(line!() + 5);
        let builder = stage.builder().flow("trips", |ctx: Context, _| async move {
            ctx.expose("why", |_| panic!("no answer"));
            ctx.signals("go").recv().await;
            let steps: Vec<u32> = Vec::new();
            assert!(!steps.is_empty(), "no way on");
            Ok(None)
        });
        let engine = builder.up().await;
        let run = start(&engine, "trips", "trips-1").await;
        until(&engine, run, "TurnCompleted").await;
        let refused = engine.query(run, "why", None).await.expect_err("it panics");
        assert!(refused.to_string().contains("no answer"), "{refused}");
        engine.signal(run, signal("go")).await.expect("it is taken");
        let reason = loop {
            let head = engine.head(run).await.expect("it is there");
            if let Some(parked) = head.parked {
                break parked.reason;
            }
            stage.clock.advance(std::time::Duration::from_millis(100));
            tokio::task::yield_now().await;
        };
        assert!(reason.contains("no way on") && reason.contains(&place), "{reason} / {place}");
    })
    .await;
}
