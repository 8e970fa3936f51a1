//! The public test runtime, as a user of the crate has it: virtual time, mocks, faults, replay.

#![expect(clippy::unwrap_used, reason = "what must not fail in a test may panic")]

mod client;
mod fault;
mod mock;
mod process;
mod replaying;
mod shop;
mod store_fault;
mod time;
