//! Who runs futures and blocking work: tokio, or a simulator in its place.

use std::pin::Pin;

/// Runs futures and blocking work.
pub trait Spawn: Send + Sync {
    /// Runs a future to its end. It may be dropped unfinished when whoever runs it shuts down.
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>);

    /// Runs work that blocks its thread.
    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>);
}

impl Spawn for tokio::runtime::Handle {
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        // Nobody waits for the handle: what ends says so by itself.
        drop(Self::spawn(self, future));
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        drop(Self::spawn_blocking(self, work));
    }
}
