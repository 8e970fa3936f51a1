//! Why something was not done, as a gRPC status with the details that SDKs read.

use bowline_core::{Refusal, TurnVerdict};
use bowline_engine::Error;
use prost::{Message, Name};
use prost_wkt_types::Any;
use temporalio_protos::temporal::api::errordetails::v1 as details;
use tonic::{Code, Status};

use crate::{
    limits,
    translate::{Untranslatable, word},
};

/// What a call answers.
pub(crate) type Answer<T> = Result<T, Status>;

/// The form in which details travel in the trailer.
#[derive(Clone, PartialEq, Message)]
struct Detailed {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// A status that carries a message for programs.
pub(crate) fn detailed<M: Name>(code: Code, text: impl Into<String>, detail: &M) -> Status {
    let message = text.into();
    let any = Any {
        type_url: format!("type.googleapis.com/{}", M::full_name()),
        value: detail.encode_to_vec(),
    };
    let body = Detailed { code: code.into(), message: message.clone(), details: vec![any] };
    Status::with_details(code, message, body.encode_to_vec().into())
}

/// The same status in a size that every client reads. It travels in headers, for which clients
/// have a bound; one that is passed breaks the call instead of telling what was wrong. Most of a
/// long one is what the client itself has sent.
pub(crate) fn bounded(status: Status) -> Status {
    if status.message().len() + status.details().len() <= limits::STATUS {
        return status;
    }
    let message = cut(status.message());
    let read = Detailed::decode(status.details()).unwrap_or_default();
    let short = |any: Any| match any.value.len() <= limits::STATUS / 4 {
        true => any,
        // What kind of thing went wrong is still said.
        false => Any { value: Vec::new(), ..any },
    };
    let details: Vec<Any> = read.details.into_iter().take(1).map(short).collect();
    if details.is_empty() {
        return Status::new(status.code(), message);
    }
    let body = Detailed { code: read.code, message: message.clone(), details };
    Status::with_details(status.code(), message, body.encode_to_vec().into())
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(limits::STATUS / 4);
    match end < text.len() {
        true => format!("{}…", &text[..end]),
        false => text.to_owned(),
    }
}

/// Something given is not acceptable.
pub(crate) fn invalid(text: impl Into<String>) -> Status {
    Status::invalid_argument(text)
}

/// There is no such thing.
pub(crate) fn missing(text: impl Into<String>) -> Status {
    detailed(Code::NotFound, text, &details::NotFoundFailure::default())
}

/// There is no such namespace.
pub(crate) fn no_namespace(name: &str) -> Status {
    let detail = details::NamespaceNotFoundFailure { namespace: name.to_owned() };
    detailed(Code::NotFound, format!("Namespace {name} is not found."), &detail)
}

/// The code of a run cannot be asked anything.
pub(crate) fn not_ready(text: impl Into<String>) -> Status {
    detailed(Code::FailedPrecondition, text, &details::WorkflowNotReadyFailure::default())
}

/// What the engine says, in Temporal's terms.
pub(crate) fn of(error: Error) -> Status {
    let text = error.to_string();
    match error {
        Error::Refused(refusal) => refused(refusal),
        Error::NotFound("update") => missing("update not found"),
        Error::NotFound(_) => missing("workflow execution not found"),
        Error::Closed { .. } => missing("workflow execution already completed"),
        Error::NoSuchTarget { .. } => missing(text),
        Error::AlreadyStarted { run, .. } => {
            let detail = details::WorkflowExecutionAlreadyStartedFailure {
                run_id: run.to_string(),
                ..Default::default()
            };
            let text = format!("Workflow execution is already running. RunId: {run}.");
            detailed(Code::AlreadyExists, text, &detail)
        }
        Error::NamespaceTaken(_) => Status::already_exists(text),
        Error::BadToken(_) => missing("the attempt that this token names is over"),
        Error::Unregistered { .. } | Error::Invalid(_) => invalid(text),
        Error::Query(_) => Status::resource_exhausted(text),
        Error::NotReady(_) => not_ready(text),
        Error::TimedOut(_) => Status::deadline_exceeded(text),
        Error::ShuttingDown => Status::unavailable(text),
        Error::Store(store) if store.code() == "invalid" => invalid(text),
        Error::Store(store) if store.code() == "corrupt" => Status::data_loss(text),
        _ => Status::unavailable(text),
    }
}

fn refused(refusal: Refusal) -> Status {
    let text = refusal.to_string();
    match refusal {
        Refusal::NoSuchTurn => missing("Workflow task not found."),
        Refusal::Closed => missing("workflow execution already completed"),
        Refusal::NoSuchTarget(_) => missing(text),
        Refusal::TooManyUpdates | Refusal::TooManyUnread(..) => Status::resource_exhausted(text),
        _ => invalid(text),
    }
}

/// What a worker hears whose answer made its turn fail; nothing if the answer was taken.
pub(crate) fn verdict(verdict: &TurnVerdict) -> Answer<()> {
    match verdict {
        TurnVerdict::Failed(Refusal::Command(fault, why)) => {
            Err(invalid(format!("{}: {why}", word::fault_name(*fault))))
        }
        // SDKs compare this text as a whole.
        TurnVerdict::Failed(Refusal::Unhandled) => Err(invalid("UnhandledCommand")),
        TurnVerdict::Failed(refusal) => Err(invalid(refusal.to_string())),
        _ => Ok(()),
    }
}

/// Something that is stored does not read.
pub(crate) fn corrupt(what: &str) -> Status {
    Status::data_loss(format!("{what} does not read"))
}

/// Stored bytes that cannot be shown.
pub(crate) fn untranslatable(why: Untranslatable) -> Status {
    Status::data_loss(why.to_string())
}
