//! What the tests stand on.

pub(crate) mod bench;
pub(crate) mod code;
pub(crate) mod log;
