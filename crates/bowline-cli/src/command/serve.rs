//! `bowline serve`: until somebody says stop.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    prelude::*,
};

use crate::{
    args::{LogLevel, Serve},
    compose::{self, Site},
    print::Printer,
};

/// How long calls that wait have to end by themselves.
const CLOSE: Duration = Duration::from_secs(5);

pub(crate) async fn run(site: &Site, args: Serve, print: Printer) -> Result<ExitCode> {
    log(args.log);
    let mut interrupt = signal(SignalKind::interrupt()).context("Ctrl-C cannot be heard")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be heard")?;
    let (engine, listening) = compose::server(site, &args).await?;
    let (address, namespace) = (listening.address, &args.namespace);
    print.line(
        || format!("listening on {address} for namespace {namespace:?}"),
        json!({ "listening": address.to_string(), "namespace": namespace }),
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    // The engine first: every poll that waits in it is answered empty, and the port can close.
    let closed = engine.close(CLOSE).await;
    listening.close(CLOSE).await?;
    closed?;
    print.line(|| "closed".to_owned(), json!({ "closed": true }));
    Ok(ExitCode::SUCCESS)
}

fn log(level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    // What the libraries underneath have to say is for their own authors.
    let ours = Targets::new().with_target("bowline", level).with_default(LevelFilter::WARN);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines.with_filter(ours)).init();
}
