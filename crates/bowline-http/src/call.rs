//! A request as routes see it: which engine, which ids, which options, and who asks.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{FromRequest, FromRequestParts, RawPathParams, Request},
    http::{StatusCode, header, request::Parts},
};
use bowline_access::{How, Peer, Proof, Right, Ticket};
use bowline_core::{Address, Identity, Namespace, RequestId, RunId, WorkflowId};
use bowline_engine::{Engine, store::Head};
use serde::de::DeserializeOwned;

use crate::{
    app::{App, Held},
    limits,
    problem::Refused,
    table::route_of,
    view::{data::Shown, read_wide},
};

/// Who asks, as somebody in front of the API has established. It wins over what a request says of
/// itself; put it into the extensions of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller(pub String);

/// The name of the namespace that a program's own code lives in, unless it is registered.
pub(crate) const OWN: &str = "default";

/// A request.
pub(crate) struct Call {
    pub(crate) app: App,
    /// For runs of the request's namespace.
    pub(crate) engine: Engine,
    ids: BTreeMap<String, String>,
    query: Vec<(String, String)>,
    caller: Option<String>,
    peer: Option<Arc<Peer>>,
    /// What it was let in with, where anybody asks.
    pub(crate) ticket: Option<Ticket>,
    /// The `Idempotency-Key`.
    pub(crate) key: Option<String>,
    /// The `Last-Event-ID`.
    pub(crate) last_event: Option<String>,
    /// Its room among the requests that are worked on.
    pub(crate) held: Option<Held>,
}

impl FromRequestParts<App> for Call {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let ids = RawPathParams::from_request_parts(parts, app).await;
        let ids = ids.map_err(|_| Refused::invalid("the address is not valid UTF-8"))?;
        let ids: BTreeMap<String, String> =
            ids.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let query = query(parts)?;
        let text = |name: &str| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            Some(value.trim_matches('"').to_owned()).filter(|value| !value.is_empty())
        };
        let (key, last_event) = (text("idempotency-key"), text("last-event-id"));
        if key.as_ref().is_some_and(|key| key.len() > limits::TEXT_MAX) {
            return Err(Refused::invalid("the Idempotency-Key is too long"));
        }
        let engine = match ids.get("ns") {
            Some(name) => app.engine().within(namespace(app, name).await?),
            None => app.engine().clone(),
        };
        let caller = parts.extensions.get::<Caller>().map(|caller| caller.0.clone());
        let peer = parts.extensions.get::<Arc<Peer>>().cloned();
        let ticket = parts.extensions.get::<Ticket>().cloned();
        let held = parts.extensions.get::<Held>().cloned();
        let app = app.clone();
        Ok(Self { app, engine, ids, query, caller, peer, ticket, key, last_event, held })
    }
}

/// The namespace of a name.
async fn namespace(app: &App, name: &str) -> Result<Namespace, Refused> {
    if let Some(space) = app.engine().space(name).await? {
        return Ok(space.namespace);
    }
    let own = app.engine().namespace();
    // Under two names, it would be under two rights.
    let has_name = async || {
        let spaces = app.engine().spaces().await?;
        Ok::<_, Refused>(spaces.iter().any(|(_, space)| space.namespace == own))
    };
    match name == OWN && !has_name().await? {
        true => Ok(own),
        false => Err(Refused::missing(format!("there is no namespace {name:?}"))),
    }
}

/// The options of a request. One that the table does not know, or one that stands twice, is
/// refused: nobody shall believe that it counted.
fn query(parts: &Parts) -> Result<Vec<(String, String)>, Refused> {
    let text = parts.uri.query().unwrap_or_default();
    let query: Vec<(String, String)> = serde_urlencoded::from_str(text)
        .map_err(|error| Refused::invalid(format!("the options do not read: {error}")))?;
    let route = route_of(&parts.method, &parts.extensions);
    let known = route.map(|route| route.query).unwrap_or_default();
    for (at, (key, _)) in query.iter().enumerate() {
        let Some(param) = known.iter().find(|param| param.name == key) else {
            let names: Vec<&str> = known.iter().map(|param| param.name).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Refused::invalid(format!("there is no option {key:?}; known: {names}")));
        };
        if !param.many && query[..at].iter().any(|(other, _)| other == key) {
            return Err(Refused::invalid(format!("the option {key:?} stands twice")));
        }
    }
    Ok(query)
}

