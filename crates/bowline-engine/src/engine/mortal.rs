//! An engine that can be killed: from one moment to the next, nothing of it goes on.
//!
//! In:    every future that the engine, or code that it runs, has spawned.
//! Out:   the same future, dropped unfinished when the engine is killed.
//! Never: polls anything again after the kill, whatever is ready by then.

use std::pin::Pin;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::worker::activity::Spawn;

/// What all futures of one engine depend on.
#[derive(Clone, Debug)]
pub(crate) struct Mortal {
    runtime: Handle,
    dead: CancellationToken,
}

impl Mortal {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self { runtime, dead: CancellationToken::new() }
    }

    pub(crate) fn kill(&self) {
        self.dead.cancel();
    }

    /// The same work, for as long as the engine lives.
    pub(crate) fn bind(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let dead = self.dead.clone();
        async move {
            tokio::select! {
                // Death first: work that is ready by then is not polled any more.
                biased;
                () = dead.cancelled() => {}
                () = work => {}
            }
        }
    }
}

impl Spawn for Mortal {
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        drop(self.runtime.spawn(self.bind(future)));
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        drop(self.runtime.spawn_blocking(work));
    }
}
