//! Damaged bytes are refused, never misread, and nothing that is read makes the reader panic.

use proptest::prelude::*;

use super::{sample, scramble};
use crate::*;

/// A few real envelopes of every size.
fn envelopes() -> Vec<Vec<u8>> {
    let events = sample::events();
    vec![
        codec::encode(&sample::token()),
        codec::encode(&events[0]),
        codec::encode(&events[9]),
        codec::encode(&sample::messages()[0]),
        codec::encode(&sample::records()[1].1),
        codec::encode(&sample::activities()[3].1),
        codec::encode(&sample::notes()),
    ]
}

/// Reads bytes as everything that is stored. Whether that works is not the point here.
pub(super) fn read_as_anything(bytes: &[u8]) {
    let _ = codec::decode::<Vec<Event>>(bytes);
    let _ = codec::decode::<Event>(bytes);
    let _ = codec::decode::<Message>(bytes);
    let _ = codec::decode::<Vec<Note>>(bytes);
    let _ = codec::decode::<TurnRecord>(bytes);
    let _ = codec::decode::<ActivitySpec>(bytes);
    let _ = codec::decode::<ActivityLive>(bytes);
    let _ = codec::decode::<State>(bytes);
    let _ = Token::from_blob(bytes);
}

#[test]
fn every_truncation_is_refused() {
    for whole in envelopes() {
        for length in 0..whole.len() {
            let corrupt = codec::decode::<Event>(&whole[..length]).unwrap_err();
            assert!(
                matches!(corrupt, Corrupt::Truncated | Corrupt::Checksum),
                "{length} of {}: {corrupt}",
                whole.len()
            );
        }
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    for whole in envelopes() {
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let corrupt = codec::decode::<Event>(&bytes).unwrap_err();
            assert_eq!(corrupt, Corrupt::Checksum, "bit {bit} of {}", whole.len() * 8);
        }
    }
}

#[test]
fn an_envelope_of_something_else_is_an_error_and_not_a_guess() {
    let corrupt = codec::decode::<Event>(&codec::encode(&sample::token())).unwrap_err();
    assert!(matches!(corrupt, Corrupt::Value(_)), "{corrupt}");
}

#[test]
fn a_batch_must_hold_the_events_that_its_row_claims() {
    let batch = Batch::of(&sample::events()).unwrap();
    assert_eq!(batch.events().unwrap(), sample::events());
    let other = Batch { first: EventId(2), ..batch.clone() };
    assert!(matches!(other.events(), Err(Corrupt::Value(_))));
    let shorter = Batch { last: EventId(3), ..batch };
    assert!(matches!(shorter.events(), Err(Corrupt::Value(_))));
    assert_eq!(Batch::of(&Vec::new()), None);
}

/// Nesting without end must not exhaust the stack of whoever skips it.
#[test]
fn deep_nesting_in_an_unknown_field_is_skipped() {
    let mut value = minicbor::to_vec(sample::token()).unwrap();
    assert_eq!(value[0], 0x85, "an array of five");
    value[0] = 0x86;
    value.extend([0x81].repeat(100_000));
    value.push(0);
    assert_eq!(codec::decode::<Token>(&scramble::envelope(&value)).unwrap(), sample::token());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_as_anything(&bytes);
        // The same with a checksum that fits, so that the value itself is looked at.
        read_as_anything(&scramble::envelope(&bytes));
    }

    #[test]
    fn damage_anywhere_is_refused(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        change in 1..=u8::MAX,
    ) {
        let events = sample::events();
        let mut bytes = codec::encode(&events[which.index(events.len())]);
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        prop_assert_eq!(codec::decode::<Event>(&bytes), Err(Corrupt::Checksum));
    }

    #[test]
    fn truncation_anywhere_is_refused(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
    ) {
        let messages = sample::messages();
        let bytes = codec::encode(&messages[which.index(messages.len())]);
        let short = &bytes[..at.index(bytes.len())];
        prop_assert!(codec::decode::<Message>(short).is_err());
    }

    /// Bytes that are damaged and still fit their checksum may be read as another value or not at
    /// all; they never make the reader panic.
    #[test]
    fn a_forged_checksum_does_no_harm(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let events = sample::events();
        let mut value = minicbor::to_vec(&events[which.index(events.len())]).unwrap();
        for (at, to) in changes {
            let at = at.index(value.len());
            value[at] = to;
        }
        read_as_anything(&scramble::envelope(&value));
    }
}
