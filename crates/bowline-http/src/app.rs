//! The router, made from the table, and what all its requests share.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use bowline_engine::Engine;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    limits,
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
    router
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(app.clone(), admit))
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

/// Names every request, and lets only so many be worked on at once.
async fn admit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = request_id(&app, &request);
    let waits = route_of(request.method(), request.extensions()).is_some_and(|route| route.waits);
    let room = if waits { &app.0.waits } else { &app.0.calls };
    let response = match room.clone().try_acquire_owned() {
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
    };
    let mut response = named(response, &id);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
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
