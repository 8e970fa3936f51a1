//! How large what a command carries may be.

use crate::{Fields, Payload, Refusal, SearchAttributes, SearchField, TurnFault, limits};

/// Holds payloads to the bound that one event may carry.
pub(super) fn check<'p>(payloads: impl IntoIterator<Item = &'p Payload>) -> Result<(), Refusal> {
    bytes(payloads.into_iter().map(Payload::len).sum())
}

/// The same, for something with a size of its own.
pub(super) fn bytes(bytes: usize) -> Result<(), Refusal> {
    match bytes > limits::PAYLOAD_MAX {
        true => {
            let why = format!("a command carries {bytes} bytes, more than 2 MiB");
            Err(Refusal::Command(TurnFault::TooLarge, why))
        }
        false => Ok(()),
    }
}

/// The same, for an input and what travels beside it.
pub(super) fn call(input: &Option<Payload>, header: &Fields) -> Result<(), Refusal> {
    check(input.iter().chain(header.values()))
}

/// What is wrong with the search attributes of a run, if anything.
pub(super) fn search(search: &SearchAttributes) -> Option<&'static str> {
    let long = |(key, field): (&String, &SearchField)| {
        key.len() > limits::TEXT_MAX
            || field.value_len() > limits::SEARCH_BYTES_MAX
            || field.len() > limits::SEARCH_BYTES_MAX + limits::SEARCH_AROUND_MAX
    };
    match search.len() > limits::SEARCH_MAX {
        true => Some("there are more than 100 of them"),
        false if search.iter().any(long) => Some("one of them is larger than 2 KiB"),
        false => None,
    }
}
