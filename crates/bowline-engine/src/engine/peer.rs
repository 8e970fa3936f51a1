//! What members say to each other, and ask of each other: a question that stands at one of them, a
//! refusal that leaves no trace, a worker's address. Only where many have the store open.
//!
//! In:    broadcasts of other members, and requests that they send.
//! Out:   the waiting poll, the waiting caller is told, wherever it waits.
//! Never: needed for correctness. Broadcasts get lost; whoever waits says it again, or asks again.

mod broadcast;
mod request;

pub(crate) use broadcast::PeerNews;
pub(crate) use request::{PeerRequest, Went, run};
