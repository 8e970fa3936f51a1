//! Cancels, with the Python SDK and its default settings. No activity here ever heartbeats.

use crate::{python, server::Server};

fn scene(name: &str) {
    let Some(interpreter) = python::interpreter() else { return };
    let server = Server::start();
    python::run(&interpreter, "cancels.py", &[&server.address, name]);
}

/// An activity that never heartbeats is told of its cancel at once; the latency is printed.
#[test]
fn r1_an_activity_that_never_heartbeats_is_cancelled_by_push() {
    scene("pushed");
}

/// The same, where its workflow is terminated.
#[test]
fn what_a_terminated_run_leaves_running_is_told_to_stop() {
    scene("terminated");
}

/// A workflow cancels an activity that runs, then one that never started, and goes on.
#[test]
fn a_workflow_cancels_its_own_activities_and_goes_on() {
    scene("by_workflow");
}

/// Timers end with their workflow, clean-up runs first, and a second cancel is harmless.
#[test]
fn a_cancelled_workflow_cleans_up_first() {
    scene("of_workflow");
}
