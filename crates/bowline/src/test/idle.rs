//! Knowing for certain that nothing goes on: a runtime of one thread is about to park.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Who waits for the runtime to have nothing to do.
#[derive(Clone, Default)]
pub(super) struct Idle(Arc<Mutex<Vec<oneshot::Sender<()>>>>);

impl Idle {
    /// Called whenever the runtime is about to park.
    pub(super) fn parks(&self) {
        let waiting = std::mem::take(&mut *self.0.lock());
        for waiter in waiting {
            // Whoever waited may have gone.
            let _ = waiter.send(());
        }
    }

    /// Waits until nothing goes on, at this moment of virtual time.
    pub(super) async fn reached(&self) {
        // Twice: before the runtime really parks, it looks at its timers once more.
        for _ in 0..2 {
            let (tell, told) = oneshot::channel();
            self.0.lock().push(tell);
            // The hook lives as long as the runtime that this runs on.
            let _ = told.await;
        }
    }
}
