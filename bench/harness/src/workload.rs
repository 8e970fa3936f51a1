//! The workloads, as a peer runs them: the one `match`; each arm is a file.

mod across;
mod cancel;
mod chain;
mod hello;
mod mass;
mod open;
mod signal;
mod takeover;
mod tree;
mod wide;

use std::sync::Arc;

use crate::{Command, Metrics, System, Trouble};

/// What a workload found, or why it found nothing.
pub type Found = Result<Metrics, Trouble>;

/// Runs one workload.
///
/// # Errors
/// If the system has no such thing, or fails.
pub async fn run<S: System>(system: &Arc<S>, command: Command) -> Found {
    match command {
        Command::Hello { in_flight, seconds } => hello::run(system, in_flight, seconds).await,
        Command::Chain { steps } => chain::run(system, steps).await,
        Command::Fanout { width } => wide::fanout(system, width).await,
        Command::Children { width } => wide::children(system, width).await,
        Command::Signal { runs, each } => signal::run(system, runs, each).await,
        Command::CancelRunning { times } => cancel::running(system, times).await,
        Command::CancelTimer { times } => cancel::timer(system, times).await,
        Command::SelectLoser { times } => cancel::loser(system, times).await,
        Command::MassCancel { queued } => mass::run(system, queued).await,
        Command::CancelTree { children, activities } => {
            tree::run(system, children, activities).await
        }
        Command::Open { from, runs } => open::open(system, from, runs).await,
        Command::Resume { runs } => open::resume(system, runs).await,
        Command::Build { steps } => open::build(system, steps).await,
        Command::Cold => open::cold(system).await,
        Command::HoldOne { id } => across::hold(system, id).await,
        Command::CancelOne { id } => across::cancel(system, id).await,
        Command::ToldOne => across::told().await,
        Command::HoldMany { name, runs } => takeover::hold(system, name, runs).await,
        Command::HeldSince { since_us } => Ok(takeover::held(since_us)),
    }
}

/// An id that no other run of this machine has had.
fn fresh(kind: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{kind}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
