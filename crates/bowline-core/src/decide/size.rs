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

/// Holds the search attributes of a run to their bounds: says what is wrong with them, and what a
/// turn fails with that asks for them.
pub(super) fn search(search: &SearchAttributes) -> Result<(), (TurnFault, &'static str)> {
    let long = |(key, field): (&String, &SearchField)| {
        key.len() > limits::TEXT_MAX || field.value_len() > limits::SEARCH_BYTES_MAX
    };
    let all: usize = search.iter().map(|(key, field)| key.len() + field.len()).sum();
    match search.len() > limits::SEARCH_MAX {
        true => Err((TurnFault::BadSearch, "there are more than 100 of them")),
        false if search.iter().any(long) => {
            Err((TurnFault::SearchTooLarge, "one of them is larger than 2 KiB"))
        }
        false if all > limits::SEARCH_ALL_MAX => {
            Err((TurnFault::SearchTooLarge, "together they are larger than 40 KiB"))
        }
        false => Ok(()),
    }
}
