//! Whatever is written is read back.

use proptest::prelude::*;

use super::{sample, scramble::scramble};
use crate::*;

fn there_and_back<T>(value: &T) -> T
where
    T: minicbor::Encode<()> + for<'b> minicbor::Decode<'b, ()>,
{
    codec::decode(&codec::encode(value)).unwrap()
}

#[test]
fn every_sample_is_read_back() {
    for event in sample::events() {
        assert_eq!(there_and_back(&event), event);
    }
    for message in sample::messages() {
        assert_eq!(there_and_back(&message), message);
    }
    assert_eq!(there_and_back(&sample::notes()), sample::notes());
    for (_, live) in sample::activities() {
        assert_eq!(there_and_back(&live), live);
    }
    for (_, record) in sample::records() {
        assert_eq!(there_and_back(&record), record);
    }
    assert_eq!(there_and_back(&sample::state()), sample::state());
    let blob = sample::token().to_blob();
    assert_eq!(Token::from_blob(blob.as_slice()), Ok(sample::token()));
}

/// The scrambling would prove nothing if it gave the samples back.
#[test]
fn scrambled_values_are_mostly_others() {
    let events = sample::events();
    let tries = events.iter().flat_map(|event| (0..20).map(move |seed| (event, seed)));
    let changed = tries.clone().filter(|(event, seed)| scramble(*event, *seed) != **event);
    let (changed, all) = (changed.count(), tries.count());
    assert!(changed * 10 > all * 7, "{changed} of {all}");
}

fn event() -> impl Strategy<Value = Event> {
    let which = any::<prop::sample::Index>();
    let notes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..3);
    (which, any::<u64>(), any::<i64>(), notes).prop_map(|(which, seed, time, notes)| {
        let (events, samples) = (sample::events(), sample::notes());
        let event = scramble(&events[which.index(events.len())], seed);
        let note = |(which, seed): (prop::sample::Index, u64)| {
            scramble(&samples[which.index(samples.len())], seed)
        };
        Event { time: Time(time), notes: notes.into_iter().map(note).collect(), ..event }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_list_of_events_is_read_back(
        mut events in proptest::collection::vec(event(), 1..12),
        first in 1..u64::from(u32::MAX),
    ) {
        for (event, n) in events.iter_mut().zip(first..) {
            event.id = EventId(n);
        }
        prop_assert_eq!(&there_and_back(&events), &events);
        let batch = Batch::of(&events).unwrap();
        for at in 1..events.len() {
            let (own, more) = (events[..at].to_vec(), events[at..].to_vec());
            let joined = Batch::of(&own).unwrap().join(&Batch::of(&more).unwrap());
            prop_assert_eq!(joined.unwrap(), batch.clone());
        }
        prop_assert_eq!(batch.events().unwrap(), events);
    }

    #[test]
    fn any_message_or_row_is_read_back(which in any::<prop::sample::Index>(), seed: u64) {
        let messages = sample::messages();
        let message = scramble(&messages[which.index(messages.len())], seed);
        prop_assert_eq!(&there_and_back(&message), &message);
        let live = scramble(&sample::activities()[which.index(4)].1, seed);
        prop_assert_eq!(&there_and_back(&live), &live);
        let record = scramble(&sample::records()[which.index(2)].1, seed);
        prop_assert_eq!(&there_and_back(&record), &record);
        let state = scramble(&sample::state(), seed);
        prop_assert_eq!(&there_and_back(&state), &state);
    }
}
