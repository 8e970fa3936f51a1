//! The dictionaries between core's types and Temporal's messages.
//!
//! What no rule reads is kept in the sender's form. An event's own `wire` is a serialised
//! `HistoryEvent` that holds nothing but the fields without a place in core; translating an event
//! lays core's fields over it. A payload in `Wire` format is a serialised `Payloads`, wherever it
//! stands; a search field's `wire` is a serialised `Payload`, a failure's a `Failure`.

pub(crate) mod command;
mod event;
pub(crate) mod failure;
pub(crate) mod payload;
pub(crate) mod retry;
pub(crate) mod started;
pub(crate) mod time;
pub(crate) mod update;
pub(crate) mod word;

use prost::{DecodeError, Message};

use bowline_core::Blob;

pub use event::{event, history};
pub(crate) use event::{kept, retry_policy};
pub use failure::failure;
pub use payload::{keep, payloads};

/// What an event does not say about the run that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The name of its namespace.
    pub namespace: &'a str,
    /// The id under which SDKs know that namespace.
    pub namespace_id: &'a str,
    /// The queue that its turns wait in, unless a turn says otherwise.
    pub queue: &'a str,
}

/// Why something stored cannot be shown to a Temporal client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Untranslatable {
    /// The sender's own form, kept beside core's fields, does not read.
    #[error("the kept {what} does not read: {why}")]
    Unreadable {
        /// Which message it should be.
        what: &'static str,
        /// What the decoder says.
        why: String,
    },
    /// Temporal has no word for it.
    #[error("Temporal has no event for {0}")]
    Unknown(&'static str),
}

/// Either a message of Temporal's, or why there is none.
pub type Result<T> = std::result::Result<T, Untranslatable>;

/// Reads a message that was kept in the sender's form.
fn read<M: Message + Default + prost::Name>(kept: &Blob) -> Result<M> {
    M::decode(kept.as_slice()).map_err(|why: DecodeError| Untranslatable::Unreadable {
        what: M::NAME,
        why: why.to_string(),
    })
}

/// The same, where there may be none.
fn read_option<M: Message + Default + prost::Name>(kept: &Option<Blob>) -> Result<Option<M>> {
    kept.as_ref().map(read).transpose()
}

/// How urgent an activity is, where somebody has said so.
pub(crate) fn priority(
    spec: &bowline_core::ActivitySpec,
) -> Result<Option<temporalio_protos::temporal::api::common::v1::Priority>> {
    spec.priority.as_ref().map(read).transpose()
}
