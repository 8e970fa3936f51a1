//! What members say to each other, and ask of each other: a question that stands at one of them, a
//! refusal that leaves no trace, a worker's address. Only where many have the store open.
//!
//! In:    words of other members, and errands that they send.
//! Out:   the waiting poll, the waiting caller is told, wherever it waits.
//! Never: needed for correctness. Words get lost; whoever waits says it again, or asks again.

mod errand;
mod word;

pub(crate) use errand::{Errand, Went, run};
pub(crate) use word::Said;
