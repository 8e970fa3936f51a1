//! Temporal's own SDKs, unmodified, against the real server: a process each, a store file, a port.

mod bad_input;
mod cancels;
mod crash;
mod features;
mod go;
mod hello;
mod program;
mod python;
mod server;
