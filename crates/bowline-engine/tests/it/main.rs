//! The engine and its worker as a whole: manual clock, signals, no sleeps.

mod activity;
mod activity_cancel;
mod activity_leak;
mod activity_log;
mod activity_process;
mod activity_slots;
mod activity_stop;
mod checked;
mod flow;
mod query;
mod replaying;
mod slice;
mod support;
mod world;
