//! What Temporal's users know, with the Python SDK. Every scene ends with the SDK's own replayer,
//! which must agree with every history that came of it.

use crate::{python, server::Server};

fn scene(name: &str) {
    let Some(interpreter) = python::interpreter() else { return };
    let server = Server::start();
    python::run(&interpreter, "features.py", &[&server.address, name]);
}

/// Signals arrive in order, and a closed run refuses them.
#[test]
fn signals() {
    scene("signals");
}

/// Queries are answered beside a turn, alone, and by closed runs; never with an older state than
/// the client has already been told of.
#[test]
fn queries() {
    scene("queries");
}

/// Updates are taken, refused without a trace, answered, failed; an id counts once.
#[test]
fn updates() {
    scene("updates");
}

/// A run ends, or goes on as another, while updates are under way: each has its answer.
#[test]
fn updates_at_the_end() {
    scene("updates_at_the_end");
}

/// Who asks a run that cannot answer is told so at once.
#[test]
fn not_ready() {
    scene("not_ready");
}

/// Timers ring, are taken back, and delay a start.
#[test]
fn timers() {
    scene("timers");
}

/// Activities and whole runs are tried again as their policies say.
#[test]
fn retries() {
    scene("retries");
}

/// All limits of an activity, and that of a run. Code that ran too long is told to stop, too.
#[test]
fn timeouts() {
    scene("timeouts");
}

/// Short ones, and one that outlives its turn.
#[test]
fn local_activities() {
    scene("local_activities");
}

/// An activity is completed by somebody who knows its id.
#[test]
fn completed_elsewhere() {
    scene("completed_elsewhere");
}

/// The first turn comes with the start, and an activity with the answer that schedules it.
#[test]
fn eager() {
    scene("eager");
}

/// A schedule starts one run after the other, with what the one before it left, until somebody ends
/// it.
#[test]
fn cron() {
    scene("cron");
}

/// Children complete, are signalled and cancelled; each policy for what a parent leaves behind.
#[test]
fn children() {
    scene("children");
}

/// A chain of runs.
#[test]
fn continues() {
    scene("continues");
}

/// What happens to a start whose workflow id is taken.
#[test]
fn ids() {
    scene("ids");
}

/// Descriptions, lists and counts.
#[test]
fn shown() {
    scene("shown");
}
