//! Whether the process is alive, and whether work may be sent here.

use axum::{Json, extract::State, http::StatusCode};
use bowline_engine::store::Filter;

use crate::{
    app::App,
    limits,
    model::Health,
    problem::{Answer, Refused},
};

fn health(state: &str) -> Json<Health> {
    Json(Health { state: state.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// `GET /healthz`
pub(crate) async fn alive() -> Json<Health> {
    health("ok")
}

/// `GET /readyz`
pub(crate) async fn ready(State(app): State<App>) -> Answer<Health> {
    let not = |why: String| Refused::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", why);
    if app.options().is_open.as_ref().is_some_and(|is_open| !is_open()) {
        return Err(not("shutting down".to_owned()));
    }
    let filter = Filter { limit: 1, ..Filter::default() };
    match tokio::time::timeout(limits::PROBE, app.engine().find(filter)).await {
        Ok(Ok(_)) => Ok(health("ready")),
        Ok(Err(error)) => Err(not(format!("the store does not answer well: {error}"))),
        Err(_) => Err(not("the store does not answer".to_owned())),
    }
}
