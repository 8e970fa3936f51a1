//! Plain values that everything else speaks of.

pub(crate) mod cause;
pub(crate) mod failure;
pub(crate) mod id;
pub(crate) mod payload;
pub(crate) mod ranges;
pub(crate) mod refusal;
pub(crate) mod search;
pub(crate) mod space;
pub(crate) mod status;
pub(crate) mod time;
