//! One value of everything that is stored, with every field set to something of its own.

mod event;
mod message;
mod note;
mod row;

use std::time::Duration;

use crate::*;

pub(super) use event::kinds;
pub(super) use message::{COUNT as MESSAGE_COUNT, messages, name as message_name};
pub(super) use note::{NAMES as NOTE_NAMES, name as note_name, notes};
pub(super) use row::{activities, records, space, spec, state, token};

pub(super) fn run(uuid: u128) -> RunId {
    RunId { namespace: Namespace(7), uuid }
}

pub(super) fn id(id: u64) -> EventId {
    EventId(id)
}

pub(super) fn span(seconds: u64) -> Option<Span> {
    Some(Span(Duration::from_secs(seconds)))
}

pub(super) fn payload(text: &str) -> Option<Payload> {
    Some(Payload { format: Format::Wire, bytes: Blob::from(text.as_bytes()) })
}

pub(super) fn blob(text: &str) -> Option<Blob> {
    Some(Blob::from(text.as_bytes()))
}

pub(super) fn fields(key: &str) -> Fields {
    Fields::from([(key.to_owned(), Payload::json("1"))])
}

pub(super) fn search() -> SearchAttributes {
    let field = |value| SearchField { value, wire: blob("sent") };
    [
        ("keyword", SearchValue::Keyword("k".into())),
        ("text", SearchValue::Text("a b".into())),
        ("int", SearchValue::Int(-5)),
        ("double", SearchValue::Double(0.5)),
        ("bool", SearchValue::Bool(true)),
        ("time", SearchValue::Time(Time(9))),
        ("keywords", SearchValue::Keywords(vec!["x".into(), "y".into()])),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), field(value)))
    .collect()
}

pub(super) fn cause() -> Cause {
    let root = Cause { request_id: Some("r".into()), ..Cause::requested("stop", "alice") };
    Cause::new(Code::ScopeExit).detail("left").because(root)
}

/// A cause whose requester says how hard it pushes.
pub(super) fn pushed() -> Cause {
    let run = Some(RunLadder { terminate_after: Span(Duration::from_secs(90)) });
    let (grace, step) = (Span(Duration::from_secs(2)), Span(Duration::from_secs(1)));
    let activities = Some(Ladder { grace, step, detach: true });
    Cause { ladders: Some(Box::new(Ladders { run, activities, hastens: true })), ..cause() }
}

pub(super) fn failure() -> Failure {
    Failure {
        message: "no".into(),
        kind: "Bad".into(),
        verdict: Verdict::After(Span(Duration::from_secs(3))),
        details: payload("details"),
        trace: "here".into(),
        source: Some(Box::new(Failure { verdict: Verdict::Never, ..Failure::new("deeper") })),
        wire: blob("failure"),
        timeout: Some(Timeout::Heartbeat),
    }
}

pub(super) fn policy() -> RetryPolicy {
    RetryPolicy {
        initial: Span(Duration::from_millis(1500)),
        coefficient: 1.5,
        interval_max: span(60),
        attempts_max: 4,
        non_retryable: vec!["Bad".into()],
    }
}

pub(super) fn ranges() -> Ranges {
    [5, 6, 7, 9].into_iter().map(EventId).collect()
}

pub(super) fn external() -> External {
    External { workflow_id: "other".into(), run: Some(run(3)), child_only: true }
}

pub(super) fn request() -> UpdateRequest {
    UpdateRequest {
        id: "u".into(),
        name: "raise".into(),
        input: payload("1"),
        header: fields("h"),
        identity: "bob".into(),
        only: None,
    }
}

/// An event of every kind, with notes and wire on the first.
pub(super) fn events() -> Vec<Event> {
    let mut events: Vec<_> = kinds()
        .into_iter()
        .zip(1..)
        .map(|(kind, n)| Event {
            id: EventId(n),
            time: Time(1_000_000 * n.cast_signed()),
            kind,
            notes: Vec::new(),
            wire: None,
        })
        .collect();
    // Those of the first edition: what is written stays as it is.
    let first = notes().into_iter().filter(|note| !matches!(note, Note::Hastened(_)));
    events[0].notes = first.collect();
    events[0].wire = blob("as sent");
    events
}
