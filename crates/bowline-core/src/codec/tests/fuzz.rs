//! Mutated real bytes: whatever is stored, changed here and there, under a checksum that fits. A
//! reader may refuse it or read something else; it never panics, never takes long, and allocates no
//! more than there are bytes.
//!
//! `BOWLINE_FUZZ=1000` tries a thousand times as many; a failure names its seed, and
//! `BOWLINE_FUZZ_SEED` begins there.

use minicbor::Encode;

use super::{damage::read_as_anything, sample, scramble};
use crate::*;

/// How many are tried in the tests.
const TRIES: u64 = 20_000;

/// A whole number from the environment.
fn setting(name: &str, unset: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "how long a test tries is no part of the rules")]
    let set = std::env::var(name).ok();
    set.map_or(unset, |text| text.parse().expect("a whole number"))
}

fn value<T: Encode<()>>(value: &T) -> Vec<u8> {
    minicbor::to_vec(value).expect("a sample encodes")
}

/// One of everything that is stored, without its envelope.
fn samples() -> Vec<Vec<u8>> {
    let mut samples = vec![value(&sample::token()), value(&sample::events())];
    samples.extend(sample::events().iter().map(value));
    samples.extend(sample::messages().iter().map(value));
    samples.extend(sample::notes().iter().map(value));
    samples.extend(sample::records().iter().map(|(_, record)| value(record)));
    samples.extend(sample::activities().iter().map(|(_, live)| value(live)));
    samples
}

/// Heads that promise more than there is: arrays, maps, texts and bytes without end.
const PROMISES: &[&[u8]] = &[
    &[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x9a, 0x7f, 0xff, 0xff, 0xff],
    &[0xbb, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x7a, 0xff, 0xff, 0xff, 0xff],
    &[0x9f],
    &[0xbf],
    &[0x5f, 0x41, 0x00],
    &[0xc6, 0xc6, 0xc6, 0xc6],
    &[0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0xfb, 0x7f, 0xf8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01],
    &[0xf6],
];

/// Changes bytes in one to four places.
fn mutate(bytes: &mut Vec<u8>, samples: &[Vec<u8>], choices: &mut scramble::Choices) {
    for _ in 0..=choices.below(3) {
        let at = choices.below(bytes.len() + 1);
        match choices.below(8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, choices.below(256) as u8),
            2 => drop(bytes.drain(at..bytes.len().min(at + 1 + choices.below(8)))),
            3 => {
                let promise = PROMISES[choices.below(PROMISES.len())];
                bytes.splice(at..bytes.len().min(at + 1), promise.iter().copied());
            }
            4 => {
                let other = &samples[choices.below(samples.len())];
                let from = choices.below(other.len());
                bytes.splice(at.., other[from..].iter().copied());
            }
            5 => {
                let part = bytes[at..bytes.len().min(at + choices.below(64))].to_vec();
                (0..=choices.below(20)).for_each(|_| drop(bytes.splice(at..at, part.clone())));
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << choices.below(8),
            _ => bytes.push(choices.below(256) as u8),
        }
    }
}

/// What reads as events is folded and checked like any history, and reads back as it was written.
fn use_events(bytes: &[u8]) {
    let Ok(events) = codec::decode::<Vec<Event>>(bytes) else { return };
    let run = RunId { uuid: 7, ..RunId::default() };
    let _ = lawful::check(run, &events);
    let again: Vec<Event> = codec::decode(&codec::encode(&events)).expect("it was read before");
    // A number that is none differs from itself.
    assert_eq!(codec::encode(&again), codec::encode(&events));
}

/// What was found once: an event that says it is the last that can be counted.
#[test]
fn an_event_with_the_largest_number_is_refused_by_the_laws() {
    let bytes = [
        0x81, 0x84, 0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1a, 0x01, 0x4f, 0xb1,
        0x80, 0x82, 0x16, 0x83, 0x61, 0x74, 0x1a, 0x00, 0x4c, 0x4b, 0x40, 0x04, 0x80,
    ];
    let whole = scramble::envelope(&bytes);
    use_events(&whole);
    let events: Vec<Event> = codec::decode(&whole).expect("it reads");
    assert_eq!(events[0].id, EventId(u64::MAX));
    assert!(lawful::check(RunId::default(), &events).is_err());
}

/// The most memory that this process had so far, in KiB; nothing where nobody says so.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

#[test]
fn mutated_bytes_are_read_or_refused() {
    let samples = samples();
    let first = setting("BOWLINE_FUZZ_SEED", 1);
    let before = peak();
    for seed in first..first + TRIES * setting("BOWLINE_FUZZ", 1) {
        let mut choices = scramble::Choices::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = samples[choices.below(samples.len())].clone();
        mutate(&mut bytes, &samples, &mut choices);
        let whole = scramble::envelope(&bytes);
        let read = std::panic::catch_unwind(|| {
            read_as_anything(&whole);
            use_events(&whole);
        });
        assert!(read.is_ok(), "seed {seed} panics, reading {bytes:02x?}");
    }
    let grown = peak() - before;
    assert!(grown < 64 * 1024, "reading a few hundred bytes at a time took {grown} KiB");
}
