//! Signals.

use std::{
    pin::Pin,
    task::{self, Poll},
};

use bowline_core::{Name, WorkflowSignalled};

use crate::{Context, run};

/// The signals of one name.
#[derive(Clone)]
pub struct Signals {
    ctx: Context,
    name: Name,
}

impl Signals {
    pub(crate) fn new(ctx: Context, name: Name) -> Self {
        Self { ctx, name }
    }

    /// The next signal. Dropping the future loses none.
    pub fn recv(&self) -> Recv {
        Recv { ctx: self.ctx.clone(), name: self.name.clone(), place: None }
    }

    /// The next signal, if one has arrived.
    pub fn try_recv(&self) -> Option<WorkflowSignalled> {
        self.ctx.with(|run| {
            let may_ask = run.may_ask();
            let queue = run.signals.get_mut(&self.name).filter(|_| may_ask)?;
            let (at, signal) = queue.pop()?;
            run.asking.received.insert(at);
            Some(signal)
        })
    }

    /// How many have arrived and were not received.
    pub fn waiting(&self) -> usize {
        self.ctx.with(|run| run.signals.get(&self.name).map_or(0, |queue| queue.letters.len()))
    }
}

/// Waits for a signal.
#[must_use = "a signal is received by awaiting it"]
pub struct Recv {
    ctx: Context,
    name: Name,
    place: Option<u64>,
}

impl Future for Recv {
    type Output = WorkflowSignalled;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<WorkflowSignalled> {
        if !self.ctx.may_ask() {
            return Poll::Pending;
        }
        let (name, place) = (self.name.clone(), self.place.take());
        let taken = self.ctx.with(|run| {
            let taken = run.signals.entry(name).or_default().take(place, cx.waker());
            run.asking.received.extend(taken.as_ref().ok().map(|(at, _)| *at));
            taken
        });
        match taken {
            Ok((_, signal)) => Poll::Ready(signal),
            Err(place) => {
                self.place = Some(place);
                Poll::Pending
            }
        }
    }
}

impl Drop for Recv {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        run::on_drop(self.ctx.shared(), |run| {
            if let Some(queue) = run.signals.get_mut(&self.name) {
                queue.leave(place);
            }
        });
    }
}
