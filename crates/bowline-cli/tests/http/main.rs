//! The HTTP port of `bowline serve`, a process of its own: the API, the console in a real browser,
//! and who is let in.

#[path = "../../../bowline-http/tests/console/browser.rs"]
mod browser;
mod console;
mod runs;
mod server;
