//! What answers the commands: the HTTP API, on whatever was named.
//!
//! Commands know the API's requests and answers, and nothing of engines and stores. On a file or a
//! database the API is that of an engine of this process, with nothing to run, which is asked
//! without a socket in between.

mod path;
mod stream;

use std::{fmt, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{Method, Request, Response, header},
};
use bowline_engine::Engine;
use bowline_http::{HttpOptions, model::Problem};
use serde::{Serialize, de::DeserializeOwned};
use tower_service::Service;

use crate::{
    args::Place,
    compose::{Site, identity},
    http::wire::Sdk,
};

pub(crate) use path::{Path, receipt, run, space};
pub(crate) use stream::Stream;

/// How long leaving a store may take.
const LEAVE: Duration = Duration::from_secs(5);
/// The longest answer: a page of the largest payloads, written as JSON.
const ANSWER_MAX: usize = 256 * 1024 * 1024;

/// Somebody who answers.
pub(crate) struct Target {
    engine: Engine,
    router: Router,
    /// Where it is, for people.
    place: String,
    is_alone: bool,
}

/// Asks something of what was named, and leaves it as it was found.
pub(crate) async fn asking<T>(
    site: &Site,
    ask: impl AsyncFnOnce(&Target) -> Result<T>,
) -> Result<T> {
    let target = Target::open(site).await?;
    let answer = ask(&target).await;
    let closed = target.engine.close(LEAVE).await;
    let answer = answer?;
    closed?;
    Ok(answer)
}

impl Target {
    async fn open(site: &Site) -> Result<Self> {
        let store = site.open(false).await;
        let store = match &site.place {
            // What is wrong with a file names it.
            Place::File(_) => store?,
            place @ Place::Postgres(_) => store.with_context(|| place.to_string())?,
        };
        let engine = Engine::builder(store).identity(identity()).start().await?;
        let options = HttpOptions { wire: Some(Arc::new(Sdk)), ..HttpOptions::default() };
        let router = bowline_http::router(engine.clone(), options);
        let is_alone = matches!(site.place, Place::File(_));
        Ok(Self { engine, router, place: site.place.to_string(), is_alone })
    }

    /// Where it is, for people.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// True if nobody else can work on its runs as long as this process has it open.
    pub(crate) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// The engine, for what the API has no route for.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Looks at something.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: Path) -> Result<T> {
        read(self.send(Method::GET, path, Bytes::new()).await?).await
    }

    /// Asks for something.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: Path,
        body: &impl Serialize,
    ) -> Result<T> {
        let body = serde_json::to_vec(body)?;
        read(self.send(Method::POST, path, body.into()).await?).await
    }

    /// Is told again and again.
    pub(crate) async fn stream<T>(&self, path: Path) -> Result<Stream<T>> {
        let response = self.send(Method::GET, path, Bytes::new()).await?;
        Ok(Stream::new(response.into_body()))
    }

    async fn send(&self, method: Method, path: Path, body: Bytes) -> Result<Response<Body>> {
        let request = Request::builder().method(method).uri(path.text());
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let answer = self.router.clone().call(request.body(Body::from(body))?).await;
        let answer = checked(answer.unwrap_or_else(|never| match never {})).await;
        // Many refusals do not say of what.
        match (answer, path.subject()) {
            (Err(error), Some(subject)) if !error.to_string().contains(subject) => {
                Err(error.context(subject.to_owned()))
            }
            (answer, _) => answer,
        }
    }
}

/// The answer, if it is none of refusal.
async fn checked(response: Response<Body>) -> Result<Response<Body>> {
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status();
    let bytes = to_bytes(response.into_body(), ANSWER_MAX).await?;
    let problem = serde_json::from_slice::<Problem>(&bytes);
    Err(Refused(problem.with_context(|| format!("the answer is {status}"))?).into())
}

async fn read<T: DeserializeOwned>(response: Response<Body>) -> Result<T> {
    let bytes = to_bytes(response.into_body(), ANSWER_MAX).await?;
    serde_json::from_slice(&bytes).context("the answer does not read: is that another version?")
}

/// What was asked for is not done, and why.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Problem);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.detail)
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// What to do about it, as it is said on a command line.
    pub(crate) fn todo(&self) -> &str {
        match self.0.code.as_str() {
            "id_taken" => "Use another id, wait for that run, or say --if-open or --if-closed.",
            "missing" => "Check the id, --namespace and --schema; it may have been deleted.",
            "unregistered" => "Only a program that has this code can answer, while it runs.",
            _ => &self.0.todo,
        }
    }
}
