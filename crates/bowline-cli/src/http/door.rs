//! What stands beside the API on its port has rights, too.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use bowline_access::{AccessLayer, Keeper, Peer, Reach, Refused, Right, Row, Subject};
use bowline_temporal::Protection;
use serde_json::json;

/// What has been counted is for everybody who may see anything.
const METRICS: Row = Row::new("GET /metrics", &[Right::Read]).reaching(Reach::Somewhere);

/// Metrics as the layer sees them.
#[derive(Clone, Copy, Debug)]
struct Measures;

impl Keeper<Body, Body> for Measures {
    fn row(&self, _: &Request) -> Option<Row> {
        Some(METRICS)
    }

    fn peer(&self, request: &Request) -> Arc<Peer> {
        let known = request.extensions().get::<Arc<Peer>>().cloned();
        known.unwrap_or_else(|| Peer::named("http", "unknown".into()))
    }

    fn refuse(&self, why: &Refused) -> Response<Body> {
        refusal(why)
    }

    fn failure(&self, _: &Response<Body>) -> Option<String> {
        None
    }

    fn subject(&self, _: &Request) -> Option<Subject> {
        Some(Subject::default())
    }
}

/// A refusal: stable code, message, what to do.
fn refusal(why: &Refused) -> Response<Body> {
    let (status, todo) = match why {
        why if why.is_unknown() => (StatusCode::UNAUTHORIZED, "send an API key or a token"),
        Refused::Unaudited => (StatusCode::SERVICE_UNAVAILABLE, "look at the server's log"),
        _ => (StatusCode::FORBIDDEN, "ask whoever runs this server for the right that it names"),
    };
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "code": why.code(),
        "detail": why.to_string(),
        "todo": todo,
    });
    let kind = [(header::CONTENT_TYPE, "application/problem+json")];
    let mut answer = (status, kind, body.to_string()).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let ask = HeaderValue::from_static("Bearer");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
    }
    answer
}

/// Asks whoever wants to see what has been counted who they are, where anybody is asked.
pub(super) fn asking(router: Router, protection: &Protection) -> Router {
    match &protection.access {
        Some(access) => router.route_layer(AccessLayer::new(access.clone(), Measures)),
        None => router,
    }
}
