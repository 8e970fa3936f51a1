//! Bowline over HTTP: runs, receipts, workers and queues as JSON, under `/api/v1`.
//!
//! [`router`] is an [`axum::Router`] on an [`Engine`], to be served alone or mounted in an
//! application's own program. Everything that can be asked stands in one table, [`ROUTES`]: the
//! router, the OpenAPI document and the rights are made from it. What is said stands in [`model`].

mod app;
mod call;
mod console;
mod filter;
mod guard;
mod limits;
mod live;
mod openapi;
mod problem;
mod route;
mod serve;
mod table;
mod view;

pub mod model;

pub use app::{HttpOptions, RunRules};
pub use call::Caller;
pub use console::console;
pub use guard::sheltered;
pub use serve::{Gate, serve};
pub use table::{Param, ROUTES, Route, Verb, route_of};
pub use view::data::{Wire, plain as plain_data};

use axum::Router;
use bowline_engine::Engine;

/// The API on an engine. Every path of it begins with `/api/v1`, but for `/openapi.json`,
/// `/healthz` and `/readyz`.
pub fn router(engine: Engine, options: HttpOptions) -> Router {
    app::router(engine, options)
}

/// The OpenAPI document, as it is served.
pub fn openapi() -> serde_json::Value {
    openapi::document()
}
