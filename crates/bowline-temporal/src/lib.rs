//! The door for unmodified Temporal SDKs.
//!
//! This is the only crate that speaks Temporal's words. It translates and has no rules: what may
//! happen to a run is decided in `bowline-core`, what a worker is told is written there first.

pub mod access;
mod bound;
mod cron;
mod door;
mod log;
mod serve;
mod status;
mod stubs;

pub mod limits;
pub mod metrics;
pub mod translate;

pub use door::Door;
pub use metrics::Metrics;
pub use serve::{Calls, Listening, Protection, ServeError, serve, serve_protected};
