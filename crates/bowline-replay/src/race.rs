//! Waiting for the first of several futures: top to bottom, never at random.
//!
//! The losers are dropped with code `select_lost`. These are the blocks that a `select!` is built
//! of; they take any futures, not only durable ones.

use std::{
    ops::ControlFlow,
    pin::Pin,
    task::{self, Poll},
};

use bowline_core::Code;

use crate::{LocalFuture, dropping, group::Group};

/// Waits for the first of many, and returns its index and value. Polls only those that were woken.
pub fn race<'a, T>(futures: impl IntoIterator<Item = LocalFuture<'a, T>>) -> Race<'a, T> {
    Race { group: Group::new(futures) }
}

/// Waits for the first of two. Nests: `either(a, either(b, c))` is a race of three.
pub fn either<A: Future, B: Future>(a: A, b: B) -> EitherOf<A, B> {
    EitherOf { both: Some((Box::pin(a), Box::pin(b))) }
}

/// A race of many; see [`race`].
#[must_use = "a race does nothing until it is awaited"]
pub struct Race<'a, T> {
    group: Group<LocalFuture<'a, T>>,
}

impl<T> Future for Race<'_, T> {
    type Output = (usize, T);

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        match self.group.poll(cx, |place, value| ControlFlow::Break((place, value))) {
            ControlFlow::Continue(()) => Poll::Pending,
            ControlFlow::Break(winner) => {
                dropping(Code::SelectLost, || self.group.clear());
                Poll::Ready(winner)
            }
        }
    }
}

/// Which of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The upper one.
    Left(A),
    /// The lower one.
    Right(B),
}

/// A race of two; see [`either`].
#[must_use = "a race does nothing until it is awaited"]
pub struct EitherOf<A, B> {
    both: Option<Both<A, B>>,
}

type Both<A, B> = (Pin<Box<A>>, Pin<Box<B>>);

impl<A: Future, B: Future> Future for EitherOf<A, B> {
    type Output = Either<A::Output, B::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let (a, b) = self.both.as_mut().expect("a race is not polled after its end");
        let winner = match a.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Either::Left(value)),
            Poll::Pending => b.as_mut().poll(cx).map(Either::Right),
        };
        if winner.is_ready() {
            dropping(Code::SelectLost, || self.both = None);
        }
        winner
    }
}
