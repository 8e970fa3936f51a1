//! Temporal's own SDKs, unmodified, against the real server: a process each, a store file or a
//! database, a port.

mod bad_input;
mod cancels;
mod command;
mod crash;
mod features;
mod fleet;
mod go;
mod hello;
mod java;
mod operation;
#[path = "../../../bowline-engine/tests/processes/port.rs"]
mod port;
mod program;
mod python;
mod replicas;
mod rust;
mod secure;
mod server;
mod typescript;