impl Call {
    /// A part of the address.
    pub(crate) fn id(&self, name: &str) -> &str {
        self.ids.get(name).map(String::as_str).unwrap_or_default()
    }

    /// An option of the request.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// An option that may stand several times.
    pub(crate) fn options<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// An option that is a number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Refused> {
        let read = |text: &str| {
            text.parse()
                .map_err(|_| Refused::invalid(format!("{name} is a whole number, not {text:?}")))
        };
        self.option(name).map(read).transpose()
    }

    /// How many things a page shall have.
    pub(crate) fn limit(&self) -> Result<usize, Refused> {
        let limit = self.number("limit")?.unwrap_or(limits::PAGE as u64);
        match usize::try_from(limit) {
            Ok(limit @ 1..=limits::PAGE_MAX) => Ok(limit),
            _ => Err(Refused::invalid(format!(
                "limit is between 1 and {}, not {limit}",
                limits::PAGE_MAX
            ))),
        }
    }

    /// How long to wait.
    pub(crate) fn within(&self, asked: Option<u64>) -> std::time::Duration {
        let asked = asked.map(std::time::Duration::from_millis);
        asked.unwrap_or(limits::WAIT).min(limits::WAIT_MAX)
    }

    /// How payloads are to be shown.
    pub(crate) fn shown(&self) -> Result<Shown, Refused> {
        let most = match self.option("payloads") {
            None => limits::PAYLOAD_SHOWN,
            Some("full") => usize::MAX,
            Some("none") => 0,
            Some(other) => {
                return Err(Refused::invalid(format!("payloads is full or none, not {other:?}")));
            }
        };
        Ok(Shown { most, wire: self.app.options().wire.clone() })
    }

    /// Who has shown who they are, by credentials or by the connection itself.
    pub(crate) fn known(&self) -> Option<bowline_access::Caller> {
        if let Some(ticket) = &self.ticket {
            return ticket.caller().cloned();
        }
        match self.peer.as_ref().and_then(|peer| peer.proof()) {
            Some(Proof::User(name)) => {
                Some(bowline_access::Caller::new(How::User, name, Arc::default()))
            }
            _ => None,
        }
    }

    /// Who asks: whoever is known to, or else whoever they say they are, or where they come from.
    /// What the request of somebody known says of itself is hearsay, and stands behind their name.
    pub(crate) fn who(&self, by: Option<String>) -> Result<Identity, Refused> {
        let said = by.filter(|by| !by.trim().is_empty());
        if let Some(known) = self.known() {
            return Ok(known.signs(&said.unwrap_or_default()).into());
        }
        let peer = || self.peer.as_ref().map(|peer| peer.address().to_owned());
        let who = self.caller.clone().or(said).or_else(peer);
        let who = who.unwrap_or_else(|| "http".to_owned());
        bounded("by", &who)?;
        Ok(who.into())
    }

    /// Whether whoever asks may do something more than every request of this kind does.
    pub(crate) fn needs(&self, right: Right) -> Result<(), Refused> {
        match &self.ticket {
            Some(ticket) => Ok(ticket.check_also(right)?),
            None => Ok(()),
        }
    }

    /// Whether whoever asks may cancel this run: one that they have started, or any.
    pub(crate) async fn check_owner(&self, run: RunId) -> Result<(), Refused> {
        let Some(ticket) = self.ticket.as_ref().filter(|ticket| !ticket.may_cancel_others()) else {
            return Ok(());
        };
        let (_, state) = self.engine.state(run).await?;
        Ok(ticket.check_owner(state.started.identity.as_str())?)
    }

    /// Whether whoever asks may see a namespace among others.
    pub(crate) fn may_see(&self, namespace: &str) -> bool {
        let Some(ticket) = &self.ticket else { return true };
        ticket.caller().is_some_and(|caller| caller.may(Right::Read, namespace))
    }

    /// How long a stream may go on before whoever reads it must show again who they are.
    pub(crate) async fn stream_life(is_known: bool) {
        match is_known {
            true => tokio::time::sleep(limits::STREAM_LIFE).await,
            false => std::future::pending().await,
        }
    }

    /// The request's id for the engine: its repetition counts once.
    pub(crate) fn request_id(&self) -> RequestId {
        self.key.clone().unwrap_or_default().into()
    }

    /// The run that the address names: the newest of a workflow id, the one that `run` says, or
    /// `@` and the id of a run.
    pub(crate) async fn head(&self) -> Result<Head, Refused> {
        match self.exact()? {
            Some(run) => Ok(self.engine.head(run).await?),
            None => Ok(self.engine.current(self.workflow_id()?).await?),
        }
    }

    /// The run that the address names, to be found by whoever is sent there.
    pub(crate) fn address(&self) -> Result<Address, Refused> {
        Ok(match self.exact()? {
            Some(run) => Address::Run(run),
            None => Address::Current(self.engine.namespace(), self.workflow_id()?),
        })
    }

    /// The workflow id in the address.
    pub(crate) fn workflow_id(&self) -> Result<WorkflowId, Refused> {
        bounded("the workflow id", self.id("id"))?;
        Ok(self.id("id").into())
    }

    /// The very run that is meant, if one is.
    pub(crate) fn exact(&self) -> Result<Option<RunId>, Refused> {
        let namespace = self.engine.namespace();
        let (named, said) = (self.id("id").strip_prefix('@'), self.option("run"));
        if let Some(uuid) = named.and_then(read_wide) {
            return Ok(Some(RunId { namespace, uuid }));
        }
        match said {
            None => Ok(None),
            Some(text) => match read_wide(text) {
                Some(uuid) => Ok(Some(RunId { namespace, uuid })),
                None => Err(Refused::invalid(format!("{text:?} is not the id of a run"))),
            },
        }
    }
}

