//! Workflow code that fails, drifts, hangs or is replaced: its runs wait for code that fits.

mod bad_code;
mod drift;
mod panicking;
mod parked;
mod parking;
mod replaying;
mod rolling;
mod setup;
mod stuck;
mod unable;
