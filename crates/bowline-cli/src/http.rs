//! The port for those who look after the server: is it alive, is it ready, what has it counted.

mod door;

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result};
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use bowline_engine::{Engine, store::Filter};
use bowline_temporal::{Door, Protection};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::metrics;

/// How long the store has to show that it answers.
const PROBE: Duration = Duration::from_secs(3);

/// A server, as this port sees it.
#[derive(Clone)]
pub(crate) struct Watched {
    pub(crate) engine: Engine,
    pub(crate) door: Door,
}

/// Listens, until it is aborted. The answer names the real port.
pub(crate) async fn serve(
    watched: Watched,
    address: SocketAddr,
    protection: &Protection,
) -> Result<(SocketAddr, JoinHandle<()>)> {
    let cannot = || format!("cannot listen on {address}, for health and metrics");
    let listener = TcpListener::bind(address).await.with_context(cannot)?;
    let address = listener.local_addr().with_context(cannot)?;
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(measured))
        .with_state(watched);
    let router = door::protected(router, &address, protection);
    let gate = door::Gate { listener, tls: protection.tls.clone() };
    let serving = tokio::spawn(async move {
        let service = router.into_make_service_with_connect_info::<door::Client>();
        if let Err(error) = axum::serve(gate, service).await {
            tracing::error!(%error, "health and metrics are served no more");
        }
    });
    Ok((address, serving))
}

/// Whether work may be sent here: it takes some, and its store answers.
async fn ready(State(watched): State<Watched>) -> (StatusCode, String) {
    let not = |why: String| (StatusCode::SERVICE_UNAVAILABLE, why);
    if !watched.door.is_open() {
        return not("shutting down\n".to_owned());
    }
    let filter = Filter { limit: 1, ..Filter::default() };
    match tokio::time::timeout(PROBE, watched.engine.find(filter)).await {
        Ok(Ok(_)) => (StatusCode::OK, "ready\n".to_owned()),
        Ok(Err(error)) => not(format!("the store does not answer well: {error}\n")),
        Err(_) => not("the store does not answer\n".to_owned()),
    }
}

async fn measured(State(watched): State<Watched>) -> impl IntoResponse {
    let text =
        metrics::text(&watched.engine.metrics(), &watched.door.metrics(), &watched.door.calls());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}
