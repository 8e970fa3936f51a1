//! The engine and its worker as a whole: manual clock, signals, no sleeps.

mod activity;
mod activity_cancel;
mod activity_leak;
mod activity_log;
mod activity_process;
mod activity_slots;
mod activity_stop;
mod chain;
mod checked;
mod child;
mod external;
mod flow;
mod fork;
mod keeping;
mod lost;
mod query;
mod race_claim;
mod replaying;
mod retry;
mod slice;
mod starting;
mod support;
mod timeout;
mod update;
mod world;
