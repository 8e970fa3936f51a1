//! `bowline serve`: until somebody says stop.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    prelude::*,
};

use crate::{args::LogLevel, compose, print::Printer, settings::Settings};

pub(crate) async fn run(settings: Settings, print: Printer) -> Result<ExitCode> {
    log(settings.log);
    let mut stop = Stop::listen()?;
    let mut server = compose::server(&settings).await?;
    let (address, namespace) = (server.sdk.address, &settings.namespace);
    let http = server.http.as_ref();
    let http = http.map(|http| (http.address, if http.is_encrypted { "https" } else { "http" }));
    let place = &settings.site.place;
    print.line(
        || match http {
            Some((http, scheme)) => format!(
                "listening on {address} for namespace {namespace:?}; the console is at \
                 {scheme}://{http}/; the store is {place}"
            ),
            None => {
                format!("listening on {address} for namespace {namespace:?}; the store is {place}")
            }
        },
        json!({
            "listening": address.to_string(),
            "http": http.map(|(http, _)| http.to_string()),
            "namespace": namespace,
            "store": place.to_string(),
        }),
    );
    tokio::select! {
        () = stop.asked() => {}
        error = server.sdk.ended() => return Err(error.into()),
    }
    print.line(|| "finishing calls in flight".to_owned(), json!({ "closing": true }));
    tokio::select! {
        closed = server.close(settings.grace) => closed?,
        () = stop.asked() => bail!("told to stop twice: ended without waiting for calls in flight"),
    }
    print.line(|| "closed".to_owned(), json!({ "closed": true }));
    Ok(ExitCode::SUCCESS)
}

/// Ctrl-C and SIGTERM.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn listen() -> Result<Self> {
        let interrupt = signal(SignalKind::interrupt()).context("Ctrl-C cannot be heard")?;
        let terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be heard")?;
        Ok(Self { interrupt, terminate })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
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
