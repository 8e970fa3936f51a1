//! Replay, tested from outside: history in, commands out, with the real rules in between.
#![expect(clippy::result_large_err, reason = "bodies end as workflow bodies end")]
#![expect(clippy::unwrap_used, reason = "everything here is a test, or part of one")]

mod support;

mod activity;
mod cancel;
mod channel;
mod child;
mod cleanup;
mod continuing;
mod deadline;
mod determinism;
mod dropping;
mod fault;
mod foreign;
mod guard;
mod join;
mod mismatch;
mod model;
mod patch;
mod query;
mod race;
mod scope;
mod shield;
mod size;
mod wide;
