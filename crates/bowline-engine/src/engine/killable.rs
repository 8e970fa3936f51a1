//! An engine that can be killed: from one moment to the next, nothing of it goes on.
//!
//! In:    every future that the engine, or code that it runs, has spawned.
//! Out:   the same future, dropped unfinished when the engine is killed.
//! Never: polls anything again after the kill, whatever is ready by then.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::worker::activity::Spawn;

/// Something that a future waits for before it is polled.
pub type Rest = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Says when the futures of an engine are polled: how a simulator tries other orders than the one
/// in which they were woken, and how it stops a process for a while.
pub trait Pace: Send + Sync {
    /// A future of the engine was woken. It is polled at once, or after this.
    fn rest(&self) -> Option<Rest>;
}

/// What all futures of one engine depend on.
#[derive(Clone)]
pub(crate) struct Killable {
    runtime: Handle,
    dead: CancellationToken,
    pace: Option<Arc<dyn Pace>>,
}

impl Killable {
    pub(crate) fn new(runtime: Handle, pace: Option<Arc<dyn Pace>>) -> Self {
        Self { runtime, dead: CancellationToken::new(), pace }
    }

    pub(crate) fn kill(&self) {
        self.dead.cancel();
    }

    /// The same work, for as long as the engine lives.
    pub(crate) fn bind(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (dead, pace) = (self.dead.clone(), self.pace.clone());
        async move {
            tokio::select! {
                // Death first: work that is ready by then is not polled any more.
                biased;
                () = dead.cancelled() => {}
                () = paced(pace, work) => {}
            }
        }
    }
}

/// The same work, polled when its pace lets it.
async fn paced(pace: Option<Arc<dyn Pace>>, work: impl Future<Output = ()>) {
    let Some(pace) = pace else { return work.await };
    let (mut work, mut rest) = (pin!(work), None);
    poll_fn(|cx| {
        rest = rest.take().or_else(|| pace.rest());
        if rest.as_mut().is_some_and(|rest: &mut Rest| rest.as_mut().poll(cx).is_pending()) {
            return std::task::Poll::Pending;
        }
        rest = None;
        work.as_mut().poll(cx)
    })
    .await;
}

impl Spawn for Killable {
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        drop(self.runtime.spawn(self.bind(future)));
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        drop(self.runtime.spawn_blocking(work));
    }
}
