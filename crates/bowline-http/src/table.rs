//! Everything that can be asked, in one table: the router, the OpenAPI document and the rights are
//! made from it.

use std::borrow::Cow;

use axum::{
    extract::MatchedPath,
    http::{Extensions, Method},
    routing::{MethodRouter, delete, get, post},
};
use bowline_access::{Need, Reach, Right, Row};
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

use crate::{app::App, model as m, route as r};

const NOTHING: Need = Need::Nothing;
/// It is enough to be known.
const KNOWN: Need = Need::All(&[]);
const READ: Need = Need::All(&[Right::Read]);
const START: Need = Need::All(&[Right::Start]);
const SIGNAL: Need = Need::All(&[Right::Signal]);
const CANCEL: Need = Need::Cancel;
const TERMINATE: Need = Need::All(&[Right::Terminate]);
const DELETE: Need = Need::All(&[Right::Delete]);
const BULK: Need = Need::All(&[Right::Bulk]);

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Looks.
    Get,
    /// Asks for something.
    Post,
    /// Takes away.
    Delete,
}

/// An option in the address.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// It may stand several times.
    pub many: bool,
}

/// One thing that can be asked.
pub struct Route {
    /// With which method.
    pub verb: Verb,
    /// Where.
    pub path: &'static str,
    /// Method and path, as the audit log names it.
    pub call: &'static str,
    /// By whom.
    pub need: Need,
    /// What it does.
    pub about: &'static str,
    /// With which options.
    pub query: &'static [Param],
    /// It may wait for something, for a while.
    pub waits: bool,
    /// What is sent.
    pub(crate) body: Option<Shape>,
    /// What is answered, and with which status.
    pub(crate) answer: (u16, Shape),
    pub(crate) serve: fn() -> MethodRouter<App>,
}

/// A type of the model, for the document.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) name: fn() -> Cow<'static, str>,
    pub(crate) schema: fn() -> RefOr<Schema>,
    pub(crate) inner: fn(&mut Vec<(String, RefOr<Schema>)>),
    /// It comes as server-sent events.
    pub(crate) streams: bool,
}

const fn shape<T: ToSchema>() -> Shape {
    Shape { name: T::name, schema: T::schema, inner: T::schemas, streams: false }
}

const fn stream<T: ToSchema>() -> Shape {
    Shape { streams: true, ..shape::<T>() }
}

const fn one(name: &'static str, about: &'static str) -> Param {
    Param { name, about, many: false }
}

const fn many(name: &'static str, about: &'static str) -> Param {
    Param { name, about, many: true }
}

const TYPE: Param = one("type", "Of this workflow.");
const QUEUE: Param = one("queue", "Waiting in this queue.");
const STATUS: Param = many(
    "status",
    "In one of these states, separated by commas: running, cancelling, completed, failed, \
     cancelled, timed_out, terminated, continued_as_new; open, closed; or parked alone.",
);
const ID: Param = one("id", "With this workflow id.");
const ID_PREFIX: Param = one("id_prefix", "With a workflow id that begins so.");
const PARENT: Param = one("parent", "Children of this run.");
const FROM: Param = one("started_from", "Begun at this moment or later, as RFC 3339.");
const BEFORE: Param = one("started_before", "Begun before this moment, as RFC 3339.");
const SEARCH: Param = many(
    "search",
    "With this search attribute, as key:value. A number, true, false, a quoted text or a moment is \
     what it looks like; all else is a word.",
);
const ORDER: Param = one("order", "newest (usually) or oldest first.");
const LIMIT: Param = one("limit", "How many; 50 unless said otherwise, 500 at most.");
const CURSOR: Param = one("cursor", "The `next` of the page before, with the same filter.");
const RUN: Param = one("run", "This very run, and not the newest of the workflow id.");
const PAYLOADS: Param = one("payloads", "full for long payloads too, none for none.");
const EVENT: Param = one("from", "From this event on.");
const WAIT: Param = one("wait", "Until it has come so far: decided, stopped, settled, clean, ...");
const WITHIN: Param =
    one("within_ms", "For so long; 20 seconds unless said otherwise, 60 at most.");

