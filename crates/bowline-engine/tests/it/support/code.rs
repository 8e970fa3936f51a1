//! Code to be run, as the tests need it.

use std::sync::{Arc, mpsc::Receiver};

use bowline_engine::worker::{
    activity::{ActivityContext, Spawned},
    registry::{ActivityCode, Answer, activity_fn},
};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Runs once, with something that can be moved into it.
pub(crate) fn once<T, F, Fut>(with: T, code: F) -> Arc<dyn ActivityCode>
where
    T: Send + 'static,
    F: Fn(ActivityContext, T) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    let with = Mutex::new(Some(with));
    activity_fn(move |ctx, _| code(ctx, with.lock().take().expect("it runs once")))
}

/// Says so when it is dropped.
pub(crate) struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            sender.send(()).ok();
        }
    }
}

pub(crate) fn dropped() -> (Dropped, oneshot::Receiver<()>) {
    let (sender, receiver) = oneshot::channel();
    (Dropped(Some(sender)), receiver)
}

/// Starts a thread that looks at nothing and ends when the other end is dropped; returns once the
/// thread runs, because one that still waits for its turn would never begin.
pub(crate) async fn block_thread(ctx: &ActivityContext, released: Receiver<()>) -> Spawned<()> {
    let (begins, begun) = oneshot::channel();
    let thread = ctx.spawn_blocking(move |_| {
        begins.send(()).ok();
        released.recv().ok();
    });
    begun.await.expect("the thread begins");
    thread
}
