//! Futures that are polled together, each only when it was woken.
//!
//! What polls ten thousand members for one outcome makes a fan-out quadratic.

use std::{
    ops::ControlFlow,
    pin::Pin,
    sync::Arc,
    task::{self, Poll, Waker},
};

use crate::ready::Ready;

/// Futures that are polled together.
pub(crate) struct Group<F> {
    members: Vec<Option<(F, Waker)>>,
    ready: Arc<Ready>,
    left: usize,
}

impl<F: Future + Unpin> Group<F> {
    pub(crate) fn new(futures: impl IntoIterator<Item = F>) -> Self {
        let ready = Arc::<Ready>::default();
        let members: Vec<_> = (0..)
            .zip(futures)
            .map(|(place, future)| {
                ready.mark(place);
                Some((future, ready.waker(place)))
            })
            .collect();
        Self { left: members.len(), members, ready }
    }

    /// How many there were in the beginning.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// True if all are done.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Polls those that were woken, top to bottom, and tells who is done.
    pub(crate) fn poll<B>(
        &mut self,
        cx: &mut task::Context<'_>,
        mut done: impl FnMut(usize, F::Output) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.ready.owned_by(cx.waker());
        for place in self.ready.take() {
            let place = usize::try_from(place).expect("places are those of a vector");
            let Some((future, waker)) = &mut self.members[place] else { continue };
            let polled = Pin::new(future).poll(&mut task::Context::from_waker(waker));
            if let Poll::Ready(value) = polled {
                self.members[place] = None;
                self.left -= 1;
                done(place, value)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Drops those that are not done.
    pub(crate) fn clear(&mut self) {
        let members = std::mem::take(&mut self.members);
        self.left = 0;
        drop(members);
    }
}
