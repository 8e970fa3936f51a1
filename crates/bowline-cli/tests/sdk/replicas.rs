//! Three servers on one database: whatever is asked of one, the others know.

use std::time::{Duration, Instant};

use crate::{fleet::Fleet, operation, python};

/// Far from how long it takes a server to enter again.
const PATIENCE: Duration = Duration::from_secs(60);

fn play(script: &str, name: &str) {
    let Some(interpreter) = python::interpreter() else { return };
    let fleet = Fleet::start();
    python::run(&interpreter, script, &[&fleet.address, name]);
}

/// The scenes that one server on a file plays too. The client's connection ends at one server, the
/// worker's at another.
macro_rules! scenes {
    ($($script:literal: $($name:ident)*;)*) => {
        $($(
            #[test]
            fn $name() {
                play($script, stringify!($name));
            }
        )*)*
    };
}

scenes! {
    "features.py": signals queries updates timers retries timeouts local_activities
        completed_elsewhere children continues ids shown;
    "cancels.py": pushed terminated by_workflow of_workflow;
}

/// Every wrong request has its status, whichever server is asked.
#[test]
fn bad_input() {
    let Some(interpreter) = python::interpreter() else { return };
    let fleet = Fleet::start();
    python::run(&interpreter, "bad_input.py", &[&fleet.address]);
}

/// Each case that two servers must agree on, with the servers named: what one hands out another is
/// answered, what one is asked a worker at another answers.
#[test]
fn what_one_server_is_told_another_knows() {
    let Some(interpreter) = python::interpreter() else { return };
    let fleet = Fleet::start();
    let addresses = fleet.replicas.iter().map(|server| server.address.as_str());
    // Behind them, in the same order, where each server shows what it counts.
    let servers: Vec<&str> =
        addresses.chain(fleet.replicas.iter().map(|server| server.http.as_str())).collect();
    python::run(&interpreter, "replicas.py", &servers);
}

/// One of three is killed, the one that the worker talks to, while runs are in every state. The
/// worker finds another; what was acknowledged has happened, once.
#[test]
fn two_servers_go_on_where_one_was_killed() {
    let Some(interpreter) = python::interpreter() else { return };
    let mut fleet = Fleet::start();
    let address = fleet.address.clone();
    // The first connection ends at the first server.
    let mut worker = python::start(&interpreter, "worker.py", &[&address]);
    worker.hears("working");
    python::run(&interpreter, "crash.py", &[&address, "begin", "100"]);
    fleet.replicas[0].kill();
    python::run(&interpreter, "crash.py", &[&address, "request"]);
    worker.hears("cancelled doomed");
    python::run(&interpreter, "crash.py", &[&address, "finish", "CancelledError"]);
    fleet.replicas[0].restart();
    python::run(&interpreter, "hello.py", &[&fleet.replicas[0].address]);
}

/// One of three stands still for longer than its lease, and then goes on: the one that the worker
/// talks to, and that a query waits at. Others have given it up by then; it enters again, tells its
/// worker what was cancelled meanwhile, and the query is answered at another server.
#[test]
fn a_server_that_stood_still_goes_on() {
    let Some(interpreter) = python::interpreter() else { return };
    let fleet = Fleet::with(&["--lease", "4"]);
    let [first, second, third] = &fleet.replicas[..] else { panic!("there are three") };
    let mut worker = python::start(&interpreter, "worker.py", &[&first.address]);
    worker.hears("working");
    python::run(&interpreter, "crash.py", &[&second.address, "begin", "100"]);
    let mut asks = python::start(&interpreter, "stalled.py", &[&first.address, "ask"]);
    asks.hears("asked");
    first.signal("-STOP");
    python::run(&interpreter, "crash.py", &[&second.address, "request"]);
    let mut answers = python::start(&interpreter, "stalled.py", &[&third.address, "answer"]);
    answers.hears("working");
    fleet.gives_one_up();
    first.signal("-CONT");
    asks.hears("answered");
    worker.hears("cancelled doomed");
    // A hint that came while it stood still may tell the worker before it has entered again. It
    // counts that, and tells nobody.
    let end = Instant::now() + PATIENCE;
    while operation::get(&first.http, "/metrics").1.contains("bowline_rejoins_total 0") {
        assert!(Instant::now() < end, "it never entered again");
    }
    python::run(&interpreter, "crash.py", &[&first.address, "finish", "CancelledError"]);
}
