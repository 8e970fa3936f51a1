//! Every bound of replay on one screen.

/// How often the code may be polled for one message. Code that needs more wakes itself without
/// waiting for anything.
pub const POLLS_MAX: u32 = 100_000;
