//! Clients that mean harm, against the real server: a process of its own, whose memory, files and
//! processor time are looked at from outside. Everything is on loopback, and bounded.
//!
//! Beside each of them stands a client that means well, and is served.

mod answers;
mod bytes;
mod client;
mod connections;
mod names;
mod server;
mod slots;
