//! Updates: requests that the code accepts or refuses, and answers.

use std::{
    pin::Pin,
    task::{self, Poll},
};

use bowline_core::{
    AcceptUpdate, Command, CompleteUpdate, EventId, Failure, Name, Payload, RejectUpdate,
    UpdateAnswer, UpdateRequest,
};

use crate::{Context, run};

/// The updates of one name.
#[derive(Clone)]
pub struct Updates {
    ctx: Context,
    name: Name,
}

impl Updates {
    pub(crate) fn new(ctx: Context, name: Name) -> Self {
        Self { ctx, name }
    }

    /// The next update, accepted by being received.
    pub fn recv(&self) -> Requested {
        Requested(self.offered())
    }

    /// The next update, still to be accepted or refused.
    pub fn offered(&self) -> Offered {
        Offered { ctx: self.ctx.clone(), name: self.name.clone(), place: None }
    }
}

/// Waits for an update and accepts it.
#[must_use = "an update is received by awaiting it"]
pub struct Requested(Offered);

impl Future for Requested {
    type Output = Request;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Request> {
        Pin::new(&mut self.0).poll(cx).map(Offer::accept)
    }
}

/// Waits for an update.
#[must_use = "an update is received by awaiting it"]
pub struct Offered {
    ctx: Context,
    name: Name,
    place: Option<u64>,
}

impl Future for Offered {
    type Output = Offer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Offer> {
        if !self.ctx.may_ask() {
            return Poll::Pending;
        }
        let (name, place) = (self.name.clone(), self.place.take());
        let taken =
            self.ctx.with(|run| run.updates.entry(name).or_default().take(place, cx.waker()));
        match taken {
            Ok((_, request)) => {
                Poll::Ready(Offer { ctx: self.ctx.clone(), request: Some(request) })
            }
            Err(place) => {
                self.place = Some(place);
                Poll::Pending
            }
        }
    }
}

impl Drop for Offered {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        run::on_drop(self.ctx.shared(), |run| {
            if let Some(queue) = run.updates.get_mut(&self.name) {
                queue.leave(place);
            }
        });
    }
}

/// An update that waits for a decision. Dropping it refuses it.
#[must_use = "an update that is dropped is refused"]
pub struct Offer {
    ctx: Context,
    request: Option<UpdateRequest>,
}

impl Offer {
    /// What is asked.
    pub fn request(&self) -> &UpdateRequest {
        self.request.as_ref().expect("an offer holds its request until it is decided")
    }

    /// Takes it: it will be answered.
    pub fn accept(mut self) -> Request {
        let request = self.request.take().expect("an offer is decided once");
        let accepted = self.ctx.with(|run| {
            let message_id = request.id.to_string();
            let accept = AcceptUpdate { request: request.clone(), message_id, sequencing: run.at };
            run.ask(Command::AcceptUpdate(Box::new(accept)))
        });
        Request { ctx: self.ctx.clone(), accepted, request: Some(request) }
    }

    /// Refuses it; history keeps no trace of the refusal.
    pub fn reject(mut self, failure: Failure) {
        let request = self.request.take().expect("an offer is decided once");
        let reject = RejectUpdate { request, failure };
        self.ctx.with(|run| run.ask(Command::RejectUpdate(Box::new(reject))));
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        run::on_drop(self.ctx.shared(), |run| {
            run.asking.undecided.insert(request.id.clone(), request);
        });
    }
}

/// An accepted update that waits for its answer. Dropping it answers with a failure.
#[must_use = "an update that is dropped is answered with a failure"]
pub struct Request {
    ctx: Context,
    accepted: EventId,
    request: Option<UpdateRequest>,
}

impl Request {
    /// What is asked.
    pub fn request(&self) -> &UpdateRequest {
        self.request.as_ref().expect("a request is held until it is answered")
    }

    /// Answers it.
    pub fn reply(mut self, answer: Result<Option<Payload>, Failure>) {
        let request = self.request.take().expect("a request is answered once");
        let answer = match answer {
            Ok(result) => UpdateAnswer::Done(result),
            Err(failure) => UpdateAnswer::Failed(failure),
        };
        let done = CompleteUpdate { request, answer };
        self.ctx.with(|run| run.ask(Command::CompleteUpdate(Box::new(done))));
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        run::on_drop(self.ctx.shared(), |run| {
            run.asking.unanswered.insert(self.accepted, request);
        });
    }
}
