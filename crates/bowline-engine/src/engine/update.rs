//! Who waits for an update to be taken or answered.

use std::{collections::BTreeMap, pin::pin};

use bowline_core::{
    Event, EventId, EventKind, Message, RunId, UpdateId, UpdateRequest, UpdateStage,
};
use bowline_store::{Head, Read, RunKey};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Core, follow::Follower};
use crate::{Error, Result, limits};

type Key = (RunId, UpdateId);

/// Everybody who waits. A waiter that gives up is dropped with the next answer, or when there are
/// too many.
#[derive(Debug)]
pub(crate) struct Waiters {
    state: Mutex<State>,
    limit: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<Key, Vec<oneshot::Sender<UpdateStage>>>,
    count: usize,
}

impl Default for Waiters {
    fn default() -> Self {
        Self::new(limits::UPDATE_WAITERS)
    }
}

impl Waiters {
    fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit }
    }

    pub(crate) fn wait(&self, run: RunId, id: UpdateId) -> Result<oneshot::Receiver<UpdateStage>> {
        let mut state = self.state.lock();
        if state.count >= self.limit {
            state.forget_gone();
        }
        if state.count >= self.limit {
            return Err(Error::TooMany { what: "waiters for updates", limit: self.limit });
        }
        let (tell, told) = oneshot::channel();
        state.count += 1;
        state.waiting.entry((run, id)).or_default().push(tell);
        Ok(told)
    }

    /// Passes an answer on. That an update was accepted is no answer yet.
    pub(crate) fn tell(&self, run: RunId, id: &UpdateId, stage: &UpdateStage) {
        if *stage == UpdateStage::Accepted {
            return;
        }
        let waiting = {
            let mut state = self.state.lock();
            let waiting = state.waiting.remove(&(run, id.clone())).unwrap_or_default();
            state.count -= waiting.len();
            waiting
        };
        for waiter in waiting {
            // Whoever has stopped waiting does not want to know.
            let _ = waiter.send(stage.clone());
        }
    }
}

impl State {
    fn forget_gone(&mut self) {
        self.waiting.retain(|_, waiting| {
            waiting.retain(|waiter| !waiter.is_closed());
            !waiting.is_empty()
        });
        self.count = self.waiting.values().map(Vec::len).sum();
    }
}

impl Core {
    /// Asks a run's code for something, and waits for its answer.
    pub(crate) async fn update(&self, run: RunId, request: UpdateRequest) -> Result<UpdateStage> {
        let id = request.id.clone();
        let told = self.updates.wait(run, id.clone())?;
        let follower = Follower::default();
        self.followers.follow(&follower, run)?;
        self.post_message(run.into(), Message::Update(Box::new(request))).await?;
        let mut told = pin!(told);
        // The same update, sent again, may have been answered long ago.
        let mut from = EventId(1);
        loop {
            let (answer, head) = self.answered(run, &id, from).await?;
            if let Some(stage) = answer {
                return Ok(stage);
            }
            from = head.next_event;
            // Whoever closed the run is about to say what became of the update, unless it died.
            let given_up = self.now().after(limits::QUERY);
            tokio::select! {
                biased;
                stage = &mut told => return stage.map_err(|_| Error::ShuttingDown),
                () = self.stopping.cancelled() => return Err(Error::ShuttingDown),
                // Whoever wrote the answer may have died before it told anybody.
                () = follower.changed() => {}
                () = self.clock.sleep_until(given_up), if !head.status.is_open() => {
                    return Err(closed(&head));
                }
            }
        }
    }

    /// The answer to an update, if it stands in history from this event on.
    async fn answered(
        &self,
        run: RunId,
        id: &UpdateId,
        from: EventId,
    ) -> Result<(Option<UpdateStage>, Head)> {
        let read = Read { events_from: Some(from), ..Read::head(RunKey::Run(run)) };
        let read = self.read(read).await?;
        let events = super::run::events(run, &read.batches)?;
        Ok((events.iter().rev().find_map(|event| stage(event, id)), read.head))
    }
}

fn closed(head: &Head) -> Error {
    Error::Closed { run: head.run, status: head.status, successor: head.successor }
}

fn stage(event: &Event, id: &UpdateId) -> Option<UpdateStage> {
    match &event.kind {
        EventKind::UpdateCompleted(done) if done.id == *id => {
            Some(UpdateStage::Completed(done.answer.clone()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::Namespace;

    #[tokio::test]
    async fn there_is_a_bound_that_those_who_have_gone_do_not_count_for() {
        let waiters = Waiters::new(2);
        let run = RunId { namespace: Namespace(1), uuid: 1 };
        let first = waiters.wait(run, "a".into()).expect("one");
        let second = waiters.wait(run, "b".into()).expect("two");
        let refused = waiters.wait(run, "a".into()).expect_err("three");
        assert_eq!(refused.code(), "too_many");
        assert!(refused.to_string().contains("at most 2"), "{refused}");
        drop(first);
        let third = waiters.wait(run, "b".into()).expect("one has gone");
        let stage = UpdateStage::Rejected(bowline_core::Failure::new("no"));
        waiters.tell(run, &"b".into(), &stage);
        assert_eq!((second.await, third.await), (Ok(stage.clone()), Ok(stage)));
        assert_eq!(waiters.state.lock().count, 0);
    }
}
