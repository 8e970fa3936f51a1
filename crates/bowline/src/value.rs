//! Values on their way into payloads and back.

use bowline_engine::core::{Failure as Raw, Payload};
use serde::{Serialize, de::DeserializeOwned};

/// What you give a call: the value itself, a reference to it, or a `&str` for a `String`.
///
/// The value is serialised at once, so nothing is cloned and the call borrows nothing.
#[diagnostic::on_unimplemented(
    message = "this call takes a `{I}`, but it was given a `{Self}`",
    label = "expected `{I}` or `&{I}`",
    note = "an activity, workflow, signal or update takes exactly one value; `()` is the value of \
            functions without input"
)]
pub trait Give<I> {
    #[doc(hidden)]
    fn give(self) -> Result<Option<Payload>, Raw>;
}

impl<I: Serialize> Give<I> for I {
    fn give(self) -> Result<Option<Payload>, Raw> {
        encode(&self)
    }
}

impl<I: Serialize> Give<I> for &I {
    fn give(self) -> Result<Option<Payload>, Raw> {
        encode(self)
    }
}

impl Give<String> for &str {
    fn give(self) -> Result<Option<Payload>, Raw> {
        encode(self)
    }
}

/// What `()` and `None` are written as: nothing at all.
const NOTHING: &str = "null";

/// The kind of failures that are about values and not about what the code did.
pub(crate) const UNREADABLE: &str = "Unreadable";

/// A value as a payload.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Option<Payload>, Raw> {
    match serde_json::to_string(value) {
        Ok(text) if text == NOTHING => Ok(None),
        Ok(text) => Ok(Some(Payload::json(text))),
        Err(error) => Err(unreadable::<T>("cannot be written as JSON", &error)),
    }
}

/// A payload as a value.
pub(crate) fn decode<T: DeserializeOwned>(payload: Option<&Payload>) -> Result<T, Raw> {
    let bytes = payload.map_or(NOTHING.as_bytes(), |payload| payload.bytes.as_slice());
    serde_json::from_slice(bytes).map_err(|error| unreadable::<T>("cannot be read", &error))
}

fn unreadable<T: ?Sized>(what: &str, error: &serde_json::Error) -> Raw {
    let name = std::any::type_name::<T>();
    Raw::new(format!("a value of type `{name}` {what}: {error}")).kind(UNREADABLE).final_()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_as_nothing() {
        assert_eq!(encode(&()).unwrap(), None);
        assert_eq!(encode(&None::<u8>).unwrap(), None);
        decode::<()>(None).unwrap();
        assert_eq!(decode::<Option<u8>>(None).unwrap(), None);
    }

    #[test]
    fn a_value_comes_back_as_it_was() {
        let payload = encode("rope").unwrap();
        assert_eq!(decode::<String>(payload.as_ref()).unwrap(), "rope");
    }

    #[test]
    fn a_value_of_another_type_says_which_was_wanted() {
        let payload = encode("rope").unwrap();
        let failure = decode::<u8>(payload.as_ref()).unwrap_err();
        assert!(failure.message.starts_with("a value of type `u8` cannot be read"), "{failure}");
    }
}
