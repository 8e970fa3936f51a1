//! The engine and its worker as a whole: manual clock, signals, no sleeps.
#![expect(clippy::unwrap_used, reason = "what must not fail in a test may panic")]
#![expect(clippy::print_stderr, reason = "a failed test says on which store it failed")]

mod activity;
mod bad_input;
mod cancel;
mod checked;
mod code;
mod process;
mod race;
mod remote;
mod run;
mod support;
mod world;
