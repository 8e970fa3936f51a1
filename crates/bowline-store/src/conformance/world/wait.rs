//! Drives a store's answers without any runtime, and gives up when none comes.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// No answer takes so long, on a machine that has much else to do either; a case that waits longer
/// has failed.
const PATIENCE: Duration = Duration::from_secs(240);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for an answer. A thread of its own may do so, outside of any runtime.
///
/// # Panics
///
/// If none comes for so long that none ever will.
pub fn block_on<T>(answer: impl Future<Output = T>) -> T {
    let mut answer = pin!(answer);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let begun = Instant::now();
    loop {
        if let Poll::Ready(value) = answer.as_mut().poll(&mut cx) {
            return value;
        }
        let left = PATIENCE.saturating_sub(begun.elapsed());
        assert!(!left.is_zero(), "the store gave no answer in {PATIENCE:?}");
        thread::park_timeout(left);
    }
}

/// Polls once, for an answer that should not be there yet.
pub(crate) fn poll_once<T>(answer: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(answer).poll(&mut cx) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
