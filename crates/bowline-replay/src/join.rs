//! Waiting for all of several futures.

use std::{
    ops::ControlFlow,
    pin::Pin,
    task::{self, Poll},
};

use crate::group::Group;

/// Waits for both, and returns their values.
pub fn join<A: Future, B: Future>(a: A, b: B) -> Join<A, B> {
    Join { a: Half::Waits(Box::pin(a)), b: Half::Waits(Box::pin(b)) }
}

/// Waits for all, and returns their values in the order of the futures. Polls only those that were
/// woken.
pub fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> JoinAll<F> {
    let group = Group::new(futures.into_iter().map(Box::pin));
    let values = (0..group.len()).map(|_| None).collect();
    JoinAll { group, values }
}

/// Waits for all, or for the first error: then the others are dropped.
pub fn try_join_all<F, T, E>(futures: impl IntoIterator<Item = F>) -> TryJoinAll<F, T>
where
    F: Future<Output = Result<T, E>>,
{
    let group = Group::new(futures.into_iter().map(Box::pin));
    let values = (0..group.len()).map(|_| None).collect();
    TryJoinAll { group, values }
}

/// Waits for two futures; see [`join`].
#[must_use = "a join does nothing until it is awaited"]
pub struct Join<A: Future, B: Future> {
    a: Half<A>,
    b: Half<B>,
}

enum Half<F: Future> {
    Waits(Pin<Box<F>>),
    Done(Option<F::Output>),
}

/// Nothing in a join is pinned in place: its members are in boxes.
impl<A: Future, B: Future> Unpin for Join<A, B> {}

impl<F: Future> Half<F> {
    /// True if it is done.
    fn poll(&mut self, cx: &mut task::Context<'_>) -> bool {
        if let Self::Waits(future) = self
            && let Poll::Ready(value) = future.as_mut().poll(cx)
        {
            *self = Self::Done(Some(value));
        }
        matches!(self, Self::Done(_))
    }

    fn take(&mut self) -> F::Output {
        match self {
            Self::Done(value) => value.take().expect("a join is not polled after its end"),
            Self::Waits(_) => unreachable!("both halves are done"),
        }
    }
}

impl<A: Future, B: Future> Future for Join<A, B> {
    type Output = (A::Output, B::Output);

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let (a, b) = (self.a.poll(cx), self.b.poll(cx));
        match a && b {
            true => Poll::Ready((self.a.take(), self.b.take())),
            false => Poll::Pending,
        }
    }
}

/// Waits for many futures; see [`join_all`].
#[must_use = "a join does nothing until it is awaited"]
pub struct JoinAll<F: Future> {
    group: Group<Pin<Box<F>>>,
    values: Vec<Option<F::Output>>,
}

impl<F: Future> Unpin for JoinAll<F> {}

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let Self { group, values } = &mut *self;
        let polled = group.poll(cx, |place, value| {
            values[place] = Some(value);
            ControlFlow::<()>::Continue(())
        });
        match polled.is_continue() && group.is_done() {
            true => Poll::Ready(collect(values)),
            false => Poll::Pending,
        }
    }
}

/// Waits for many futures, or for the first error; see [`try_join_all`].
#[must_use = "a join does nothing until it is awaited"]
pub struct TryJoinAll<F: Future, T> {
    group: Group<Pin<Box<F>>>,
    values: Vec<Option<T>>,
}

impl<F: Future, T> Unpin for TryJoinAll<F, T> {}

impl<F, T, E> Future for TryJoinAll<F, T>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = Result<Vec<T>, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let Self { group, values } = &mut *self;
        let polled = group.poll(cx, |place, result| match result {
            Ok(value) => {
                values[place] = Some(value);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        });
        match polled {
            ControlFlow::Break(error) => {
                group.clear();
                Poll::Ready(Err(error))
            }
            ControlFlow::Continue(()) if group.is_done() => Poll::Ready(Ok(collect(values))),
            ControlFlow::Continue(()) => Poll::Pending,
        }
    }
}

fn collect<T>(values: &mut Vec<Option<T>>) -> Vec<T> {
    let values = std::mem::take(values).into_iter();
    values.map(|value| value.expect("everybody is done")).collect()
}
