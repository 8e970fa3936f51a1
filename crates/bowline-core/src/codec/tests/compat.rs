//! Older and newer writers: fields that this version does not know, and fields that are missing.

use minicbor::{Decode, Encode};

use super::sample;
use crate::*;

/// A token as a newer version may write it.
#[derive(Encode)]
struct NewerToken {
    #[n(0)]
    run: RunId,
    #[n(1)]
    scheduled: EventId,
    #[n(2)]
    attempt: u32,
    #[n(3)]
    started: EventId,
    #[n(4)]
    serial: u64,
    #[n(5)]
    more: Vec<(String, Option<Payload>)>,
}

/// An event as a newer version may write it, with a newer kind of nesting behind the rest.
#[derive(Encode)]
struct NewerEvent {
    #[n(0)]
    id: EventId,
    #[n(1)]
    time: Time,
    #[n(2)]
    kind: EventKind,
    #[n(3)]
    notes: Vec<Note>,
    #[n(4)]
    wire: Option<Blob>,
    #[n(5)]
    more: Option<Failure>,
    #[n(6)]
    even_more: Vec<Vec<u64>>,
}

/// A spec as an older version may have written it: without its newest optional fields.
#[derive(Encode, Decode)]
struct OlderTimeouts {
    #[n(0)]
    schedule_to_start: Option<Span>,
}

/// A signal as an older version may have written it.
#[derive(Encode)]
struct OlderSignal {
    #[n(0)]
    name: Name,
    #[n(1)]
    input: Option<Payload>,
    #[n(2)]
    header: Fields,
    #[n(3)]
    identity: Identity,
    #[n(4)]
    request_id: RequestId,
}

#[test]
fn fields_of_a_newer_writer_are_skipped() {
    let Token { run, scheduled, attempt, started, serial } = sample::token();
    let more = vec![("new".to_owned(), sample::payload("1")), ("newer".to_owned(), None)];
    let newer = NewerToken { run, scheduled, attempt, started, serial, more };
    let read: Token = codec::decode(&codec::encode(&newer)).unwrap();
    assert_eq!(read, sample::token());
    for event in sample::events() {
        let Event { id, time, kind, notes, wire } = event.clone();
        let (more, even_more) = (Some(sample::failure()), vec![vec![1], vec![]]);
        let newer = NewerEvent { id, time, kind, notes, wire, more, even_more };
        let read: Event = codec::decode(&codec::encode(&newer)).unwrap();
        assert_eq!(read, event);
    }
}

#[test]
fn fields_that_an_older_writer_did_not_know_are_unset() {
    let older = OlderTimeouts { schedule_to_start: sample::span(3) };
    let read: Timeouts = codec::decode(&codec::encode(&older)).unwrap();
    assert_eq!(read, Timeouts { schedule_to_start: sample::span(3), ..Timeouts::default() });
    let older = OlderSignal {
        name: "go".into(),
        input: sample::payload("1"),
        header: sample::fields("h"),
        identity: "me".into(),
        request_id: "r".into(),
    };
    let read: Signal = codec::decode(&codec::encode(&older)).unwrap();
    assert_eq!((read.name.as_str(), read.request_id.as_str()), ("go", "r"));
    assert_eq!((read.external, read.wire), (None, None));
}

/// A field that cannot be left out must not be guessed.
#[test]
fn a_missing_field_that_has_no_default_is_an_error() {
    let corrupt = codec::decode::<Token>(&codec::encode(&(RunId::default(),))).unwrap_err();
    assert!(matches!(corrupt, Corrupt::Value(_)), "{corrupt}");
}

#[test]
fn another_version_is_named() {
    let mut bytes = codec::encode(&sample::token());
    bytes[0] = codec::FORMAT + 1;
    let sum = crc32(&bytes);
    bytes[1..5].copy_from_slice(&sum.to_le_bytes());
    let corrupt = codec::decode::<Token>(&bytes).unwrap_err();
    assert_eq!(corrupt, Corrupt::Newer(codec::FORMAT + 1));
    assert_eq!(corrupt.to_string(), "the stored bytes have format 2, this build reads 1");
}

#[test]
fn bytes_behind_the_value_are_refused() {
    let mut bytes = codec::encode(&sample::token());
    bytes.push(0);
    let sum = crc32(&bytes);
    bytes[1..5].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(codec::decode::<Token>(&bytes).unwrap_err(), Corrupt::Trailing);
}

/// A kind of event that this version does not know cannot be skipped: the run is not understood.
#[test]
fn an_unknown_kind_is_an_error() {
    let unknown = minicbor::to_vec((9_999_u32, 1_u32)).unwrap();
    assert!(minicbor::decode::<EventKind>(&unknown).is_err());
    assert!(minicbor::decode::<Message>(&unknown).is_err());
    assert!(minicbor::decode::<Note>(&unknown).is_err());
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..1]);
    hasher.update(&bytes[5..]);
    hasher.finalize()
}
