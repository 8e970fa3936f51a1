//! The fleet: seven workflows as people write them, with the outside world played by sleeps.

mod agent;
mod nightly;
mod order;
mod quote;
mod report;
mod training;
mod video;

use std::{path::Path, time::Duration};

use anyhow::Result;
use bowline::{ActivityCtx, Bowline, Builder, Failure};
use serde::{Deserialize, Serialize};

/// Which workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Order,
    Agent,
    Report,
    Quote,
    Nightly,
    Training,
    Video,
}

/// A program that can run all of them on a file.
pub(super) fn program(file: &Path) -> Builder {
    let app = Bowline::open(file.display().to_string());
    let app = app.workflow(order::checkout).activity(order::reserve).activity(order::charge);
    let app = app.activity(order::ship).activity(order::refund).activity(order::release);
    let app = app.workflow(agent::agent).activity(agent::think);
    let app = app.workflow(report::report).activity(report::scan);
    let app = app.workflow(quote::quote).activity(quote::ask_supplier);
    let app = app.workflow(nightly::nightly).activity(nightly::rebuild_index);
    let app = app.activity(nightly::publish);
    let app = app.workflow(training::training).activity(training::crunch);
    app.workflow(video::video).activity(video::encode)
}

/// Starts one run, and tells its workflow's name and its own id.
pub(super) async fn start(bowline: &Bowline, kind: Kind, id: &str) -> Result<String> {
    let run = match kind {
        Kind::Order => bowline.start(order::checkout, id, "a rope").await?.run_id(),
        Kind::Agent => bowline.start(agent::agent, id, agent::Brief::first()).await?.run_id(),
        Kind::Report => bowline.start(report::report, id, report::SHARDS).await?.run_id(),
        Kind::Quote => bowline.start(quote::quote, id, "200 m of rope").await?.run_id(),
        Kind::Nightly => bowline.start(nightly::nightly, id, ()).await?.run_id(),
        Kind::Training => bowline.start(training::training, id, ()).await?.run_id(),
        Kind::Video => bowline.start(video::video, id, "knots.mov").await?.run_id(),
    };
    Ok(run.unwrap_or_default())
}

/// The outside world takes this long.
async fn latency(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// Works until it is told to stop, and then stops: what every good activity does.
async fn until_told(ctx: &ActivityCtx) -> Failure {
    let why = ctx.cancelled().await;
    Failure::new(format!("stopped: {why}"))
}
