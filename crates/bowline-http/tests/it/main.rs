//! The API over real sockets, on an engine with real code.

mod bad;
mod cancel;
mod document;
mod live;
mod rights;
mod run;
mod world;