macro_rules! route {
    ($verb:ident $method:ident $path:expr, $need:ident, $about:literal, [$($query:expr),*],
     $body:expr, $status:literal $answer:expr, $serve:expr $(, $waits:literal)?) => {
        Route {
            verb: Verb::$verb,
            path: $path,
            call: concat!(word!($verb), " ", $path),
            need: $need,
            about: $about,
            query: &[$($query),*],
            waits: false $(|| $waits)?,
            body: $body,
            answer: ($status, $answer),
            serve: || $method($serve),
        }
    };
}

macro_rules! word {
    (Get) => {
        "GET"
    };
    (Post) => {
        "POST"
    };
    (Delete) => {
        "DELETE"
    };
}

macro_rules! ns {
    ($path:literal) => {
        concat!("/api/v1/namespaces/{ns}", $path)
    };
}

/// Everything that can be asked.
pub static ROUTES: &[Route] = &[
    route!(Get get "/healthz", NOTHING, "Whether the process is alive.", [],
        None, 200 shape::<m::Health>(), r::health::alive),
    route!(Get get "/readyz", NOTHING, "Whether work may be sent here: its store answers.", [],
        None, 200 shape::<m::Health>(), r::health::ready),
    route!(Post post "/api/v1/session", NOTHING,
        "Logs in: what is sent is kept by the browser, and by nobody else.",
        [], Some(shape::<m::LogInBody>()), 200 shape::<m::Me>(), r::session::log_in),
    route!(Delete delete "/api/v1/session", NOTHING, "Logs out: the browser forgets it.",
        [], None, 200 shape::<m::Me>(), r::session::log_out),
    route!(Get get "/api/v1/me", KNOWN, "Who asks, as they have shown.",
        [], None, 200 shape::<m::Me>(), r::session::me),
    route!(Get get "/api/v1/namespaces", READ, "Lists namespaces.", [],
        None, 200 shape::<m::NamespaceList>(), r::place::namespaces),
    route!(Get get ns!("/runs"), READ, "Lists runs.",
        [TYPE, QUEUE, STATUS, ID, ID_PREFIX, PARENT, FROM, BEFORE, SEARCH, ORDER, LIMIT, CURSOR],
        None, 200 shape::<m::RunList>(), r::list::runs),
    route!(Post post ns!("/runs"), START, "Starts a run; an Idempotency-Key makes it count once.",
        [], Some(shape::<m::StartBody>()), 201 shape::<m::StartedRun>(), r::start::start),
    route!(Get get ns!("/count"), READ, "Counts runs, up to a bound.",
        [TYPE, QUEUE, STATUS, ID, ID_PREFIX, PARENT, FROM, BEFORE, SEARCH],
        None, 200 shape::<m::RunCount>(), r::list::count),
    route!(Post post ns!("/retry"), BULK,
        "Lets every parked run that a filter finds be tried again.",
        [], Some(shape::<m::RetryAllBody>()), 200 shape::<m::Retried>(), r::list::retry_all),
    route!(Get get ns!("/runs/{id}"), READ, "Shows a run, and what is pending.",
        [RUN, PAYLOADS], None, 200 shape::<m::Run>(), r::run::show),
    route!(Delete delete ns!("/runs/{id}"), DELETE,
        "Terminates a run if it is open, and forgets it as soon as nothing of it is left.",
        [RUN], Some(shape::<m::TerminateBody>()), 202 shape::<m::Asked>(), r::cancel::delete),
    route!(Get get ns!("/runs/{id}/history"), READ, "What has happened to a run.",
        [RUN, EVENT, ORDER, LIMIT, PAYLOADS],
        None, 200 shape::<m::HistoryList>(), r::run::history),
    route!(Get get ns!("/runs/{id}/tree"), READ, "A run and everything below it, as it stands.",
        [RUN], None, 200 shape::<m::RunTree>(), r::run::tree),
    route!(Post post ns!("/runs/{id}/signal"), SIGNAL, "Sends a signal.",
        [RUN], Some(shape::<m::SignalBody>()), 202 shape::<m::Signalled>(), r::ask::signal),
    route!(Post post ns!("/runs/{id}/query"), READ,
        "Asks a run's code for something that does not change it.",
        [RUN, PAYLOADS], Some(shape::<m::QueryBody>()), 200 shape::<m::QueryAnswered>(),
        r::ask::query, true),
    route!(Post post ns!("/runs/{id}/update"), SIGNAL,
        "Asks a run's code for something that changes it, and waits for the answer.",
        [RUN, PAYLOADS], Some(shape::<m::UpdateBody>()), 200 shape::<m::UpdateAnswered>(),
        r::ask::update, true),
    route!(Post post ns!("/runs/{id}/cancel"), CANCEL,
        "Asks a run to cancel, with everything below it. The answer names the receipt.",
        [RUN], Some(shape::<m::CancelBody>()), 202 shape::<m::Asked>(), r::cancel::cancel),
    route!(Post post ns!("/runs/{id}/terminate"), TERMINATE,
        "Closes a run without asking its code.",
        [RUN], Some(shape::<m::TerminateBody>()), 202 shape::<m::Asked>(), r::cancel::terminate),
    route!(Post post ns!("/runs/{id}/retry"), BULK, "Lets a parked run be tried again.",
        [RUN], None, 200 shape::<m::Retried>(), r::list::retry),
    route!(Post post ns!("/runs/{id}/activities/{target}/cancel"), CANCEL,
        "Cancels one activity, by number or by its own id; its run goes on.",
        [RUN], Some(shape::<m::CancelOneBody>()), 202 shape::<m::CancelledTarget>(),
        r::cancel::activity),
    route!(Post post ns!("/runs/{id}/timers/{target}/cancel"), CANCEL,
        "Cancels one timer, by number or by its own id; its run goes on.",
        [RUN], Some(shape::<m::CancelOneBody>()), 202 shape::<m::CancelledTarget>(),
        r::cancel::timer),
    route!(Post post ns!("/runs/{id}/children/{target}/cancel"), CANCEL,
        "Cancels one child, by number or by its workflow id; its parent goes on.",
        [RUN], Some(shape::<m::CancelOneBody>()), 202 shape::<m::CancelledTarget>(),
        r::cancel::child),
    route!(Get get ns!("/receipts/{id}"), READ,
        "How far a cancel has come; waits until it has come so far, if it is asked to.",
        [WAIT, WITHIN], None, 200 shape::<m::Receipt>(), r::receipt::show, true),
    route!(Get get ns!("/receipts/{id}/events"), READ,
        "The receipt as server-sent events: each is the whole of it, and the last one is settled.",
        [], None, 200 stream::<m::Receipt>(), r::receipt::follow, true),
    route!(Get get ns!("/orphans"), READ, "Whatever should not be there at all.",
        [], None, 200 shape::<m::OrphanList>(), r::receipt::orphans),
    route!(Get get ns!("/events"), READ,
        "Runs that change, as server-sent events: `run`, `gone` and `reset`.",
        [TYPE, QUEUE, ID_PREFIX, PARENT], None, 200 stream::<m::RunChanged>(),
        r::events::events, true),
];

/// The route that a request has met, for those who stand between the router and its routes.
pub fn route_of(method: &Method, extensions: &Extensions) -> Option<&'static Route> {
    let matched = extensions.get::<MatchedPath>()?.as_str();
    let is_it = |route: &&Route| route.verb.is(method) && matched.ends_with(route.path);
    ROUTES.iter().filter(is_it).max_by_key(|route| route.path.len())
}

impl Route {
    /// Its line in the table of rights.
    pub fn row(&self) -> Row {
        let reach = match self.path.contains("{ns}") {
            true => Reach::Named,
            false => Reach::Somewhere,
        };
        Row::needs(self.call, self.need).reaching(reach)
    }

    /// The right that it needs, as a word.
    pub fn right(&self) -> &'static str {
        match self.need {
            Need::Nothing => "none",
            Need::Cancel => Right::Cancel.name(),
            Need::All(rights) | Need::Any(rights) => {
                rights.first().map_or("known", |right| right.name())
            }
        }
    }
}

impl Verb {
    fn is(self, method: &Method) -> bool {
        match self {
            Self::Get => method == Method::GET || method == Method::HEAD,
            Self::Post => method == Method::POST,
            Self::Delete => method == Method::DELETE,
        }
    }
}
