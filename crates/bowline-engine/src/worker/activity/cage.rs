//! A future of the user's, in a cage: it can be dropped from outside, and its panics stay inside.
//!
//! It is dropped between two polls. Code that does not return from a poll cannot be reached by
//! anybody; that is what the later rungs of the ladder are for.

use std::{future::poll_fn, pin::Pin, pin::pin, task::Poll};

use bowline_core::Failure;
use tokio_util::sync::CancellationToken;

use super::panic;

/// How a future in a cage ended.
#[derive(Debug, PartialEq)]
pub(super) enum Caged<T> {
    Done(T),
    Panicked(Box<Failure>),
    Aborted,
}

/// Runs a future to its end, until `abort` fires, or until a poll comes when it may not be polled.
pub(super) async fn cage<T>(
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    abort: CancellationToken,
    may_run: impl Fn() -> bool,
) -> Caged<T> {
    let mut inside = Some(future);
    let mut aborted = pin!(abort.cancelled());
    poll_fn(|cx| {
        let Some(future) = inside.as_mut() else { return Poll::Ready(Caged::Aborted) };
        let end = if aborted.as_mut().poll(cx).is_ready() || !may_run() {
            Caged::Aborted
        } else {
            match panic::catch(|| future.as_mut().poll(cx)) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(value)) => Caged::Done(value),
                Err(failure) => Caged::Panicked(failure),
            }
        };
        // Its destructors are user code too, and must be over before anybody hears of the end.
        let future = inside.take();
        match (panic::catch(|| drop(future)), end) {
            (Err(failure), Caged::Aborted) => {
                tracing::warn!(%failure, "aborted code panicked while it was dropped");
                Poll::Ready(Caged::Aborted)
            }
            (_, end) => Poll::Ready(end),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    fn fails() -> u8 {
        panic!("no")
    }

    struct Dropped(Arc<AtomicBool>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn what_is_done_comes_out_and_a_panic_does_not_get_out() {
        let abort = CancellationToken::new();
        assert_eq!(cage(Box::pin(async { 7 }), abort.clone(), || true).await, Caged::Done(7));
        let end = cage(Box::pin(async { fails() }), abort.clone(), || true).await;
        let Caged::Panicked(failure) = end else { panic!("{end:?}") };
        assert_eq!(failure.message, "no");
        let never = async { panic!("it is not polled") };
        assert_eq!(cage::<()>(Box::pin(never), abort, || false).await, Caged::Aborted);
    }

    #[tokio::test]
    async fn aborted_code_is_dropped_before_its_end_is_told() {
        let (abort, is_dropped) = (CancellationToken::new(), Arc::default());
        let inside = Dropped(Arc::clone(&is_dropped));
        let future = async move {
            let _inside = inside;
            std::future::pending::<()>().await;
        };
        let caged = tokio::spawn(cage(Box::pin(future), abort.clone(), || true));
        tokio::task::yield_now().await;
        abort.cancel();
        assert_eq!(caged.await.unwrap(), Caged::Aborted);
        assert!(is_dropped.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_panic_in_a_destructor_stays_inside_too() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("while dropped");
            }
        }
        let abort = CancellationToken::new();
        abort.cancel();
        let bomb = Bomb;
        let future = async move {
            let _bomb = bomb;
            std::future::pending::<()>().await;
        };
        assert_eq!(cage(Box::pin(future), abort, || true).await, Caged::Aborted);
    }
}
