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

/// Everybody who waits. A waiter that gives up is dropped with the next answer.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<BTreeMap<Key, Vec<oneshot::Sender<UpdateStage>>>>);

impl Waiters {
    pub(crate) fn wait(&self, run: RunId, id: UpdateId) -> oneshot::Receiver<UpdateStage> {
        let (tell, told) = oneshot::channel();
        let mut waiters = self.0.lock();
        let waiting = waiters.entry((run, id)).or_default();
        waiting.retain(|waiter| !waiter.is_closed());
        waiting.push(tell);
        told
    }

    /// Passes an answer on. That an update was accepted is no answer yet.
    pub(crate) fn tell(&self, run: RunId, id: &UpdateId, stage: &UpdateStage) {
        if *stage == UpdateStage::Accepted {
            return;
        }
        let waiting = self.0.lock().remove(&(run, id.clone())).unwrap_or_default();
        for waiter in waiting {
            // Whoever has stopped waiting does not want to know.
            let _ = waiter.send(stage.clone());
        }
    }
}

impl Core {
    /// Asks a run's code for something, and waits for its answer.
    pub(crate) async fn update(&self, run: RunId, request: UpdateRequest) -> Result<UpdateStage> {
        let id = request.id.clone();
        let told = self.updates.wait(run, id.clone());
        self.post_message(run.into(), Message::Update(Box::new(request))).await?;
        let follower = Follower::default();
        self.followers.follow(&follower, run);
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
