//! The door on a real port, called as a client or a worker calls it: message by message, without an
//! SDK in between. What SDKs do by themselves is tested with them, in the tests of the command.

mod access;
mod asked;
mod attempt;
mod attribute;
mod bad_command;
mod bad_input;
mod channel;
mod cost;
mod cron;
mod eager;
mod external;
mod follow;
mod fuzz;
mod lists;
mod metrics;
mod namespace;
mod pages;
mod started;
mod table;
mod told;
mod update;
mod worker;
mod world;