/// A text that is not empty and not too long.
pub(crate) fn bounded(what: &str, text: &str) -> Result<(), Refused> {
    match text.len() {
        0 => Err(Refused::invalid(format!("{what} is empty"))),
        length if length > limits::TEXT_MAX => Err(Refused::invalid(format!(
            "{what} has {length} bytes: at most {}",
            limits::TEXT_MAX
        ))),
        _ if text.contains('\0') => Err(Refused::invalid(format!("{what} has a zero byte"))),
        _ => Ok(()),
    }
}

/// The body of a request: JSON, or nothing where everything has a usual value.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &App) -> Result<Self, Refused> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
        let reading = axum::body::to_bytes(request.into_body(), limits::BODY_MAX);
        let bytes = tokio::time::timeout(limits::BODY_WAIT, reading).await;
        let bytes = bytes.map_err(|_| Refused::invalid("the body did not come in time"))?;
        let bytes = bytes.map_err(|_| {
            let most = format!("the body is cut, or longer than {} bytes", limits::BODY_MAX);
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", most)
        })?;
        let is_json = kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json");
        if !bytes.is_empty() && !is_json {
            let detail = format!("the body is application/json, not {kind:?}");
            return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", detail));
        }
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        // A list of values would be read as the fields of an object, in their order.
        if !text.trim_ascii_start().starts_with(b"{") {
            return Err(Refused::invalid("the body is a JSON object"));
        }
        let read = serde_json::from_slice(text);
        read.map(Self).map_err(|error| Refused::invalid(format!("the body does not read: {error}")))
    }
}
