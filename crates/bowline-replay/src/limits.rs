//! Every bound of replay on one screen.

/// How often the code may be polled for one message. Code that needs more wakes itself without
/// waiting for anything.
pub const POLLS_MAX: u32 = 100_000;
/// So many activities that a scope cancels together have no record of it each.
pub const WIDE_FROM: u64 = 256;
/// A cancel of the run that hits so many activities, counted by scopes with at least [`WIDE_FROM`],
/// is told to the code with the turn after it. Replays depend on both: another number is another
/// rule.
pub const LATER_FROM: u64 = 2_000;
