//! Workers of another kind, played by the test.

mod activity;
mod control;
mod query;
mod restart;
mod turn;
mod waiting_poll;
mod worker;
