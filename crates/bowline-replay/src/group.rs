//! Futures that are polled together, each only when it was woken.
//!
//! What polls ten thousand members for one outcome makes a fan-out quadratic.

use std::{
    ops::ControlFlow,
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
};

use crate::ready::{Member, Ready};

/// Futures that are polled together.
pub(crate) struct Group<F> {
    members: Vec<Option<One<F>>>,
    ready: Arc<Ready>,
    left: usize,
    /// How many members somebody may wake.
    awaiting: usize,
}

struct One<F> {
    future: F,
    own: Arc<Member>,
    /// Somebody kept its waker when it was last polled.
    awaits: bool,
}

impl<F: Future + Unpin> Group<F> {
    pub(crate) fn new(futures: impl IntoIterator<Item = F>) -> Self {
        let ready = Arc::<Ready>::default();
        let members: Vec<_> = (0..)
            .zip(futures)
            .map(|(place, future)| {
                ready.mark(place);
                Some(One { future, own: ready.member(place), awaits: false })
            })
            .collect();
        Self { left: members.len(), members, ready, awaiting: 0 }
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
            let Some(One { future, own, awaits }) = &mut self.members[place] else { continue };
            let polled = Pin::new(future).poll(&mut task::Context::from_waker(&own.waker()));
            let awaited = std::mem::replace(awaits, polled.is_pending() && own.lent() > 0);
            self.awaiting = self.awaiting + usize::from(*awaits) - usize::from(awaited);
            if let Poll::Ready(value) = polled {
                self.members[place] = None;
                self.left -= 1;
                done(place, value)?;
            }
        }
        // Whoever waits for nothing keeps nobody's waker: see `Replay::is_stranded`.
        if self.awaiting == 0 {
            self.ready.disown();
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
