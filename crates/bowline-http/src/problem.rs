//! What went wrong, in one place: statuses, codes, and what to do.

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bowline_core::Refusal;
use bowline_engine::{Error, store};

use crate::model::Problem;

/// A request that is not carried out.
#[derive(Clone, Debug)]
pub(crate) struct Refused(Box<Problem>);

/// What a route answers.
pub(crate) type Answer<T> = Result<Json<T>, Refused>;

impl Refused {
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem {
            kind: format!("urn:bowline:error:{code}"),
            title: status.canonical_reason().unwrap_or("error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            code: code.to_owned(),
            todo: todo(code).to_owned(),
            request_id: String::new(),
        }))
    }

    /// Something given is not acceptable.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", detail)
    }

    /// There is no such thing.
    pub(crate) fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "missing", detail)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(&*self.0)).into_response();
        let kind = header::HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if status == StatusCode::UNAUTHORIZED {
            let ask = header::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
        }
        // Whoever knows the request's id writes it in.
        response.extensions_mut().insert(self);
        response
    }
}

/// The same answer, with the id of its request.
pub(crate) fn named(response: Response, request_id: &str) -> Response {
    let Some(Refused(problem)) = response.extensions().get::<Refused>() else { return response };
    let problem = Problem { request_id: request_id.to_owned(), ..(**problem).clone() };
    let mut named = Refused(Box::new(problem)).into_response();
    named.extensions_mut().remove::<Refused>();
    // What the first answer said besides: which methods there are, when to come again.
    for (name, value) in response.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            named.headers_mut().insert(name.clone(), value.clone());
        }
    }
    named
}

impl From<bowline_access::Refused> for Refused {
    fn from(why: bowline_access::Refused) -> Self {
        use bowline_access::Refused as Why;
        let (status, code) = match &why {
            why if why.is_unknown() => (StatusCode::UNAUTHORIZED, why.code()),
            // Whoever is known may know that there is nothing.
            Why::Unlisted => {
                let detail = "there is nothing here, or not with this method";
                return Self::new(StatusCode::NOT_FOUND, "no_such_route", detail);
            }
            Why::Unaudited => (StatusCode::SERVICE_UNAVAILABLE, why.code()),
            _ => (StatusCode::FORBIDDEN, why.code()),
        };
        Self::new(status, code, why.to_string())
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Refused(refusal) => refused(refusal),
            Error::Store(error) => stored(error),
            Error::NotFound(_) | Error::NoSuchTarget { .. } => StatusCode::NOT_FOUND,
            Error::Unregistered { .. } | Error::Query(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::BadToken(_) | Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Error::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::CONFLICT,
        };
        Self::new(status, error.code(), error.to_string())
    }
}

fn refused(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Invalid(..) => StatusCode::BAD_REQUEST,
        Refusal::NoSuchTarget(_) => StatusCode::NOT_FOUND,
        Refusal::TooManyUpdates | Refusal::TooManySignals(_) | Refusal::TooManyUnread(..) => {
            StatusCode::TOO_MANY_REQUESTS
        }
        _ => StatusCode::CONFLICT,
    }
}

fn stored(error: &store::Error) -> StatusCode {
    match error {
        store::Error::Invalid(_) => StatusCode::BAD_REQUEST,
        store::Error::Conflict => StatusCode::CONFLICT,
        store::Error::Corrupt { .. } | store::Error::Backend(_) => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
        _ => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// What to do about it, by code.
fn todo(code: &str) -> &'static str {
    match code {
        "missing" => "Check the id and the namespace; what is over may have been deleted.",
        "no_such_target" => "Read the run: it lists the numbers of what is pending.",
        "no_such_route" => "See /openapi.json for what there is.",
        "closed" | "run_closed" => {
            "Nothing is left to be done: the run is over. Read how it ended."
        }
        "id_taken" => "Use another id, wait for that run, or say `on_conflict`.",
        "key_reused" => "Draw a new Idempotency-Key for every new request.",
        "invalid" | "too_large" | "not_json" => "Correct the request; nothing was done.",
        "bad_cursor" => "Begin again without a cursor: it belongs to another filter.",
        "too_many" | "too_many_updates" | "too_many_signals" | "too_many_unread" => {
            "Come again later, with fewer at once."
        }
        "parked" => "Deploy code that can go on with the run, or retry it.",
        "unregistered" => "Ask a process that has this code, or register it there.",
        "query_failed" => "The run's code has no such answer; check the name and the input.",
        "not_ready" | "timed_out" => "See that a worker with this code runs, and ask again.",
        "not_under_these_rules" => "Runs of an SDK do not know this; cancel the whole run instead.",
        "credentials_missing" => "Send an API key or a token as `authorization: Bearer ...`.",
        "credentials_bad" => "Use another API key or token; this one may be over.",
        "forbidden" | "not_yours" => {
            "Ask whoever runs this server for the right that the answer names."
        }
        "unconfirmed" => "Narrow the filter, or let whoever runs this server raise the limit.",
        "foreign_origin" => "Open the console at this server's own address, and ask from there.",
        "unaudited" => "Make room for the audit log; see the log of the process.",
        "not_needed" => "Go on: no log-in is asked for.",
        "namespace_taken" => "Use another name.",
        "busy" | "unknown" | "conflict" => "Ask again, with the same Idempotency-Key.",
        "shutting_down" | "shut" | "fenced" => "Ask again: another process has the store now.",
        "corrupt" => "Run `bowline check` on the store, and see docs/errors.md.",
        "read_only" => "Make room on the disk, or make it writable.",
        _ => "See docs/errors.md, and the log of the process.",
    }
}
