//! The router, made from the table, and what all its requests share.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use bowline_access::Access;
use bowline_engine::Engine;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    guard, limits,
    live::Feed,
    openapi,
    problem::{Refused, named},
    table::{ROUTES, route_of},
    view::data::Wire,
};

/// How runs live that are started over HTTP, unless a request says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunRules {
    /// By code of this process, and others like it.
    #[default]
    Native,
    /// By workers that speak an SDK's protocol.
    Remote,
}

/// What the API is told.
#[derive(Clone, Default)]
pub struct HttpOptions {
    /// How runs live that are started here.
    pub rules: RunRules,
    /// Reads and writes the payloads of another door.
    pub wire: Option<Arc<dyn Wire>>,
    /// Who may do what. Unset, everybody may do everything: then something else must keep others
    /// out.
    pub access: Option<Arc<Access>>,
    /// Whether work may still be sent here; unset for always.
    pub is_open: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

/// What all requests share.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

struct Shared {
    engine: Engine,
    options: HttpOptions,
    feed: Feed,
    /// Requests that are answered at once.
    calls: Arc<Semaphore>,
    /// Requests that wait for something.
    waits: Arc<Semaphore>,
}

impl App {
    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn options(&self) -> &HttpOptions {
        &self.0.options
    }

    pub(crate) fn feed(&self) -> &Feed {
        &self.0.feed
    }
}

pub(crate) fn router(engine: Engine, options: HttpOptions) -> Router {
    let app = App(Arc::new(Shared {
        feed: Feed::new(engine.clone()),
        engine,
        options,
        calls: Arc::new(Semaphore::new(limits::CALLS_MAX)),
        waits: Arc::new(Semaphore::new(limits::WAITS_MAX)),
    }));
    let mut router = Router::new().route("/openapi.json", axum::routing::get(openapi::serve));
    for route in ROUTES {
        router = router.route(route.path, (route.serve)());
    }
    router = router
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(app.clone(), admit));
    if let Some(access) = &app.options().access {
        router = guard::asking(router, access);
    }
    guard::sheltered(router, false)
        .layer(middleware::from_fn_with_state(app.clone(), name))
        .with_state(app)
}

async fn no_such_route(request: Request) -> Refused {
    let detail = format!("there is nothing at {}", request.uri().path());
    Refused::new(StatusCode::NOT_FOUND, "no_such_route", detail)
}

async fn no_such_method(request: Request) -> Refused {
    let detail = format!("{} is not a method of {}", request.method(), request.uri().path());
    Refused::new(StatusCode::METHOD_NOT_ALLOWED, "no_such_route", detail)
}

/// Room for one request, until it is answered or, if the answer is a stream, until that ends.
#[derive(Clone)]
pub(crate) struct Held {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// What names a request.
#[derive(Clone)]
struct RequestName(String);

/// Names every request, and its answer.
async fn name(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = request_id(&app, &request);
    request.extensions_mut().insert(RequestName(id.clone()));
    let mut response = named(next.run(request).await, &id);
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert("x-request-id", value);
    }
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.entry("cache-control").or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Lets in who may, and only so many at once.
async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestName>().map(|name| name.0.clone());
    let mut request = match guard::check(request, id.as_deref().unwrap_or_default()).await {
        Ok(request) => request,
        Err(refused) => return refused.into_response(),
    };
    let waits = route_of(request.method(), request.extensions()).is_some_and(|route| route.waits);
    let room = if waits { &app.0.waits } else { &app.0.calls };
    match room.clone().try_acquire_owned() {
        Ok(permit) => {
            let held = Held { _permit: Arc::new(permit) };
            request.extensions_mut().insert(held.clone());
            let response = next.run(request).await;
            drop(held);
            response
        }
        Err(_) => {
            let detail = "too many requests are worked on, or wait, at once";
            let refused = Refused::new(StatusCode::TOO_MANY_REQUESTS, "too_many", detail);
            let mut response = refused.into_response();
            response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
            response
        }
    }
}

/// The id that a request has, if it has a good one, or a new one.
fn request_id(app: &App, request: &Request) -> String {
    let given = request.headers().get("x-request-id").and_then(|id| id.to_str().ok());
    let is_good = |id: &&str| {
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        (1..=128).contains(&id.len()) && id.bytes().all(fine)
    };
    match given.filter(is_good) {
        Some(id) => id.to_owned(),
        None => format!("{:032x}", app.engine().draw()),
    }
}
