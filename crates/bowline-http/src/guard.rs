//! Who is let in: the one table of rights in front of every route, and what browsers must not be
//! talked into.
//!
//! In:    a request, the other end of its connection, and what the server knows of callers.
//! Out:   the request with its caller's name on it, or a refusal in the API's own words.
//! Never: looks into a body. What only a body says is checked by whoever reads it.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{FromRequestParts, RawPathParams, Request},
    http::{Extensions, Method, Response, header},
    middleware::{self, Next},
    response::IntoResponse,
};
use bowline_access::{
    Access, AccessLayer, Asked, Keeper, Need, Peer, Refused as Why, Row, Ticket, browser,
};

use crate::{problem::Refused, table::route_of};

/// The document says only what anybody can read in the source.
const DOCUMENT: Row = Row::needs("GET /openapi.json", Need::Nothing);

/// The API as the layer sees it.
#[derive(Clone, Copy, Debug)]
struct Web;

impl Web {
    fn line(method: &Method, extensions: &Extensions) -> Option<Row> {
        let matched = extensions.get::<axum::extract::MatchedPath>()?;
        match route_of(method, extensions) {
            Some(route) => Some(route.row()),
            None => matched.as_str().ends_with("/openapi.json").then_some(DOCUMENT),
        }
    }
}

impl Keeper<Body, Body> for Web {
    fn row(&self, request: &Request) -> Option<Row> {
        Self::line(request.method(), request.extensions())
    }

    fn peer(&self, request: &Request) -> Arc<Peer> {
        let known = request.extensions().get::<Arc<Peer>>().cloned();
        known.unwrap_or_else(|| Peer::named("http", "unknown".into()))
    }

    fn refuse(&self, why: &Why) -> Response<Body> {
        Refused::from(why.clone()).into_response()
    }

    fn failure(&self, answer: &Response<Body>) -> Option<String> {
        let status = answer.status();
        (status.is_client_error() || status.is_server_error()).then(|| status.to_string())
    }
}

/// Asks everybody who comes to a router who they are.
pub(crate) fn asking<S: Clone + Send + Sync + 'static>(
    router: Router<S>,
    access: &Arc<Access>,
) -> Router<S> {
    let router = router.layer(AccessLayer::new(access.clone(), Web));
    router.layer(middleware::from_fn(async |mut request: Request, next: Next| {
        // What a browser has kept is of no use where everybody is let in, and must not keep its
        // owner from a page on which to log in again.
        let row = Web::line(request.method(), request.extensions());
        if row.is_some_and(|row| row.need == Need::Nothing) {
            request.headers_mut().remove(header::COOKIE);
        }
        next.run(request).await
    }))
}

/// Whether whoever was let in may do this here, by the names in the address.
pub(crate) async fn check(request: Request, id: &str) -> Result<Request, Refused> {
    let Some(ticket) = request.extensions().get::<Ticket>().cloned() else { return Ok(request) };
    let (mut parts, body) = request.into_parts();
    let params = RawPathParams::from_request_parts(&mut parts, &()).await;
    let named = |name: &str| {
        let mut params = params.iter().flat_map(|params| params.iter());
        params.find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    };
    let asked =
        Asked { namespace: named("ns"), target: named("id"), request_id: id, ..Asked::default() };
    ticket.check(&asked)?;
    Ok(Request::from_parts(parts, body))
}

/// Keeps out what a page of another site has asked a browser for. Where only this machine is let in
/// and nobody says who they are (`is_own`), a page whose name was bound to this machine is told
/// from others by that name.
pub fn sheltered<S: Clone + Send + Sync + 'static>(router: Router<S>, is_own: bool) -> Router<S> {
    router.layer(middleware::from_fn(move |request: Request, next: Next| async move {
        let headers = request.headers();
        let is_foreign = browser::is_foreign(request.method(), headers);
        match is_foreign || (is_own && !browser::is_local_host(headers)) {
            true => Refused::from(Why::Foreign).into_response(),
            false => next.run(request).await,
        }
    }))
}
