//! The engine and its worker as a whole: manual clock, signals, no sleeps.
#![expect(clippy::unwrap_used, reason = "what must not fail in a test may panic")]
#![expect(clippy::print_stderr, reason = "a failed test says on which store it failed")]

mod activity;
mod activity_cancel;
mod activity_leak;
mod activity_log;
mod activity_process;
mod activity_slots;
mod activity_stop;
mod bad_input;
mod chain;
mod checked;
mod child;
mod drain;
mod drift;
mod external;
mod flow;
mod fork;
mod keeping;
mod ladder;
mod lossy;
mod lost;
mod mark;
mod parking;
mod quarantine;
mod query;
mod race_child;
mod race_claim;
mod race_close;
mod race_outcome;
mod race_takeover;
mod race_unknown;
mod receipt;
mod remote;
mod replaying;
mod retry;
mod scale;
mod scope;
mod slice;
mod slots;
mod starting;
mod stuck;
mod support;
mod timeout;
mod update;
mod world;
