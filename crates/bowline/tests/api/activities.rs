//! Every form of an activity, retries, and what comes back.

use std::{
    io,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use bowline::prelude::*;
use bowline::{Failure, Handle};
use serde::{Deserialize, Serialize};

use crate::Place;

async fn bare() -> bowline::Result<u32> {
    Ok(1)
}

async fn with_input(n: u32) -> Result<u32, Refused> {
    Ok(n + 1)
}

async fn with_context(ctx: ActivityCtx) -> bowline::Result<u32> {
    Ok(ctx.info().attempt)
}

async fn with_both(ctx: ActivityCtx, n: u32) -> bowline::Result<u32> {
    Ok(ctx.info().attempt + n)
}

#[derive(Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("refused")]
struct Refused;

struct Desk {
    base: u32,
}

impl Desk {
    async fn alone(&self) -> Result<u32, Refused> {
        Ok(self.base)
    }

    async fn context(&self, ctx: ActivityCtx) -> Result<u32, Refused> {
        Ok(self.base + ctx.info().attempt)
    }

    async fn input(&self, n: u32) -> Result<u32, Refused> {
        Ok(self.base + n)
    }

    async fn both(&self, ctx: ActivityCtx, n: u32) -> Result<u32, Refused> {
        Ok(self.base + ctx.info().attempt + n)
    }
}

async fn forms(ctx: Ctx) -> bowline::Result<Vec<u32>> {
    let beside: Handle<u32, Failure> = ctx.activity(with_both, 10).start();
    let values = vec![
        ctx.activity(bare, ()).await?,
        ctx.activity(with_input, 2).await?,
        ctx.activity(with_context, ()).await?,
        beside.await?,
        ctx.activity(Desk::alone, ()).await.expect("it cannot fail"),
        ctx.activity(Desk::context, ()).await.expect("it cannot fail"),
        ctx.activity(Desk::input, 5).await.expect("it cannot fail"),
        ctx.activity(Desk::both, 5).await.expect("it cannot fail"),
    ];
    Ok(values)
}

#[tokio::test]
async fn every_form_of_an_activity_can_be_called() {
    let place = Place::new();
    let app = place.open().workflow(forms).state(Desk { base: 100 });
    let app = app.activity(bare).activity(with_input).activity(with_context).activity(with_both);
    let app = app.activity(Desk::alone).activity(Desk::context);
    let bowline = app.activity(Desk::input).activity(Desk::both).start().await.expect("it starts");
    let run = bowline.start(forms, "f", ()).await.expect("it is started");
    assert_eq!(run.result().await.expect("it ends"), [1, 3, 1, 11, 100, 101, 105, 106]);
}

static TRIES: AtomicU32 = AtomicU32::new(0);

async fn flaky() -> bowline::Result<u32> {
    match TRIES.fetch_add(1, Ordering::SeqCst) {
        tries if tries < 2 => Err(io::Error::other("not yet").into()),
        tries => Ok(tries),
    }
}

async fn final_at_once(ctx: ActivityCtx) -> Result<(), Refused> {
    Err(ctx.no_retry(Refused))
}

async fn breaks() -> bowline::Result<()> {
    panic!("a screw is loose")
}

async fn never() -> bowline::Result<()> {
    std::future::pending().await
}

async fn ends(ctx: Ctx) -> bowline::Result<Vec<String>> {
    let quick = Retry::every(Duration::from_millis(1));
    let flaky = ctx.activity(flaky, ()).retry(quick.clone().attempts(5)).await?;
    let refused = ctx.activity(final_at_once, ()).retry(quick).await;
    let broken = ctx.activity(breaks, ()).await;
    let late =
        ctx.activity(never, ()).timeout(Duration::from_millis(5)).grace(Duration::ZERO).await;
    assert_eq!(refused, Err(Ended::Failed(Refused)));
    let Err(Ended::Panicked(panic)) = &broken else { panic!("{broken:?}") };
    let place = panic.location().expect("a panic has a place");
    assert!(place.contains("activities.rs"), "{place}");
    assert_eq!(late, Err(Ended::TimedOut(bowline::Timeout::StartToClose)));
    Ok(vec![flaky.to_string(), panic.message().to_owned()])
}

#[tokio::test]
async fn errors_panics_and_limits_come_back_as_what_they_are() {
    let place = Place::new();
    let app = place.open().workflow(ends).activity(flaky).activity(final_at_once);
    let bowline = app.activity(breaks).activity(never).start().await.expect("it starts");
    let run = bowline.start(ends, "e", ()).await.expect("it is started");
    assert_eq!(run.result().await.expect("it ends"), ["2", "a screw is loose"]);
}

async fn fails(ctx: Ctx) -> bowline::Result<()> {
    ctx.activity(final_at_once, ()).await.map_err(|ended| ended.map(|_| Failure::new("no")))?;
    Ok(())
}

#[tokio::test]
async fn a_result_is_an_error_that_main_can_return() {
    let place = Place::new();
    let app = place.open().workflow(fails).activity(final_at_once);
    let bowline = app.start().await.expect("it starts");
    let run = bowline.start(fails, "f", ()).await.expect("it is started");
    let error: Box<dyn std::error::Error> = run.result().await.expect_err("it fails").into();
    assert_eq!(error.to_string(), "the run failed: no");
}

#[test]
fn a_failure_gives_back_the_error_that_it_was_made_of() {
    let failure = Failure::from(Refused);
    assert_eq!((failure.kind(), failure.message()), ("Refused", "refused"));
    assert_eq!(failure.downcast::<Refused>(), Some(Refused));
}
