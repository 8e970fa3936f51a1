//! Something dies in the middle, without a word.

use std::process::Command;

use crate::{program::Script, python, server::Server};

/// The server's plug is pulled right after it acknowledged a signal, a cancel and a termination,
/// while the worker could not hear of any of them. It starts again on the same file; the same
/// worker finds it again, and all three have happened, once. Code that never heartbeats is told.
#[test]
fn what_was_acknowledged_survives_the_servers_death() {
    let Some(interpreter) = python::interpreter() else { return };
    let mut server = Server::start();
    let address = server.address.clone();
    let mut worker = python::start(&interpreter, "worker.py", &[&address]);
    worker.hears("working");
    python::run(&interpreter, "crash.py", &[&address, "begin", "100"]);
    worker.signal("-STOP");
    python::run(&interpreter, "crash.py", &[&address, "request"]);
    server.kill();
    server.restart();
    worker.signal("-CONT");
    worker.hears("cancelled doomed");
    python::run(&interpreter, "crash.py", &[&address, "finish", "CancelledError"]);
}

/// The worker is killed with two runs in its cache and three activities in its hands. Another one
/// takes over: turns at once or when their time is up, and an attempt when its heartbeat is missed.
#[test]
fn another_worker_goes_on_where_one_was_killed() {
    let Some(interpreter) = python::interpreter() else { return };
    let server = Server::start();
    let mut first = python::start(&interpreter, "worker.py", &[&server.address]);
    first.hears("working");
    python::run(&interpreter, "crash.py", &[&server.address, "begin"]);
    first.kill();
    python::run(&interpreter, "crash.py", &[&server.address, "request"]);
    let mut second = python::start(&interpreter, "worker.py", &[&server.address]);
    second.hears("working");
    // Nobody saw the end of the code that was to be cancelled: its limit ends it.
    python::run(&interpreter, "crash.py", &[&server.address, "finish", "TimeoutError"]);
}

impl Script {
    /// Sends the process a signal of the system's.
    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.id().to_string()).status();
        assert!(sent.expect("kill runs").success());
    }
}
