//! Golden bytes: what a released version has written must be readable for ever.
//!
//! One file for everything that is stored, under `tests/events/v1`. A difference means that the
//! format has changed: then a new version is due, and these files stay as they are. While nothing
//! is released, `UPDATE_EXPECT=1` writes them anew.

use std::{collections::BTreeSet, fs, path::PathBuf};

use expect_test::expect_file;
use minicbor::{Decode, Encode};

use super::sample;
use crate::*;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/events/v1")
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let lines: Vec<_> = digits.chunks(40).map(|line| line.concat()).collect();
    lines.join("\n") + "\n"
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
    digits.chunks(2).map(|pair| byte(pair).expect("two hex digits")).collect()
}

/// Compares what is written with the file, and what the file holds with what was written.
fn check<T>(name: &str, value: &T)
where
    T: Encode<()> + for<'b> Decode<'b, ()> + PartialEq + std::fmt::Debug,
{
    let path = folder().join(format!("{name}.hex"));
    expect_file![path.clone()].assert_eq(&hex(&codec::encode(value)));
    let stored = bytes(&fs::read_to_string(&path).expect("the file was compared"));
    let read: T = codec::decode(&stored).unwrap_or_else(|corrupt| panic!("{name}: {corrupt}"));
    assert_eq!(read, *value, "{name}");
}

#[test]
fn every_event_has_its_golden_bytes() {
    let events = sample::events();
    let names: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(names, EventKind::NAMES, "a sample of every kind, in the order of their tags");
    for event in &events {
        check(&format!("Event-{}", event.kind.name()), event);
    }
}

#[test]
fn every_note_has_its_golden_bytes() {
    let notes = sample::notes();
    let names: Vec<_> = notes.iter().map(sample::note_name).collect();
    assert_eq!(names, sample::NOTE_NAMES, "a sample of every note");
    for note in &notes {
        check(&format!("Note-{}", sample::note_name(note)), note);
    }
}

#[test]
fn every_message_has_its_golden_bytes() {
    let messages = sample::messages();
    let names: BTreeSet<_> = messages.iter().map(sample::message_name).collect();
    assert_eq!(names.len(), sample::MESSAGE_COUNT, "a sample of every message: {names:?}");
    for message in &messages {
        check(&format!("Message-{}", sample::message_name(message)), message);
    }
}

#[test]
fn every_row_has_its_golden_bytes() {
    check("ActivitySpec", &sample::spec());
    sample::activities().iter().for_each(|(name, live)| check(&format!("Activity{name}"), live));
    sample::records().iter().for_each(|(name, record)| check(name, record));
    check("Token", &sample::token());
    check("Space", &sample::space());
    check("State", &sample::state());
    let batch = Batch::of(&sample::events()).unwrap();
    let read: Vec<Event> = codec::decode(batch.bytes.as_slice()).unwrap();
    assert_eq!(read, sample::events());
}

/// A file that no test compares is a version that nobody reads any more.
#[test]
fn every_golden_file_is_compared() {
    let mut names: BTreeSet<String> =
        EventKind::NAMES.iter().map(|name| format!("Event-{name}.hex")).collect();
    names.extend(sample::NOTE_NAMES.iter().map(|name| format!("Note-{name}.hex")));
    let messages = sample::messages();
    names.extend(messages.iter().map(|m| format!("Message-{}.hex", sample::message_name(m))));
    names.extend(sample::activities().iter().map(|(name, _)| format!("Activity{name}.hex")));
    names.extend(sample::records().iter().map(|(name, _)| format!("{name}.hex")));
    names.extend(["ActivitySpec", "Token", "Space", "State"].map(|name| format!("{name}.hex")));
    let files = fs::read_dir(folder()).expect("the golden files");
    let files: BTreeSet<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, names);
}
